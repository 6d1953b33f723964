"""A network service in memory, for types whose extensions a real one may lack: it keeps what it is sent."""

import re
import uuid
from collections.abc import Mapping
from typing import Any, ClassVar

from orchestrator.plugins.asking import EntityNotFound
from orchestrator.plugins.client_plugin import ClientContext, ClientPlugin, LookupCache
from workers.clients.openstack import OpenStack

#: A collection's path, and what follows it: the id of an object, and a part of that or an action.
_PATH = re.compile(
    r"(?P<at>(/qos/policies/[^/]+/[a-z_]+|/qos/policies|/[a-z-]+))(/(?P<id>[^/]+))?(/(?P<more>[a-z_]+))?"
)


class Missing(Exception):
    """There is no such object."""


class Taken(Exception):
    """There is one already, and there can be only one."""


class Memory(OpenStack):
    """The client ``neutron``."""

    name = "neutron"
    settings_of = OpenStack.name
    entities = frozenset()
    #: By collection and id, what is there; and all requests, for tests to read.
    there: ClassVar[dict[str, dict[str, dict[str, Any]]]] = {}
    sent: ClassVar[list[tuple[str, str, Any]]] = []

    def __init__(
        self, context: ClientContext, options: Mapping[str, Any], cache: LookupCache | None = None
    ) -> None:
        """Connect nothing."""
        ClientPlugin.__init__(self, context, options, cache)

    def extensions(self) -> frozenset[str]:
        """Return all that types need."""
        return frozenset({"qos", "qos-bw-limit-direction", "qos-pps-minimum", "trunk", "standard-attr-tag"})

    def is_not_found(self, error: Exception) -> bool:
        """Return whether it is missing."""
        return isinstance(error, Missing)

    def is_conflict(self, error: Exception) -> bool:
        """Return whether there is one already."""
        return isinstance(error, Taken)

    def secrets(self) -> tuple[str, ...]:
        """Return that there are none."""
        return ()

    def close(self) -> None:
        """Do nothing."""

    def ask(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        microversion: str | None = None,
        headers: Mapping[str, str] | None = None,
        token: str = "",
    ) -> Any:
        """Do what a request says."""
        found = _PATH.fullmatch(path)
        assert found, path
        self.sent.append((method, path, body))
        objects = self.there.setdefault(found["at"], {})
        if found["id"] is None:
            if method == "POST":
                ((key, values),) = body.items()
                directions = [each.get("direction") for each in objects.values()]
                if path.endswith("_rules") and values.get("direction") in directions:
                    raise Taken(path)
                made = {**values, "id": str(uuid.uuid4())}
                objects[made["id"]] = made
                return {key: made}
            listed = [each for each in objects.values() if _is_selected(each, query or {})]
            return dict.fromkeys(("listed", found["at"].rpartition("/")[2]), listed)
        if found["id"] not in objects:
            raise Missing(path)
        if method == "DELETE":
            del objects[found["id"]]
            return None
        kept = objects[found["id"]]
        if method == "PUT":
            self._change(kept, found["more"], body)
        return dict.fromkeys(("policy", "trunk", found["at"].rpartition("/")[2][:-1]), kept)

    def listed(
        self, path: str, plural: str, query: Mapping[str, Any], *, microversion: str | None = None
    ) -> list[Any]:
        """Return what a query selects."""
        found: list[Any] = self.ask("GET", path, query=query)["listed"]
        return found

    @staticmethod
    def _change(kept: dict[str, Any], more: str | None, body: Mapping[str, Any]) -> None:
        if more is None:
            ((_, values),) = body.items()
            kept.update(values)
            return
        ports = {each["port_id"] for each in body["sub_ports"]}
        others = [each for each in kept.get("sub_ports", ()) if each["port_id"] not in ports]
        assert more == "remove_subports" or len(others) == len(kept.get("sub_ports", ())), (
            "it is there already"
        )
        kept["sub_ports"] = [*others, *(body["sub_ports"] if more == "add_subports" else ())]


def _is_selected(kept: Mapping[str, Any], query: Mapping[str, Any]) -> bool:
    """Whether an object has the values of a query, of which a list stands for any of its items."""
    return all(
        kept.get(name) in value if isinstance(value, list) else kept.get(name) == value
        for name, value in query.items()
    )


class Names(OpenStack):
    """The client ``openstack``, for which all names are ids, except ``nothing``."""

    def __init__(
        self, context: ClientContext, options: Mapping[str, Any], cache: LookupCache | None = None
    ) -> None:
        """Connect nothing."""
        ClientPlugin.__init__(self, context, options, cache)

    def scope(self, entity: str) -> tuple[str, ...]:
        """Return nothing."""
        return ()

    def look_up(self, entity: str, name: str) -> str:
        """Return the name."""
        if name == "nothing":
            raise EntityNotFound(entity, name)
        return name

    def secrets(self) -> tuple[str, ...]:
        """Return that there are none."""
        return ()

    def close(self) -> None:
        """Do nothing."""
