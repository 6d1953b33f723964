"""Observations of many objects of OpenStack: one list in place of a request for each, where the service has one."""

from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import pytest
from openstack.exceptions import HttpException, NotFoundException

from orchestrator.config.settings import Settings
from orchestrator.definition import StackDefinition
from orchestrator.plugins.steps import ResourceState
from workers.resources.openstack.cinder.volume import Volume
from workers.resources.openstack.cloud_object import CloudObject
from workers.resources.openstack.glance.web_image import WebImage
from workers.resources.openstack.listing import TOGETHER, read_together
from workers.resources.openstack.neutron.floating_ip_association import FloatingIPAssociation
from workers.resources.openstack.neutron.net import Net
from workers.resources.openstack.nova.server.server import Server

#: What every object of the cloud shows: more than any type looks at here.
SHOWN: Mapping[str, Any] = {"name": "a", "status": "ACTIVE", "port_id": "p"}


class Cloud:
    """Services that answer with objects by id, and count what they are asked."""

    def __init__(self, *ids: str, fault: Exception | None = None) -> None:
        self.ids, self.fault = list(ids), fault
        self.asked: list[tuple[str, Mapping[str, Any]]] = []

    def ask(self, method: str, path: str, *, query: Any = None, microversion: str | None = None) -> Any:
        assert method == "GET"
        self.asked.append((path, query))
        last = path.rpartition("/")[2]
        if last.startswith("id-"):
            if last not in self.ids:
                raise NotFoundException(http_status=404)
            return Anything({**SHOWN, "id": last})
        if self.fault is not None:
            raise self.fault
        return Anything([{**SHOWN, "id": each} for each in self.ids])

    def listed(
        self, path: str, plural: str, query: Mapping[str, Any], *, microversion: str | None = None
    ) -> list[dict[str, Any]]:
        self.asked.append((path, query))
        return [
            {"id": f"port-{each}", "network_id": "net", "device_id": each, "fixed_ips": []}
            for each in query["device_id"]
        ]

    def is_not_found(self, error: Exception) -> bool:
        return isinstance(error, NotFoundException)


class Anything(dict[str, Any]):
    """An answer, whatever its key is."""

    def __init__(self, value: Any) -> None:
        super().__init__(value if isinstance(value, dict) else {})
        self.value = value

    def __missing__(self, key: str) -> Any:
        return self.value


def resources(kind: type[CloudObject], cloud: Cloud, ids: Sequence[str], **properties: Any) -> Any:
    """Return resources of a type, of which each sees the id and the name of its object alone."""

    class Made(kind):  # type: ignore[misc,valid-type]
        @property
        def service(self) -> Cloud:
            return cloud

        def openstack(self, name: str) -> Cloud:
            return cloud

        def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
            return super().seen(name, shown) if name == "networks" else shown["id"]

    Made.__name__ = kind.__name__
    given = {**dict.fromkeys(kind.properties_schema), **properties}
    return [
        Made(
            name="it",
            type_name=kind.__name__,
            state=ResourceState(uuid=each, physical_id=each),
            properties=given,
            stack=StackDefinition(name="stack", id="1"),
            settings=Settings(),
            now=0.0,
        )
        for each in ids
    ]


def observe(made: Any) -> list[Any]:
    """Return what is observed, of each the name; or None, or the exception."""
    seen = type(made[0]).observe_all(made)
    return [each["name"] if isinstance(each, Mapping) else each for each in seen]


IDS = [f"id-{number}" for number in range(10)]
LISTED = {
    entry.name: entry.load()
    for entry in entry_points(group="isotherm.resources")
    if ".openstack." in entry.value
    and "name" in entry.load().properties_schema
    and entry.load().list_query(resources(entry.load(), Cloud(), ["id-0", "id-1"], name="a")) is not None
}


EVERY = [entry for entry in entry_points(group="isotherm.resources") if ".openstack." in entry.value]


@pytest.mark.parametrize("entry", EVERY, ids=lambda entry: entry.name)
def test_lists_are_sought_for_objects_of_every_type_whether_or_not_they_are_in_one(entry: EntryPoint) -> None:
    kind = entry.load()
    if issubclass(kind, CloudObject):
        assert set(read_together(resources(kind, Cloud(*IDS), IDS, name="a")).values()) == set()


