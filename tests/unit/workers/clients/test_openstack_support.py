"""What a cloud does not have is said when a stack is validated, for the properties that are given alone."""

from collections.abc import Mapping
from typing import Any

from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.validating import property_faults
from workers.resources.openstack.cloud_object import CloudObject
from workers.resources.openstack.collection import Collection
from workers.resources.schemas import text


class Service:
    """The client of a service of an old cloud."""

    api_version = "2.9"

    def __init__(self, *extensions: str) -> None:
        self._extensions = extensions

    def extensions(self) -> frozenset[str]:
        if "away" in self._extensions:
            raise ConnectionError("no answer")
        return frozenset(self._extensions)


class Clients:
    def __init__(self, service: Service) -> None:
        self._service = service

    def get(self, _name: str) -> Any:
        return self._service


class Wire(CloudObject):
    client_name = "neutron"
    collection = Collection(path="/wires", key="wire", plural="wires")
    properties_schema = {"name": text(), "policy": text(), "label": text()}
    extensions = {"": "wires", "policy": "qos"}
    microversions = {"label": "2.10"}


def faults(given: Mapping[str, Any], *extensions: str) -> list[str]:
    found: list[PropertyError] = property_faults(Wire, given, clients=Clients(Service(*extensions)))
    return [each.message for each in found]


def test_only_what_is_given_needs_to_be_there() -> None:
    assert faults({"name": "a"}, "wires") == []
    assert faults({"name": "a", "policy": "p", "label": "l"}, "wires") == [
        "the property 'policy' is not supported here: the service (neutron) has no extension 'qos'",
        "the property 'label' is not supported here: the service (neutron) has version 2.9, before 2.10",
    ]
    assert faults({}) == ["the type is not supported here: the service (neutron) has no extension 'wires'"]
