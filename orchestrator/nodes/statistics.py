"""Tell the state of record what the cache of nodes' states counted in this process, and read what all did.

Agents have no way to the state of record: what they void stands in their own counts.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Final, Self
from weakref import WeakKeyDictionary

import structlog

from cache.node_state.cache import NodeStateCache
from cache.node_state.counts import NodeStateCounts
from orchestrator.config.settings import Settings
from orchestrator.errors import Unavailable
from orchestrator.nodes.rpc.client import NodeClient
from orchestrator.store.installation.machine_cache_counters import NodeCounters, NodeTotals
from orchestrator.views.nodes import NodeStats

log = structlog.get_logger()

#: What is counted as it is, and what is counted by cause or reason.
PLAIN: Final = ("hits", "shared", "asked", "unanswered", "refused", "unsettled", "errors")
LABELLED: Final = ("misses", "bumps", "flushes")
#: Sums of which only means are shown.
_ASKED_SECONDS, _AGE_SECONDS = "asked seconds", "age seconds"


#: What was told of what each cache counted; whoever tells, it is told once.
_told: "WeakKeyDictionary[NodeStateCache, Mapping[str, float]]" = WeakKeyDictionary()
_telling: Final = threading.Lock()


class NodeStatistics:
    """Tells what this process counted, each once; safe for threads.

    Args:
        cache: Returns the cache that has counted; None: there is none yet.
        counters: Where it is brought together.
    """

    def __init__(self, cache: Callable[[], NodeStateCache | None], counters: NodeCounters) -> None:
        self._cache, self._counters = cache, counters

    @classmethod
    def of(cls, settings: Settings, counters: NodeCounters) -> Self:
        """Return what tells of the client that this process has for these settings, if it has one by then."""

        def cache() -> NodeStateCache | None:
            client = NodeClient.made(settings)
            return None if client is None else client.cache

        return cls(cache, counters)

    @classmethod
    def silent(cls, counters: NodeCounters) -> Self:
        """Return what tells nothing of this process, and reads what others told."""
        return cls(lambda: None, counters)

    def tell(self) -> None:
        """Tell what was counted since it was told last; what the database does not take is told the next time."""
        cache = self._cache()
        if cache is None:
            return
        with _telling:
            now, before = amounts_of(cache.counters), _told.get(cache, {})
            owed = {name: amount - before.get(name, 0) for name, amount in now.items()}
            try:
                self._counters.add({name: amount for name, amount in owed.items() if amount})
            except Unavailable as error:
                log.debug("what was counted of nodes is told later", reason=str(error))
                return
            _told[cache] = now

    def read(self, *, reset: bool = False) -> NodeStats:
        """Return what all processes counted; with ``reset`` counting begins again at zero afterwards.

        Raises:
            Unavailable: the database does not answer.
        """
        self.tell()
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
    """Return what was counted as it is shown; what another version counted besides is left out."""
    amounts = totals.amounts

    def number(name: str) -> int:
        return round(amounts.get(name, 0))

    def numbers(kind: str) -> dict[str, int]:
        names = sorted(name for name in amounts if name.startswith(f"{kind}:"))
        return {name.partition(":")[2]: number(name) for name in names}

    return NodeStats(
        since=totals.since,
        hits=number("hits"),
        misses=numbers("misses"),
        shared=number("shared"),
        asked=number("asked"),
        unanswered=number("unanswered"),
        mean_asked_seconds=_mean(amounts.get(_ASKED_SECONDS, 0), number("asked")),
        mean_age_seconds=_mean(amounts.get(_AGE_SECONDS, 0), number("hits")),
        bumps=numbers("bumps"),
        flushes=numbers("flushes"),
        refused=number("refused"),
        unsettled=number("unsettled"),
        errors=number("errors"),
    )


def _mean(total: float, number: int) -> float:
    return total / number if number else 0.0
