"""The examples of all types of OpenStack, as docs/types.md shows them, are made and deleted on a cloud."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from importlib.metadata import entry_points
from typing import Any, Final

import pytest
import yaml

from isotherm.testing.engine import Engine
from orchestrator.errors import InvalidInput
from tests.services.openstack.cloud import ADMIN, USER, connected, own_file, place
from tests.services.openstack.servers import servers
from tests.services.openstack.stacks import IMAGE, OUTSIDE, furnished
from tests.services.openstack.test_web_image import address

__all__ = ["address"]
pytestmark = [pytest.mark.devcloud, pytest.mark.slow]

TYPES: Final = {
    entry.name: entry for entry in entry_points(group="isotherm.resources") if ".openstack." in entry.value
}
#: What only an administrator may make.
OF_ADMINS: Final = frozenset(
    {
        *(name for name in TYPES if name.startswith("OS::Keystone::") or name.endswith("::Quota")),
        *("OS::Cinder::EncryptedVolumeType", "OS::Cinder::QoSAssociation", "OS::Cinder::QoSSpecs"),
        *("OS::Cinder::VolumeType", "OS::Neutron::ProviderNet", "OS::Neutron::RBACPolicy"),
        *("OS::Nova::Flavor", "OS::Nova::HostAggregate"),
    }
)


@pytest.fixture(scope="module")
def given() -> Iterator[dict[str, str]]:
    """Put into the cloud what examples name, and yield values of their parameters."""
    network = connected(USER).network
    with furnished(), ExitStack() as made:

        def kept(service: Any, kind: str, **values: Any) -> Any:
            thing = getattr(service, f"create_{kind}")(**values)
            made.callback(getattr(service, f"delete_{kind}"), thing)
            return thing

        inside = kept(network, "network").id
        subnet = kept(network, "subnet", network_id=inside, ip_version=4, cidr="10.0.0.0/24").id
        gateway = {"network_id": network.find_network(OUTSIDE).id}
        router = kept(network, "router", external_gateway_info=gateway).id
        network.add_interface_to_router(router, subnet=subnet)
        made.callback(network.remove_interface_from_router, router, subnet=subnet)
        port = kept(network, "port", network_id=inside).id
        yield {
            "project": place().project,
            "server": made.enter_context(servers(1))[0],
            "router": router,
            "outside": OUTSIDE,
            "port": port,
            "parent": port,
            "child": port,
            "image": IMAGE,
            "network": inside,
            "password": "of-a-clerk",
        }


@pytest.fixture
def engine(name: str) -> Iterator[Engine]:
    cloud = ADMIN if name in OF_ADMINS else USER
    settings = {"clients": {"openstack": {"cloud": cloud, "config_file": own_file()}}}
    with closing(Engine(settings=settings, poll_seconds=0.3)) as made:
        yield made


@pytest.mark.parametrize("name", sorted(TYPES))
def test_an_example_is_made_and_deleted_or_told_why_it_cannot_be(
    name: str, engine: Engine, given: dict[str, str], request: pytest.FixtureRequest
) -> None:
    kind = TYPES[name].load()
    template = yaml.safe_load(kind.example)
    for key, parameter in template.get("parameters", {}).items():
        parameter["default"] = given[key]
    if name == "OS::Glance::WebImage":
        server = request.getfixturevalue("address")
        # What the tests serve is no image of any format that the service could look into.
        location = {"location": f"{server}/small", "disk_format": "raw"}
        template["resources"]["image"]["properties"] |= location
    there = {each.alias for each in connected(USER).network.extensions()}
    text = json.dumps(template, default=str)
    if missing := kind.client_name == "neutron" and kind.extensions.get("", "") not in {"", *there}:
        words = (
            f"the type is not supported here: the service (neutron) has no extension '{kind.extensions['']}'"
        )
        with pytest.raises(InvalidInput) as refused:
            engine.create("example", text)
        assert any(words in each.message for each in refused.value.problems)
        assert not engine.queries.stacks()
    if not missing:
        try:
            stack = engine.create("example", text)
            assert stack is not None
            assert stack.state == "CREATE_COMPLETE", stack.reason
            assert [each.key for each in stack.outputs if each.error] == []
        finally:
            left = engine.delete("example")
        assert left is None, left.reason
