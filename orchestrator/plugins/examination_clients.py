"""Clients of one examination: each query is made once, whatever its answer, and however many values need it.

The constraint cache keeps positive answers alone, and may be off or out of reach. Within one examination a negative
answer or a failure will not change for the better: a thousand uses of a missing image are one query.
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cache.stores.keys import key_of
from orchestrator.plugins.asking import EntityFinder, NamedClients
from orchestrator.sandbox.budget import outside

if TYPE_CHECKING:
    from cache.stores.shared_calls import SharedCalls


class ExaminationClients:
    """A project's clients, for one examination; safe for threads."""

    def __init__(self, clients: NamedClients) -> None:
        self._clients = clients
        self._lock = threading.Lock()
        self._made: SharedCalls[Any] | None = None

    @classmethod
    def of(cls, clients: NamedClients | None) -> "ExaminationClients | None":
        """Return clients of an examination: these if they are, else new ones; None without clients."""
        return clients if clients is None or isinstance(clients, cls) else cls(clients)

    @property
    def _calls(self) -> "SharedCalls[Any]":
        with self._lock:
            if self._made is None:
                # Most templates query no other system.
                from cache.stores.shared_calls import SharedCalls

                self._made = SharedCalls(float("inf"))
            return self._made

    def get(self, name: str) -> EntityFinder:
        """Return the client called ``name``.

        Raises:
            NotFound: there is no such client plugin.
            ClientMisconfigured: it cannot be built from the settings.
        """
        client: EntityFinder = self._calls.call(
            key_of(["client", name]), lambda: _Once(name, self._clients.get(name), self._calls)
        )
        return client


class _Once:
    """A client whose queries are made once each; all else is the client's own."""

    def __init__(self, name: str, client: EntityFinder, calls: "SharedCalls[Any]") -> None:
        self._name, self._client, self._calls = name, client, calls

    @property
    def api_version(self) -> str:
        """The API version that the client uses."""
        version: str = self._once(["version", self._name], lambda: self._client.api_version)
        return version

    def find(self, entity: str, name: str, *, use_cache: bool = False) -> str:
        """Return the id of the entity with this id or name; without ``use_cache`` by a new query.

        Raises:
            EntityNotFound: there is none.
            AmbiguousName: there are several.
            Exception: the system could not be queried.
        """
        if not use_cache:
            return self._client.find(entity, name)
        key = ["entity", self._name, entity, name]
        found: str = self._once(key, lambda: self._client.find(entity, name, use_cache=True))
        return found

    def __getattr__(self, name: str) -> Any:
        """Return what else the client has: constraints may call methods of their own client."""
        return getattr(self._client, name)

    def _once(self, key: list[str], query: Callable[[], Any]) -> Any:
        # Another thread may make the query.
        with outside():
            return self._calls.call(key_of(key), query)
