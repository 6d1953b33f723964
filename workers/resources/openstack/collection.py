"""A collection of a service's API, such as ``/networks``: its address and the names in its requests and answers."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from hooks.values.dataclass import dataclass
from workers.clients.openstack import OpenStack


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """How objects of one kind are created, read, changed, listed and deleted; the service is the client's."""

    path: str
    #: The key around one object, in requests and answers; empty if there is none.
    key: str
    #: The key around a list of them.
    plural: str
    #: The method that changes one.
    changed_by: str = "PUT"
    #: Where lists have whole objects, if not at ``path``.
    details: str = ""
    #: Of services with microversions: the one that is spoken; None: the first.
    microversion: str | None = None

    def at(self, object_id: str) -> str:
        """Return the path of an object."""
        return f"{self.path}/{quote(object_id, safe='')}"

    def create(self, client: OpenStack, values: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object, and return it."""
        answer = client.ask("POST", self.path, body=self._wrapped(values), microversion=self.microversion)
        return self._unwrapped(answer)

    def show(self, client: OpenStack, object_id: str, **query: Any) -> dict[str, Any] | None:
        """Return an object; None if it does not exist."""
        try:
            answer = client.ask("GET", self.at(object_id), query=query, microversion=self.microversion)
        except Exception as error:
            if client.is_not_found(error):
                return None
            raise
        return self._unwrapped(answer)

    def listed(self, client: OpenStack, **query: Any) -> list[dict[str, Any]]:
        """Return the objects that a query selects."""
        return client.listed(self.details or self.path, self.plural, query, microversion=self.microversion)

    def page(self, client: OpenStack, **query: Any) -> list[dict[str, Any]]:
        """Return the objects that a query selects, as far as the service has them in one answer."""
        path = self.details or self.path
        answer = client.ask("GET", path, query=query, microversion=self.microversion)
        found: list[dict[str, Any]] = answer[self.plural]
        return found

    def change(self, client: OpenStack, object_id: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Change an object, and return it as it is then."""
        answer = client.ask(
            self.changed_by,
            self.at(object_id),
            body=self._wrapped(values),
            microversion=self.microversion,
        )
        return self._unwrapped(answer)

    def delete(self, client: OpenStack, object_id: str, **query: Any) -> bool:
        """Begin to delete an object; return whether it existed."""
        try:
            client.ask("DELETE", self.at(object_id), query=query, microversion=self.microversion)
        except Exception as error:
            if client.is_not_found(error):
                return False
            raise
        return True

    def _wrapped(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {self.key: dict(values)} if self.key else dict(values)

    def _unwrapped(self, answer: Any) -> dict[str, Any]:
        found: dict[str, Any] = answer[self.key] if self.key else answer
        return found
