"""Processes that tell one sink, on one store, one step after the other, and all that may happen to them."""

import asyncio
import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar, TypeVar

import sqlalchemy as sa

from hooks.events import Event, EventSink
from hooks.loading.calling import TookTooLong
from orchestrator.model.codec import Codec
from orchestrator.sinks.delivery import Delivery
from orchestrator.store import tables
from orchestrator.store.database import Database
from orchestrator.store.horizon import Horizon
from orchestrator.store.installation.sink_cursors import CursorClaim, CursorRow, SinkCursors
from tests.unit.orchestrator.store.conftest import FakeClock

T = TypeVar("T")

LIMIT_SECONDS = 30.0

#: What a sink may do with what it is given.
TAKE, REFUSE, CHOKE = "take", "refuse", "take half and refuse"
HANG, HANG_AND_TAKE = "hang", "take and hang"
CANCELLED = "be cancelled"
FAIL_TO_SAVE, FAIL_TO_HEAR = "take and fail to save", "take and fail when it is on record"
MOODS = (TAKE, REFUSE, CHOKE, HANG, HANG_AND_TAKE, CANCELLED, FAIL_TO_SAVE, FAIL_TO_HEAR)


class Crash(BaseException):
    """The process is gone at this instruction."""


class Outside:
    """The system that a sink sends events to; it outlives every process."""

    def __init__(self) -> None:
        self.mood = TAKE
        #: Every event that arrived, in the order of arrival.
        self.arrived: list[Event] = []
        #: How many events came in one call.
        self.batches: list[int] = []
        #: How many sinks are open, and what the last one that heard so knows to be on record.
        self.open = self.kept = 0

    def send(self, events: Sequence[Event]) -> None:
        if self.mood == CANCELLED:
            raise asyncio.CancelledError
        if self.mood == REFUSE:
            raise ConnectionError("connection refused by amqp://me:secret@host/")
        if self.mood == HANG:
            raise TookTooLong("it took longer than 30 s")
        taken = events[: len(events) // 2] if self.mood == CHOKE else events
        self.arrived += taken
        self.batches.append(len(taken))
        if self.mood == CHOKE:
            raise ValueError("this one is too much")
        if self.mood == HANG_AND_TAKE:
            raise TookTooLong("it took longer than 30 s")


class Sink(EventSink):
    """Counts what it was told, and keeps the count where its mark is."""

    outside: ClassVar[Outside]

    def __init__(self, options: Any = None) -> None:
        super().__init__(options)
        self.count = 0

    def restore(self, state: bytes) -> None:
        self.outside.open += 1
        self.count = int(state or b"0")

    def consume(self, events: Sequence[Event]) -> None:
        self.outside.send(events)
        self.count += len(events)

    def save(self) -> bytes:
        if self.outside.mood == FAIL_TO_SAVE:
            raise OSError("no room")
        return str(self.count).encode()

    def kept(self) -> None:
        self.outside.kept = self.count
        if self.outside.mood == FAIL_TO_HEAR:
            raise OSError("deaf")

    def close(self) -> None:
        self.outside.open -= 1


def call_directly(call: Callable[[], T], *, seconds: float, name: str) -> T:
    """Call in the thread that asks for it."""
    return call()


class Perilous:
    """The cursors as a process sees them that may die before and after each transaction."""

    def __init__(self, cursors: SinkCursors) -> None:
        self._cursors = cursors
        self.horizon = cursors.horizon
        #: How many instructions are left before the process dies; None: it lives.
        self.left: int | None = None

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._cursors, name)

        def act(*arguments: Any, **named: Any) -> Any:
            self._instruction()
            result = operation(*arguments, **named)
            self._instruction()
            return result

        return act

    def _instruction(self) -> None:
        if self.left is not None:
            if not self.left:
                raise Crash
            self.left -= 1


@cache
def _database() -> tuple[Database, FakeClock]:
    """Return the one database of all worlds: making one takes longer than what most do with it."""
    clock = FakeClock()
    database = Database("sqlite://", clock=clock)
    with database.write() as connection:
        tables.metadata.create_all(connection)
    return database, clock


