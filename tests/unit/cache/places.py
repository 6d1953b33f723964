"""Where constraint caches are kept in tests, and the outside systems that they ask."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dogpile.cache.api import NO_VALUE

from cache.constraints.cache import ConstraintCache
from cache.stores.memory_store import MemoryStore
from cache.stores.regions import LASTING
from tests.unit.cache.shelf import BACKEND, LEAST
from tests.waiting import PATIENCE_SECONDS

#: Our own stores that several processes can share: a no that one learns breaks the claims of all.
OURS = ["redis", "memcached", "file"]
#: With one that stands for those that others wrote.
SHARED = [*OURS, BACKEND]
SERVED = ["redis", "memcached"]
KINDS = ["memory", LEAST, *SHARED]

NAME = ("flavor", "small", ("project",))


class Missing(Exception):
    """The outside system knows nothing of it."""


@dataclass(frozen=True)
class Place:
    """One kind of store."""

    backend: str
    url: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)

    def cache(self, client: str = "nova", **options: Any) -> ConstraintCache:
        """Return a cache as a process of its own would have it."""
        # No pause: every look asks the store, so that tests wait for nothing. Neither a store nor who asks is given up
        # for being slow, where no test says so.
        options = {"pause_seconds": 0, "lock_seconds": PATIENCE_SECONDS, **options}
        patience = {"timeout_seconds": PATIENCE_SECONDS} if self.backend in OURS else {}
        arguments = patience | self.arguments | options.pop("arguments", {})
        return ConstraintCache(client, backend=self.backend, url=self.url, arguments=arguments, **options)


class Clock:
    """Stands still until it is moved."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Cloud:
    """An outside system: knows what it is told, and counts what it is asked."""

    def __init__(self, **ids: str) -> None:
        self.ids = ids
        self.asked = 0

    def ask(self, name: str = "small") -> str:
        self.asked += 1
        if name not in self.ids:
            raise Missing(name)
        return self.ids[name]


class Held:
    """A question whose answer comes when it is let go; the one that is known when it is asked."""

    def __init__(self, ask: Callable[[], str]) -> None:
        self._ask = ask
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __call__(self) -> str:
        try:
            answer = self._ask()
        except Missing as error:
            self._wait()
            raise Missing(*error.args) from None
        self._wait()
        return answer

    def _wait(self) -> None:
        self.begun.set()
        assert self.go_on.wait(PATIENCE_SECONDS)


def key_in(cache: ConstraintCache, entity: str, name: str, scope: tuple[str, ...]) -> str:
    """Return what a question is called in the store."""
    return cache._process.answers._stored_key(cache._key(entity, name, scope))


def lasting_key_in(cache: ConstraintCache) -> str:
    return cache._process.answers._stored_key(LASTING)


def plant(cache: ConstraintCache, key: str, entry: bytes) -> None:
    """Write bytes into the store itself, as another program might."""
    backend = cache._process.answers.store.backend
    if isinstance(backend, MemoryStore):
        backend._set(key, entry)
    else:
        backend.set_serialized(key, entry)


def stored(cache: ConstraintCache, key: str) -> bytes | None:
    """Return what is in the store itself."""
    entry = cache._process.answers.store.backend.get_serialized(key)
    return None if entry is NO_VALUE else entry
