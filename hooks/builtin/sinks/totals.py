"""Totals of events: numbers under a bounded set of labels."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Self

import msgpack

from hooks.events import Event
from hooks.values.states import ASIDE

#: Bounds of the histogram of operations' durations, in seconds.
BUCKETS: Final = (1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 14400.0)
#: The most resource types with labels of their own; templates bring types of their own, under any name.
MAX_TYPES: Final = 200
TEMPLATE: Final = "template"
OTHER: Final = "other"
#: The most open operations that are timed; older ones are dropped.
MAX_UNDER_WAY: Final = 1000

_SCHEMA: Final = 1


@dataclass(slots=True)
class Durations:
    """A histogram: how many operations fell into each bucket, the last one unbounded, and the sum of seconds."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one more."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.seconds += seconds


@dataclass(slots=True)
class Totals:
    """Counts since counting began."""

    #: The last counted event; an event with no higher id was counted before.
    last_id: int = 0
    last_at: float = 0.0
    #: By action, status and type.
    resources: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    #: By action and status.
    stacks: Counter[tuple[str, str]] = field(default_factory=Counter)
    #: By action and final status.
    durations: dict[tuple[str, str], Durations] = field(default_factory=dict)
    #: The start times of open operations, by id.
    under_way: dict[str, float] = field(default_factory=dict)
    _kinds: set[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._kinds = {kind for _, _, kind in self.resources}

    def count(self, events: Iterable[Event]) -> None:
        """Count events, in the order of their ids; one that was counted already changes nothing."""
        for event in events:
            if event.id <= self.last_id:
                continue
            self.last_id, self.last_at = event.id, event.at
            if event.cause:
                # Its action was counted when it began.
                continue
            if event.resource:
                self.resources[event.action, event.status, self._kind(event.type)] += 1
            elif event.action not in ASIDE and (event.status != "IN_PROGRESS" or not event.reason):
                # A reason at the beginning marks a warning about an operation that was counted already.
                self.stacks[event.action, event.status] += 1
                self._time(event)

    def _kind(self, name: str) -> str:
        if name.endswith((".yaml", ".yml", ".json", ".template")):
            return TEMPLATE
        if name not in self._kinds and len(self._kinds) >= MAX_TYPES:
            return OTHER
        self._kinds.add(name)
        return name

    def _time(self, event: Event) -> None:
        if event.status == "IN_PROGRESS":
            self.under_way[event.operation_id] = event.at
            if len(self.under_way) > MAX_UNDER_WAY:
                del self.under_way[next(iter(self.under_way))]
        elif event.operation_id in self.under_way:
            taken = event.at - self.under_way.pop(event.operation_id)
            self.durations.setdefault((event.action, event.status), Durations()).add(max(taken, 0.0))

    def to_bytes(self) -> bytes:
        """Return the packed form that :meth:`from_bytes` reads."""
        packed: bytes = msgpack.packb(
            {
                "schema": _SCHEMA,
                "last_id": self.last_id,
                "last_at": self.last_at,
                "resources": [[*labels, count] for labels, count in self.resources.items()],
                "stacks": [[*labels, count] for labels, count in self.stacks.items()],
                "bounds": BUCKETS,
                "durations": [
                    [*labels, each.counts, each.seconds] for labels, each in self.durations.items()
                ],
                "under_way": list(self.under_way.items()),
            }
        )
        return packed

    @classmethod
    def from_bytes(cls, packed: bytes) -> Self:
        """Return the totals that were packed.

        Raises:
            ValueError: this version did not pack them.
        """
        try:
            state: dict[str, Any] = msgpack.unpackb(packed)
            if state["schema"] != _SCHEMA:
                raise ValueError(f"totals of schema {state['schema']}")
            return cls(
                last_id=state["last_id"],
                last_at=state["last_at"],
                resources=Counter(
                    {(action, status, kind): n for action, status, kind, n in state["resources"]}
                ),
                stacks=Counter({(action, status): n for action, status, n in state["stacks"]}),
                durations={
                    (action, status): Durations(counts, seconds)
                    for action, status, counts, seconds in state["durations"]
                    # Counts in other buckets cannot be added.
                    if tuple(state["bounds"]) == BUCKETS
                },
                under_way=dict(state["under_way"]),
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"no totals: {error!r}") from error
