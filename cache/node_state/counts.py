"""Counters of the machine-state cache in one process."""

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStateCounts:
    """The counters of one process."""

    #: Reads served from the cache.
    hits: int = 0
    #: Reads that called the agent, by cause (:class:`cache.node_state.verdict.Miss`).
    misses: Mapping[str, int] = field(default_factory=dict)
    #: Misses that were answered by another caller's call under way.
    shared: int = 0
    #: Calls of agents: their number, how many failed, and the seconds they took in sum.
    asked: int = 0
    unanswered: int = 0
    asked_seconds: float = 0.0
    #: Replaced tokens by reason: the name of an RPC, as a rule.
    bumps: Mapping[str, int] = field(default_factory=dict)
    flushes: Mapping[str, int] = field(default_factory=dict)
    #: Replies that were not stored: a token was replaced meanwhile, or changes were under way.
    refused: int = 0
    unsettled: int = 0
    #: Calls of the store that failed.
    errors: int = 0
    #: The age of served entries: the mean and the maximum.
    mean_age_seconds: float = 0.0
    oldest_seconds: float = 0.0

    @property
    def missed(self) -> int:
        """The sum of all misses."""
        return sum(self.misses.values())

    def to_wire(self) -> dict[str, Any]:
        """Return plain types, for messages."""
        return asdict(self)


class Tally:
    """Thread-safe counters."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._labelled: dict[str, Counter[str]] = {
            "misses": Counter(),
            "bumps": Counter(),
            "flushes": Counter(),
        }
        self._asked_seconds = 0.0
        self._age_seconds = 0.0
        self._oldest_seconds = 0.0

    def add(self, name: str) -> None:
        """Count one more of ``name``, a number in :class:`NodeStateCounts`."""
        with self._lock:
            self._counts[name] += 1

    def add_labelled(self, name: str, label: str, number: int = 1) -> None:
        """Count more of ``name``, a mapping in :class:`NodeStateCounts`."""
        with self._lock:
            self._labelled[name][str(label)] += number

    def hit(self, age_seconds: float) -> None:
        """Count a read served from the cache."""
        with self._lock:
            self._counts["hits"] += 1
            self._age_seconds += age_seconds
            self._oldest_seconds = max(self._oldest_seconds, age_seconds)

    def asked(self, seconds: float) -> None:
        """Count a call of an agent, answered or not."""
        with self._lock:
            self._counts["asked"] += 1
            self._asked_seconds += seconds

    def now(self) -> NodeStateCounts:
        """Return the counts so far."""
        with self._lock:
            hits = self._counts["hits"]
            counted: dict[str, Any] = {
                **self._counts,
                **{name: dict(sorted(counts.items())) for name, counts in self._labelled.items()},
            }
            return NodeStateCounts(
                **counted,
                asked_seconds=self._asked_seconds,
                mean_age_seconds=self._age_seconds / hits if hits else 0.0,
                oldest_seconds=self._oldest_seconds,
            )