def test_types_whose_services_list_many_objects_are_read_so() -> None:
    assert len(LISTED) > 20
    assert {"OS::Nova::Server", "OS::Neutron::Port", "OS::Cinder::Volume", "OS::Keystone::Role"} <= {*LISTED}


@pytest.mark.parametrize("name", LISTED)
def test_ten_objects_are_read_by_one_request(name: str) -> None:
    cloud = Cloud(*IDS)
    assert observe(resources(LISTED[name], cloud, IDS, name="a")) == IDS
    assert len(cloud.asked) == 1


@pytest.mark.parametrize("name", LISTED)
def test_what_a_list_lacks_is_read_by_itself_before_it_is_called_gone(name: str) -> None:
    cloud = Cloud(*IDS[:-1])
    assert observe(resources(LISTED[name], cloud, IDS, name="a")) == [*IDS[:-1], None]
    assert len(cloud.asked) == 2


def test_a_single_object_is_read_by_its_id() -> None:
    cloud = Cloud("id-0", "id-1")
    assert observe(resources(Net, cloud, ["id-0"], name="a")) == ["id-0"]
    assert cloud.asked == [("/networks/id-0", {})]


def test_a_service_that_refuses_the_list_is_asked_for_each() -> None:
    cloud = Cloud(*IDS, fault=HttpException(http_status=400))
    assert observe(resources(Net, cloud, IDS, name="a")) == IDS
    assert len(cloud.asked) == 11


def test_a_service_that_does_not_answer_is_asked_once() -> None:
    fault = HttpException(http_status=503)
    cloud = Cloud(*IDS, fault=fault)
    assert observe(resources(Net, cloud, IDS, name="a")) == [fault] * 10
    assert len(cloud.asked) == 1


def test_a_list_has_so_many_ids_at_most() -> None:
    ids = [f"id-{number}" for number in range(2 * TOGETHER + 1)]
    cloud = Cloud(*ids)
    assert observe(resources(Net, cloud, ids, name="a")) == ids
    # The last one is alone.
    assert [path for path, _ in cloud.asked] == ["/networks", "/networks", f"/networks/{ids[-1]}"]


def test_clouds_are_asked_for_their_own_objects() -> None:
    one, other = Cloud(*IDS[:5]), Cloud(*IDS[5:])
    first, second = resources(Net, one, IDS[:5], name="a"), resources(Net, other, IDS[5:], name="a")
    assert observe([*first, *second]) == IDS
    assert [len(each.asked) for each in (one, other)] == [1, 1]


def test_an_object_that_others_stand_for_is_listed_by_its_own_id() -> None:
    cloud = Cloud(*IDS)
    made = [
        each
        for number in (1, 2)
        for each in resources(
            FloatingIPAssociation, cloud, [f"row-{number}"], floatingip_id=f"id-{number}", port_id="p"
        )
    ]
    seen = FloatingIPAssociation.observe_all(made)
    assert [each["floatingip_id"] for each in seen] == ["id-1", "id-2"]  # type: ignore[index]
    assert cloud.asked == [("/floatingips", {"id": ["id-1", "id-2"]})]


def test_servers_are_selected_by_their_tags_and_their_ports_by_one_more_list() -> None:
    cloud = Cloud("id-1", "id-2")
    made = resources(Server, cloud, ["id-1", "id-2"], flavor="f", networks=[{"network": "net"}])
    seen = Server.observe_all(made)
    assert [each["networks"] for each in seen] == [made[0].properties["networks"]] * 2  # type: ignore[index]
    assert cloud.asked == [
        ("/servers/detail", {"tags-any": "isotherm:id-1,isotherm:id-2"}),
        ("/ports", {"device_id": ["id-1", "id-2"]}),
    ]


def test_images_are_selected_by_their_ids_and_volumes_are_the_newest() -> None:
    cloud = Cloud("id-1", "id-2")
    observe(resources(WebImage, cloud, ["id-1", "id-2"], name="a"))
    observe(resources(Volume, cloud, ["id-1", "id-2"], name="a"))
    assert cloud.asked == [("/images", {"id": "in:id-1,id-2"}), ("/volumes/detail", {"limit": 40})]
