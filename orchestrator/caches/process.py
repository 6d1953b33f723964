"""Constraint caches of one process: made at first use, counted, and flushed on requests of other processes.

Look-ups do not pass through here: a client gets its cache once, and a thread persists counts and reads flushes
(:mod:`orchestrator.caches.statistics`).
"""

import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from cache.constraints.cache import Description
from cache.constraints.counters import Counts
from orchestrator.caches.statistics import EVERY_SECONDS, CacheStatistics, Deltas
from orchestrator.config.logger import get_logger
from orchestrator.plugins.client_plugin import LookupCache
from orchestrator.store.installation.cache_counters import Flushes

log = get_logger()

#: Stores that all processes share, so that one flush empties them for all. Any other may be one of many.
COMMON_STORES: Final = frozenset(
    {
        "redis",
        "memcached",
        "dogpile.cache.redis",
        "dogpile.cache.redis_sentinel",
        "dogpile.cache.redis_cluster",
        "dogpile.cache.valkey",
        "dogpile.cache.valkey_sentinel",
        "dogpile.cache.valkey_cluster",
        "dogpile.cache.memcached",
        "dogpile.cache.pylibmc",
        "dogpile.cache.bmemcached",
        "dogpile.cache.pymemcache",
    }
)
#: How much the clocks of a process and of the database may differ in a duration.
_SLACK_SECONDS: Final = 1.0


class Cache(LookupCache, Protocol):
    """A client plugin's cache; :class:`cache.constraints.cache.ConstraintCache` implements it."""

    client: str
    backend: str
    #: The maximum age of an answer.
    expiration_seconds: float

    def take(self) -> Counts:
        """Return the counts since the last call."""

    def flush(self) -> bool:
        """Remove all answers; return whether the store did."""

    def describe(self) -> Description:
        """Return the backend, its state and its size, read from the store."""


class Caches(Protocol):
    """The caches by client; :class:`orchestrator.plugins.constraint_caches.ConstraintCaches` implements it."""

    def of(self, client: str) -> Cache | None:
        """Return the cache of a client, made at the first call; None if it has none."""

    def made(self) -> Sequence[Cache]:
        """Return the caches that have been made."""


class ProcessCaches:
    """The constraint caches of one process; thread-safe.

    Both ``add``, which adds counts to the totals of all processes, and ``flushes``, which returns the recorded flushes,
    may raise; they are called every ``every_seconds``.
    """

    def __init__(
        self,
        caches: Caches,
        add: Callable[[Deltas], None],
        flushes: Callable[[], Flushes],
        *,
        every_seconds: float = EVERY_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._caches = caches
        self._flushes = flushes
        self._clock = clock
        self._began = clock()
        #: The time of the last recorded flush that was carried out, by client.
        self._heeded: dict[str, float] = {}
        #: Until then an answer in this process's memory may be fresh; later nothing needs a flush.
        self._until = float("-inf")
        self.tally = CacheStatistics(self._take, add, every_seconds=every_seconds, then=self.heed)

    def of(self, client: str) -> Cache | None:
        """Return the cache of a client plugin, made at the first call; None if it has none.

        Raises:
            InvalidInput: its settings are wrong.
        """
        found = self._caches.of(client)
        if found is not None:
            self.tally.start()
        return found

    def heed(self) -> None:
        """Carry out recorded flushes on this process's own caches. Errors are logged, not raised."""
        mine = [cache for cache in self._caches.made() if cache.backend not in COMMON_STORES]
        if not mine or self._clock() > self._until:
            return
        try:
            flushes = self._flushes()
        except Exception as error:  # noqa: BLE001  # the thread must survive database errors
            log.debug("recorded flushes are read later", reason=str(error))
            return
        # Flushes from before this process's caches existed are skipped.
        began = flushes.now - (self._clock() - self._began) - _SLACK_SECONDS
        for cache in mine:
            at = flushes.at.get(cache.client, began - 1)
            if at >= began and at != self._heeded.get(cache.client):
                cache.flush()
                self._heeded[cache.client] = at

    def close(self) -> None:
        """Persist remaining counts, if the store takes them within moments."""
        self.tally.close()

    def _take(self) -> dict[str, Counts]:
        taken = {}
        for cache in self._caches.made():
            counts = taken[cache.client] = cache.take()
            if counts != Counts() and cache.backend not in COMMON_STORES:
                self._until = max(self._until, self._clock() + cache.expiration_seconds)
        return taken
