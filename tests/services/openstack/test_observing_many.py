"""An observation of a stack with many objects, on a real cloud: the requests are counted."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.services.openstack.stacks import FLAVOR, IMAGE, INSIDE, Stacks, furnished

pytestmark = [pytest.mark.devcloud, pytest.mark.slow]

SERVER: Final = {"image": IMAGE, "flavor": FLAVOR, "networks": [{"network": INSIDE}]}
#: By type: properties, and how many there are of them.
MANY: Final[Any] = {
    "OS::Neutron::Net": ({"tags": ["x"]}, 10),
    "OS::Neutron::SecurityGroup": ({"rules": [{"protocol": "icmp"}]}, 10),
    "OS::Neutron::Router": ({}, 3),
    "OS::Cinder::Volume": ({"size": 1}, 3),
    "OS::Nova::ServerGroup": ({}, 3),
    "OS::Nova::Server": (SERVER, 2),
}


@pytest.fixture
def stacks(tmp_path: Path) -> Iterator[Stacks]:
    with furnished():
        yield Stacks(tmp_path)


def template(directory: Path) -> Path:
    file = directory / "template.yaml"
    resources = {
        f"{kind.rpartition(':')[2].lower()}{number}": {"type": kind, "properties": properties}
        for kind, (properties, count) in MANY.items()
        for number in range(count)
    }
    file.write_text(json.dumps({"heat_template_version": "2021-04-16", "resources": resources}))
    return file


def test_each_kind_of_objects_is_read_by_one_list(stacks: Stacks, tmp_path: Path) -> None:
    stacks.create("many", template(tmp_path))
    try:
        with stacks.counted() as counts:
            assert json.loads(stacks.run("stack", "drift", "detect", "many", "-f", "json")) == []
        # Logins and the versions of services aside.
        asked = {what: number for what, number in counts.items() if is_about(what[1])}
        assert len(asked) == len(MANY) + 1, asked  # The servers' ports, too.
        # The servers' network is looked up by its name, once for both.
        assert asked.pop(("GET", "networks")) == 2
        assert set(asked.values()) == {1}, asked

        rows = {row["name"]: row["physical_id"] for row in stacks.resources("many")}
        stacks.cloud.network.update_network(rows["net3"], is_admin_state_up=False)
        stacks.cloud.network.delete_network(rows["net5"])
        found = json.loads(stacks.run("stack", "drift", "detect", "many", "-f", "json"))
        assert [(each["resource"], each["key"]) for each in found] == [
            ("net3", "admin_state_up"),
            ("net5", ""),
        ]
    finally:
        stacks.delete("many")


def is_about(path: str) -> bool:
    """Whether a request is about objects."""
    kinds = ("networks", "security-groups", "routers", "volumes", "servers", "os-server-groups", "ports")
    return any(kind in path for kind in kinds)
