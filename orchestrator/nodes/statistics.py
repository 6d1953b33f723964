"""Counters of the machine-state cache: persists those of this process, and reads the totals of all processes.

Agents have no access to the database: their invalidations are in their own counters only.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, Self
from weakref import WeakKeyDictionary

from cache.node_state.cache import NodeStateCache
from cache.node_state.counts import NodeStateCounts
from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.errors import Unavailable
from orchestrator.nodes.rpc.client import NodeClient
from orchestrator.store.installation.cache_counters import NodeCounters, NodeTotals
from orchestrator.views.nodes import NodeStats

log = get_logger()

#: Plain counters, and counters by cause or reason.
PLAIN: Final = ("hits", "shared", "asked", "unanswered", "refused", "unsettled", "errors")
LABELLED: Final = ("misses", "bumps", "flushes")
#: Sums, of which the means are shown.
_ASKED_SECONDS, _AGE_SECONDS = "asked seconds", "age seconds"


#: The amounts of each cache that are persisted, so that every count is added once.
_persisted: "WeakKeyDictionary[NodeStateCache, Mapping[str, float]]" = WeakKeyDictionary()
_persisting: Final = threading.Lock()


class NodeStatistics:
    """Persists this process's counters, each count once; thread-safe.

    ``cache`` returns the cache of this process; None if it has none yet, or totals are only read.
    """

    def __init__(self, cache: Callable[[], NodeStateCache | None], counters: NodeCounters) -> None:
        self._cache, self._counters = cache, counters

    @classmethod
    def of(cls, settings: Settings, counters: NodeCounters) -> Self:
        """Return the statistics of this process's client for these settings, if it has one by then."""

        def cache() -> NodeStateCache | None:
            client = NodeClient.made(settings)
            return None if client is None else client.cache

        return cls(cache, counters)

    def persist(self) -> None:
        """Add the counts since the last call to the totals; after a database error, the next call adds them."""
        cache = self._cache()
        if cache is None:
            return
        with _persisting:
            now, before = amounts_of(cache.counters), _persisted.get(cache, {})
            owed = {name: amount - before.get(name, 0) for name, amount in now.items()}
            try:
                self._counters.add({name: amount for name, amount in owed.items() if amount})
            except Unavailable as error:
                log.debug("machine-state cache counters are persisted later", reason=str(error))
                return
            _persisted[cache] = now

    def read(self, *, reset: bool = False) -> NodeStats:
        """Return the totals of all processes; with ``reset``, set them to zero afterwards.

        Raises:
            Unavailable: the database does not answer.
        """
        self.persist()
        return stats_of(self._counters.reset() if reset else self._counters.read())


def amounts_of(counts: NodeStateCounts) -> dict[str, float]:
    """Return counts as amounts that can be added up, by name."""
    labelled = {
        f"{name}:{label}": float(number)
        for name in LABELLED
        for label, number in getattr(counts, name).items()
    }
    return {
        **{name: float(getattr(counts, name)) for name in PLAIN},
        **labelled,
        _ASKED_SECONDS: counts.asked_seconds,
        _AGE_SECONDS: counts.mean_age_seconds * counts.hits,
    }


def stats_of(totals: NodeTotals) -> NodeStats:
    """Return the view of totals, without counters that only another version has."""
    amounts = totals.amounts

    def number(name: str) -> int:
        return round(amounts.get(name, 0))

    def numbers(kind: str) -> dict[str, int]:
        names = sorted(name for name in amounts if name.startswith(f"{kind}:"))
        return {name.partition(":")[2]: number(name) for name in names}

    def mean(total: str, name: str) -> float:
        return amounts.get(total, 0) / number(name) if number(name) else 0.0

    counts: dict[str, Any] = {name: number(name) for name in PLAIN} | {
        name: numbers(name) for name in LABELLED
    }
    return NodeStats(
        since=totals.since,
        **counts,
        mean_asked_seconds=mean(_ASKED_SECONDS, "asked"),
        mean_age_seconds=mean(_AGE_SECONDS, "hits"),
    )
