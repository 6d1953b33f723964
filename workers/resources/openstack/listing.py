"""Objects that an observation reads together: one list in place of a request for each."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, Protocol, TypeVar

from hooks.values.parts import parts_of
from workers.clients.openstack import OpenStack
from workers.clients.openstack_errors import status_of
from workers.resources.openstack.collection import Collection

#: The most objects that one list is asked for: their ids are in the address of the request.
TOGETHER: Final = 50
#: The answers of a service that has no such list, or not for this user.
_NO_LIST: Final = frozenset(
    {HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}
)


class Listed(Protocol):
    """A resource whose object a list may have; implemented by the base of the types of OpenStack."""

    @property
    def object_id(self) -> str:
        """The id of the object in the collection; empty if there is none."""

    @property
    def service(self) -> OpenStack:
        """The client of the service."""

    @property
    def collection(self) -> Collection:
        """The collection of its objects; types that stand for what is in none do not have it."""

    def list_query(self, resources: Sequence[Any], /) -> Mapping[str, Any] | None:
        """Return the query of one list that has the objects of these resources; None if there is none."""

    def list_further(self, resources: Sequence[Any], /) -> None:
        """List whatever else the observation of these resources reads."""

    def has_listed(self, listed: Mapping[str, dict[str, Any]], /) -> None:
        """Take objects of the collection, by id, from a list just read, which may lack the object."""


Object = TypeVar("Object", bound=Listed)


def read_together(resources: Sequence[Object]) -> dict[Object, Exception]:
    """Give resources of one type their objects from lists; return those whose list failed, with the error.

    A resource whose object is in no list, or whose service has none, reads it by itself later.
    """
    failed: dict[Object, Exception] = {}
    for some in _portions(resources):
        query = some[0].list_query(some)
        if query is None:
            continue
        try:
            listed = some[0].collection.page(some[0].service, **query)
            some[0].list_further(some)
        except Exception as error:  # noqa: BLE001  # the boundary to another system
            if status_of(error) not in _NO_LIST:
                failed |= dict.fromkeys(some, error)
            continue
        by_id = {str(each["id"]): each for each in listed if "id" in each}
        for resource in some:
            resource.has_listed(by_id)
    return failed


def _portions(resources: Sequence[Object]) -> Iterator[Sequence[Object]]:
    """Yield resources whose objects are in one list; a single one is read by itself."""
    groups: dict[Any, list[Object]] = defaultdict(list)
    for resource in resources:
        # What is in no collection is in no list either.
        collection = getattr(resource, "collection", None)
        if collection and resource.object_id and (service := _service_of(resource)) is not None:
            groups[id(service), collection].append(resource)
    for group in groups.values():
        yield from (some for some in parts_of(group, TOGETHER) if len(some) > 1)


def _service_of(resource: Listed) -> object | None:
    """Return the client of a resource's service; None if there is none: its observation then has the error."""
    try:
        return resource.service
    except Exception:  # noqa: BLE001  # the boundary to another system
        return None


def by_ids(resources: Sequence[Listed]) -> Mapping[str, Any]:
    """Return the query of a service that selects by many ids."""
    return {"id": sorted({each.object_id for each in resources})}
