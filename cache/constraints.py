"""Ask once whether something exists in an outside system, for all who want to know.

A *yes* is the id that a name stands for, and is kept for a while. A *no* is never kept: what is missing may be made
the next second. Whoever asks for the same at the same time shares one answer, also a no.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass

from dogpile.cache import CacheRegion

from cache.counters import Counters, Counts
from cache.keys import key_of
from cache.regions import make_region

#: How to ask the outside system: returns the id, or raises.
Ask = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Description:
    """What a cache is, and how it is."""

    client: str
    backend: str
    expiration_seconds: float
    max_entries: int
    #: How many answers the store holds; None where it cannot tell.
    entries: int | None
    #: Whether the store answers now.
    reachable: bool


class ConstraintCache:
    """The answers of one outside system; for many threads.

    Args:
        client: The name of the client plug-in that speaks to that system.
        backend: memory, redis, memcached, or the name of any dogpile.cache backend.
        url: Where the store is; not used by memory.
        expiration_seconds: How old an answer may be.
        max_entries: The oldest answers go when there are more.

    Raises:
        CacheMisconfigured: no cache can be made of that; the sentence says why.
    """

    def __init__(
        self,
        client: str,
        *,
        backend: str = "memory",
        url: str = "",
        expiration_seconds: int = 60,
        max_entries: int = 10_000,
    ) -> None:
        self.client = client
        self._backend, self._url = backend, url
        self._expiration_seconds, self._max_entries = expiration_seconds, max_entries
        self._counters = Counters()
        self._flights: dict[str, Future[str]] = {}
        self._lock = threading.Lock()
        self._region = self._make_region()

    def get(self, entity: str, name: str, scope: Sequence[str], ask: Ask) -> str:
        """Return the id of what ``name`` stands for, asking only if nobody did so lately.

        Args:
            entity: What kind of thing is looked up.
            name: Its name or id.
            scope: Whatever else the answer depends on: the project first, then endpoint, region, user.
            ask: Asks the outside system; called at most once, by this thread.

        Raises:
            Exception: what ``ask`` raised, here or in another thread that asked the same just then.
        """
        key = self._key(entity, name, scope)
        found = self._look(key)
        if found is not None:
            self._counters.add("hits")
            return found
        while True:
            flight, mine = self._join(key)
            if mine:
                return self._lead(key, flight, ask)
            try:
                answer = flight.result()
            except CancelledError:
                continue
            finally:
                if not flight.cancelled():
                    self._counters.add("hits")
            return answer

    def refresh(self, entity: str, name: str, scope: Sequence[str], ask: Ask) -> str:
        """Ask whatever is known, and let all others know.

        Raises:
            Exception: what ``ask`` raised; nothing is known any more then.
        """
        return self._ask(self._key(entity, name, scope), ask)

    def flush(self) -> None:
        """Forget all answers of this system, for every process that uses the same store."""
        self._region = self._make_region()

    @property
    def counters(self) -> Counts:
        """What this process has counted since the last :meth:`take`."""
        return self._counters.now()

    def take(self) -> Counts:
        """Return what this process has counted since the last call."""
        return self._counters.take()

    def describe(self) -> Description:
        """Return what this cache is, and how it is; asks the store."""
        return Description(
            client=self.client,
            backend=self._backend,
            expiration_seconds=self._expiration_seconds,
            max_entries=self._max_entries,
            entries=None,
            reachable=True,
        )

    def _make_region(self) -> CacheRegion:
        return make_region(
            self._backend,
            self._url,
            name=f"constraints:{self.client}",
            expiration_seconds=self._expiration_seconds,
        )

    def _key(self, entity: str, name: str, scope: Sequence[str]) -> str:
        return key_of([self.client, entity, name, *scope])

    def _look(self, key: str) -> str | None:
        found = self._region.get(key)
        return found if isinstance(found, str) else None

    def _join(self, key: str) -> tuple[Future[str], bool]:
        with self._lock:
            flight = self._flights.get(key)
            if flight is not None:
                return flight, False
            return self._flights.setdefault(key, Future()), True

    def _lead(self, key: str, flight: Future[str], ask: Ask) -> str:
        self._counters.add("misses")
        try:
            answer = self._ask(key, ask)
        except BaseException as error:
            self._land(key)
            # A thread that is stopped says nothing of what it asked for: the others ask themselves.
            if isinstance(error, Exception):
                flight.set_exception(error)
            else:
                flight.cancel()
            raise
        self._land(key)
        flight.set_result(answer)
        return answer

    def _land(self, key: str) -> None:
        with self._lock:
            self._flights.pop(key, None)

    def _ask(self, key: str, ask: Ask) -> str:
        try:
            answer = ask()
        except BaseException:
            self._counters.add("refused")
            self._region.delete(key)
            raise
        self._counters.add("generated")
        self._region.set(key, answer)
        return answer
