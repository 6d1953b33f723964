"""A history in memory, and a hub that reads it fast."""

import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from orchestrator.dashboard.hub import Hub, Pace
from orchestrator.dashboard.subscription import Subscription
from orchestrator.errors import Unavailable
from orchestrator.store.history.event_log import Extent
from orchestrator.store.history.observing import ObservedEvent
from tests.waiting import PATIENCE_SECONDS, until_so

FAST = Pace(listened=0.005, idle=0.005, rest=0.0, beat=0.01, patience=0.05)


def happened(number: int, **given: Any) -> ObservedEvent:
    """Return an event; of stack ``web``, unless it is said otherwise."""
    values: dict[str, Any] = {
        "id": number,
        "at": 1_000.0 + number,
        "read_at": 1_001.0 + number,
        "stack": "web",
        "stack_id": "web-id",
        "project": "p",
        "parent_id": None,
        "root_id": "web-id",
        "traversal_id": "t",
        "resource": "port",
        "resource_id": "port-id",
        "type": "OS::Heat::None",
        "action": "CREATE",
        "status": "COMPLETE",
        "reason": "",
        "physical_id": None,
    }
    return ObservedEvent(**{**values, **given})


class Log:
    """A history that does what the store's does, and answers no more when it is told to."""

    def __init__(self, rows: Sequence[ObservedEvent] = ()) -> None:
        self.rows = list(rows)
        self.newest = max((row.id for row in rows), default=0)
        #: Up to where it is complete; None: all of it is.
        self.horizon: int | None = None
        #: Since when it is not.
        self.waits_since = 2_000.0
        self.is_away = False
        self.answers = threading.Event()
        self.answers.set()
        self.reads = 0
        self.began_again = 0

    def add(self, *rows: ObservedEvent) -> None:
        self.rows += rows
        self.newest = max(self.newest, *(row.id for row in rows))

    def look(self) -> int:
        self._answer()
        return self.newest if self.horizon is None else self.horizon

    def read(self, after: int, *, up_to: int, limit: int) -> list[ObservedEvent]:
        self._answer()
        self.reads += 1
        return [row for row in self.rows if after < row.id <= up_to][:limit]

    def extent(self) -> Extent:
        self._answer()
        return Extent(newest=self.newest, now=2_000.0)

    def oldest(self, stack_id: str | None = None) -> int | None:
        self._answer()
        return min((row.id for row in self.rows if stack_id in (None, row.stack_id)), default=None)

    def lacks(self, after: int, *, up_to: int, limit: int) -> bool:
        self._answer()
        first = {row.stack_id: row for row in reversed(self.rows)}
        behind = [row for row in self.rows if after < row.id <= up_to][:limit]
        return any(first[row.stack_id] is row and row.resource for row in behind)

    def behind_since(self) -> float | None:
        return None if self.horizon is None else self.waits_since

    def begin_again(self) -> None:
        self.began_again += 1

    def _answer(self) -> None:
        assert self.answers.wait(PATIENCE_SECONDS)
        if self.is_away:
            raise Unavailable("the database does not answer: it is away")


@asynccontextmanager
async def reading(log: Any, **given: Any) -> AsyncIterator[Hub]:
    """Have a hub read, once it knows where the history is."""
    hub = Hub(log, pace=FAST, **given)
    hub.start()
    try:
        yield hub
    finally:
        if isinstance(log, Log):
            log.answers.set()
        await hub.close()


async def placed(hub: Hub) -> int:
    """Return where the hub begins."""
    await until_so(lambda: hub.position is not None)
    assert hub.position is not None
    return hub.position


async def heard(subscription: Subscription, count: int) -> list[int]:
    """Return the ids of the next events, once there are so many."""
    found: list[int] = []
    while len(found) < count:
        assert await subscription.news(PATIENCE_SECONDS)
        found += [entry.row.id for entry in subscription.take(1_000_000)]
    return found
