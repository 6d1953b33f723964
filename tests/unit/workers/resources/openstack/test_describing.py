"""Objects of OpenStack as template text: what the service shows under the names of properties."""

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from openstack.exceptions import NotFoundException

from orchestrator.config.settings import Settings
from orchestrator.definition import StackDefinition
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.steps import ResourceState
from orchestrator.plugins.validating import typed_properties
from workers.resources.openstack.cloud_object import CloudObject
from workers.resources.openstack.neutron.net import Net
from workers.resources.openstack.tokens import with_token

SHOWN: Mapping[str, Any] = {
    "id": "net-1",
    "name": "inside",
    "admin_state_up": False,
    "shared": False,
    "tags": ["x"],
    "status": "ACTIVE",
}


class Network:
    """A service with one network."""

    def __init__(self, shown: Mapping[str, Any]) -> None:
        self.shown = dict(shown)

    def ask(self, method: str, path: str, **_: Any) -> Any:
        assert method == "GET"
        if not path.endswith("/net-1"):
            raise NotFoundException(http_status=404)
        return {"network": self.shown}

    def is_not_found(self, error: Exception) -> bool:
        return isinstance(error, NotFoundException)


def net(shown: Mapping[str, Any], physical_id: str = "net-1", **given: Any) -> Net:
    """Return a network of which nothing is known but its id, and perhaps what a template gives."""

    class Shown(Net):
        @property
        def service(self) -> Any:
            return Network(shown)

    return Shown(
        name="it",
        type_name="OS::Neutron::Net",
        state=ResourceState(uuid="row", physical_id=physical_id),
        properties=typed_properties(Net, given),
        stack=StackDefinition(name="stack", id="1"),
        settings=Settings(),
        now=0.0,
    )


def known(resource: Net) -> dict[str, Any]:
    described = resource.describe()
    assert isinstance(described, Mapping)
    return {name: value for name, value in described.items() if value is not None}


@pytest.mark.parametrize("given", [{}, {"name": "inside"}, {"name": "other", "tags": ["y"]}])
def test_properties_are_described_whether_or_not_a_template_gives_them(given: Mapping[str, Any]) -> None:
    described = known(net(SHOWN, **given))
    assert described["name"] == "inside"
    assert described["tags"] == ["x"]
    assert described["admin_state_up"] is False
    assert described.keys() <= Net.properties_schema.keys()


def test_object_that_is_gone_is_not_described() -> None:
    assert net(SHOWN, "net-2").describe() is None


class Described(CloudObject):
    """A type whose objects have a description, as most have."""

    client_name = "none"
    properties_schema: ClassVar[Mapping[str, Property]] = {
        "description": Property(type=PropertyType.STRING, update_allowed=True)
    }

    def show(self) -> dict[str, Any]:
        return {"id": "1", "description": self.state.data["shown"]}


@pytest.mark.parametrize("text", ["", "for the web"])
def test_token_of_another_row_is_no_part_of_a_description(text: str) -> None:
    shown = with_token(text, "0f5a1a5e-2d0f-4c1b-9f2e-7d1f0b6f3c11")
    resource = Described(
        name="it",
        type_name="Described",
        state=ResourceState(uuid="row", physical_id="1", data={"shown": shown}),
        properties=typed_properties(Described, {}),
        stack=StackDefinition(name="stack", id="1"),
        settings=Settings(),
        now=0.0,
    )
    assert resource.describe() == {"description": text or None}
