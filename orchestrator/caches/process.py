"""The constraint caches of one process: made when they are first needed, counted for all, flushed by word from others.

Nothing here is on the path of a look-up: a cache is handed out once, and a thread of its own sees to the rest
(:mod:`orchestrator.caches.statistics`).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

import structlog

from cache.constraints.cache import Description
from cache.constraints.counters import Counts
from orchestrator.caches.statistics import EVERY_SECONDS, CacheStatistics
from orchestrator.plugins.clients import RemembersYes
from orchestrator.store.installation.cache_counters import Flushes

log = structlog.get_logger()

#: Stores that one flush empties for every process there is. Of any other it is only known that it may be one of many.
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
#: By how much the clocks of a process and of the database may disagree on how long something takes.
_SLACK_SECONDS: Final = 1.0


class Counted(Protocol):
    """Where counts are brought together: :class:`orchestrator.store.installation.cache_counters.CacheCounters`."""

    def add(self, deltas: Mapping[str, Counts]) -> None:
        """Add what this process counted, or raise."""


class Flushed(Protocol):
    """Where word of flushes is left: :class:`orchestrator.store.installation.cache_counters.CacheFlushes`."""

    def read(self) -> Flushes:
        """Return when each cache was flushed last, or raise."""


class Cache(RemembersYes, Protocol):
    """One client plugin's cache: :class:`cache.constraints.cache.ConstraintCache`."""

    client: str
    backend: str
    #: How old an answer may be.
    expiration_seconds: float

    def take(self) -> Counts:
        """Return what was counted since the last call."""

    def flush(self) -> bool:
        """Forget all answers."""

    def describe(self) -> Description:
        """Return what it is, and how it is; asks the store."""


class Caches(Protocol):
    """The caches by client plugin: :class:`orchestrator.plugins.constraint_caches.ConstraintCaches`."""

    def of(self, client: str) -> Cache | None:
        """Return the cache of a client, made when it is first asked for; None if it has none."""

    def made(self) -> Sequence[Cache]:
        """Return those that have been asked for."""


class ProcessCaches:
    """The constraint caches of one process; safe for threads.

    Args:
        caches: The caches themselves.
        counted: Where counts are brought together.
        flushed: Where word of flushes is left.
        every_seconds: How often counts are told, and word of flushes is looked for.
        clock: Seconds that only go forward.
    """

    def __init__(
        self,
        caches: Caches,
        counted: Counted,
        flushed: Flushed,
        *,
        every_seconds: float = EVERY_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._caches = caches
        self._flushed = flushed
        self._clock = clock
        self._began = clock()
        #: The flushes that were heeded, by client.
        self._heeded: dict[str, float] = {}
        #: Until then some answer that only this process has may be young enough to be given.
        self._until = float("-inf")
        self.tally = CacheStatistics(self._take, counted.add, every_seconds=every_seconds, then=self.heed)

    def of(self, client: str) -> Cache | None:
        """Return the cache of a client plugin, made when it is first asked for; None if it has none.

        Raises:
            InvalidInput: it cannot be made of the settings.
        """
        found = self._caches.of(client)
        if found is not None:
            self.tally.start()
        return found

    def heed(self) -> None:
        """Empty what others want to be empty, where they cannot do it themselves; no fault ever comes of it."""
        mine = [cache for cache in self._caches.made() if cache.backend not in COMMON_STORES]
        if not mine or self._clock() > self._until:
            return
        try:
            flushes = self._flushed.read()
        except Exception as error:  # noqa: BLE001  # the thread that does this must outlive any fault of the database
            log.debug("word of flushes is looked for later", reason=str(error))
            return
        # What was flushed before there was anything to flush needs no heed.
        began = flushes.now - (self._clock() - self._began) - _SLACK_SECONDS
        for cache in mine:
            at = flushes.at.get(cache.client, began - 1)
            if at >= began and at != self._heeded.get(cache.client):
                cache.flush()
                self._heeded[cache.client] = at

    def close(self) -> None:
        """Tell what was counted and not told yet, if the store takes it within moments."""
        self.tally.close()

    def _take(self) -> dict[str, Counts]:
        taken = {}
        for cache in self._caches.made():
            counts = taken[cache.client] = cache.take()
            if counts != Counts() and cache.backend not in COMMON_STORES:
                self._until = max(self._until, self._clock() + cache.expiration_seconds)
        return taken
