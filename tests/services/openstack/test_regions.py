"""``OS::Heat::Stack`` in the one region of a real cloud, and in none."""

import json
from collections.abc import Iterator
from contextlib import closing

import pytest

from isotherm.testing.engine import Engine
from orchestrator.errors import InvalidInput
from tests.services.openstack.cloud import USER, CloudConformance, own_file

pytestmark = CloudConformance.pytestmark
INNER = {
    "heat_template_version": "2021-04-16",
    "resources": {"net": {"type": "OS::Neutron::Net", "properties": {"name": "isotherm-region"}}},
}


@pytest.fixture
def engine() -> Iterator[Engine]:
    settings = {"clients": {"openstack": {"cloud": USER, "config_file": own_file()}}}
    with closing(Engine(settings=settings, poll_seconds=0.2)) as engine:
        yield engine


def template(region: str) -> str:
    properties = {"template": json.dumps(INNER), "context": {"region_name": region}}
    stack = {"type": "OS::Heat::Stack", "properties": properties}
    return json.dumps({"heat_template_version": "2021-04-16", "resources": {"it": stack}})


def test_a_stack_is_made_in_the_region_of_the_cloud(engine: Engine) -> None:
    made = engine.create("s", template("RegionOne"))
    assert made is not None
    assert made.state == "CREATE_COMPLETE", made.reason
    assert engine.delete("s") is None


def test_another_region_is_refused_with_those_that_there_are(engine: Engine) -> None:
    with pytest.raises(InvalidInput) as caught:
        engine.create("s", template("RegionTwo"))
    assert "there is no region 'RegionTwo'; there are: 'RegionOne'" in str(caught.value)