def _empty_database() -> tuple[Database, FakeClock]:
    database, clock = _database()
    with database.write() as connection:
        for table in (tables.event, tables.sink_cursor):
            connection.execute(table.delete())
        connection.exec_driver_sql("DELETE FROM sqlite_sequence")
    return database, clock


class World:
    """A store, an outside, and as many processes as are wanted."""

    def __init__(self) -> None:
        self.database, self.clock = _empty_database()
        self.cursors = SinkCursors(self.database, Codec(), Horizon(self.database))
        self.cursors.register(["mail"])
        self.outside = Sink.outside = Outside()
        #: The ids of all events, by stack, in the order in which they were committed.
        self.happened: dict[str, list[int]] = {}
        self._processes: dict[int, tuple[Delivery, Perilous]] = {}
        self._dead: set[str] = set()
        self._born = 0

    def happen(self, stack: str = "s", count: int = 1) -> None:
        """Commit events of a stack."""
        values = {"at": self.clock.now, "stack_id": stack, "traversal_id": "t", "action": "A", "status": "B"}
        for _ in range(count):
            with self.database.write() as connection:
                result = connection.execute(tables.event.insert().values(values))
            assert result.inserted_primary_key
            self.happened.setdefault(stack, []).append(result.inserted_primary_key[0])

    def delivery(self, number: int = 0, **arguments: Any) -> Delivery:
        """Return the delivery of a process, started if it is not there."""
        if number not in self._processes:
            self._born += 1
            perilous: Any = Perilous(self.cursors)
            said: dict[str, Any] = {
                "make": lambda _: Sink(),
                "limit_seconds": LIMIT_SECONDS,
                "is_dead": self._dead.__contains__,
                "call": call_directly,
                "chance": random.Random(0),
                "clock": self.clock,
            }
            owner = f"process {number}, the {self._born}."
            delivery = Delivery("mail", cursors=perilous, owner=owner, **{**said, **arguments})
            self._processes[number] = delivery, perilous
        return self._processes[number][0]

    def step(self, number: int = 0, *, dies_after: int | None = None) -> float | None:
        """Let a process take a step, in which it may die; None if it did."""
        delivery = self.delivery(number)
        perilous = self._processes[number][1]
        perilous.left = dies_after
        try:
            return delivery.step()
        except Crash:
            self.kill(number, noticed=False)
            return None
        finally:
            perilous.left = None

    def kill(self, number: int, *, noticed: bool) -> None:
        """End a process at once; ``noticed``: others can tell that it is gone."""
        if number in self._processes:
            delivery, _ = self._processes.pop(number)
            if noticed:
                self._dead.add(delivery._owner)

    def until_done(self, number: int = 0) -> None:
        """Let one process go on until it has told everything; all others stand still."""
        for _ in range(1000):
            self.clock.pass_(max(0.01, self.step(number) or 0))
            if self.delivery(number).has_cursor and self.delivery(number).is_done():
                return
        raise AssertionError("it never ends")

    # -- what a test looks at ----------------------------------------------------------------------------------

    @property
    def cursor(self) -> CursorRow:
        return self.cursors.all()[0]

    def counted(self) -> int:
        """Return what the sink saved last."""
        with self.database.read() as connection:
            row = connection.execute(sa.select(tables.sink_cursor.c.state, tables.sink_cursor.c.name)).one()
        return int(Codec().unpack(row.state, ("sink_cursor", "state", row.name))) if row.state else 0

    def arrived_first(self) -> dict[str, list[int]]:
        """Return the ids of the events that arrived, by stack, each where it came first."""
        seen: dict[str, dict[int, None]] = {}
        for event in self.outside.arrived:
            seen.setdefault(event.stack_id, {})[event.id] = None
        return {stack: list(ids) for stack, ids in seen.items()}


def claim_of(delivery: Delivery) -> CursorClaim:
    """Return what a delivery has."""
    assert delivery._claim is not None
    return delivery._claim
