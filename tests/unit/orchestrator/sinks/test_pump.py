"""Threads tell the sinks: soon, each for itself, and nobody waits for them longer than was said."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from hooks.events import Event, EventSink
from orchestrator.model.codec import Codec
from orchestrator.sinks import delivery
from orchestrator.sinks.pumps import Pumps
from orchestrator.store import tables
from orchestrator.store.database import Database
from orchestrator.store.horizon import Horizon
from orchestrator.store.installation.sink_cursors import SinkCursors
from tests.waiting import PATIENCE_SECONDS, until


class Inbox(EventSink):
    """Keeps what it was told where the test finds it, whatever object was told."""

    def __init__(self, options: "Inbox | None" = None) -> None:
        super().__init__(self)
        self.inbox = options or self
        if options is None:
            self.told: list[int] = []
            self.changed = threading.Condition()
            self.go_on = threading.Event()
            self.go_on.set()
            self.closed = 0

    def consume(self, events: Sequence[Event]) -> None:
        inbox = self.inbox
        with inbox.changed:
            inbox.changed.notify_all()
        assert inbox.go_on.wait(PATIENCE_SECONDS)
        with inbox.changed:
            inbox.told += [event.id for event in events]
            inbox.changed.notify_all()

    def close(self) -> None:
        self.inbox.closed += 1

    def until(self, is_so: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(is_so, PATIENCE_SECONDS)


class Ground:
    """A database, and pumps on it that are closed in the end."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self.database = Database(f"sqlite:///{directory / 'events.db'}")
        with self.database.write() as connection:
            tables.metadata.create_all(connection)
        stack.callback(self.database.dispose)
        self.cursors = SinkCursors(self.database, Codec(), Horizon(self.database))
        self._stack = stack

    def pump(self, *sinks: Inbox, owner: str = "me") -> Pumps:
        pump = Pumps(self.cursors, sinks, owner=owner)
        pump.register()
        pump.start()
        self._stack.callback(pump.close)
        return pump

    def inbox(self, name: str, *, time_limit_seconds: float = 30.0) -> Inbox:
        inbox = Inbox()
        inbox.name, inbox.time_limit_seconds = name, time_limit_seconds
        # Whatever a test has stopped goes on when it is over.
        self._stack.callback(inbox.go_on.set)
        return inbox

    def happen(self, count: int = 1) -> None:
        values = {"at": time.time(), "stack_id": "s", "traversal_id": "t", "action": "A", "status": "B"}
        with self.database.write() as connection:
            connection.execute(tables.event.insert(), [values] * count)


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with ExitStack() as stack:
        yield Ground(tmp_path, stack)


def test_a_sink_is_told_also_when_nobody_says_that_something_happened(ground: Ground) -> None:
    mail = ground.inbox("mail")
    ground.pump(mail)
    ground.happen()
    mail.until(lambda: mail.told == [1])


def test_a_sink_is_told_at_once_when_somebody_says_so(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nobody looks by himself for as long as this test takes.
    monkeypatch.setattr(delivery, "LOOK_SECONDS", 10 * PATIENCE_SECONDS)
    mail = ground.inbox("mail")
    pump = ground.pump(mail)
    for number in range(1, 12):
        ground.happen()
        pump.wake()
        mail.until(lambda number=number: len(mail.told) == number)  # type: ignore[misc]  # bound at once


def test_a_sink_that_does_not_listen_delays_no_other(ground: Ground) -> None:
    slow, quick = ground.inbox("slow"), ground.inbox("quick")
    slow.go_on.clear()
    pump = ground.pump(slow, quick)
    for number in range(1, 4):
        ground.happen()
        pump.wake()
        quick.until(lambda number=number: len(quick.told) == number)  # type: ignore[misc]  # bound at once
    assert slow.told == []
    slow.go_on.set()
    slow.until(lambda: slow.told == [1, 2, 3])


def test_a_call_that_takes_too_long_is_given_up_and_made_again(ground: Ground) -> None:
    mail = ground.inbox("mail", time_limit_seconds=0.05)
    mail.go_on.clear()
    pump = ground.pump(mail)
    ground.happen()
    pump.wake()
    row = until(lambda: next((row for row in ground.cursors.all() if row.failures), None))
    assert row.error == "it has not answered within 0.05 s"
    mail.go_on.set()
    mail.until(lambda: len(mail.told) >= 2)
    # The first call went on in the end: the event came twice, or as often as it was tried on a slow machine.
    assert set(mail.told) == {1}


def test_the_end_lets_sinks_take_what_is_left(ground: Ground) -> None:
    mail = ground.inbox("mail")
    pump = ground.pump(mail)
    ground.happen(count=1300)
    pump.close()
    assert mail.told == list(range(1, 1301))
    assert mail.closed == 1
    assert ground.cursors.all()[0].owner is None


def test_who_ends_last_tells_what_is_left(ground: Ground) -> None:
    mail = ground.inbox("mail")
    first = ground.pump(mail, owner="first")
    ground.happen()
    mail.until(lambda: mail.told == [1])
    second = ground.pump(mail, owner="second")
    first.close()
    ground.happen()
    # It would look again in two seconds.
    second.close()
    assert mail.told == [1, 2]


def test_the_end_waits_for_no_sink_longer_than_said_and_another_process_goes_on(ground: Ground) -> None:
    mail = ground.inbox("mail")
    mail.go_on.clear()
    pump = ground.pump(mail)
    ground.happen()
    pump.wake()
    # To wait for the sink is to wait for ever: it goes on only below.
    pump.close(0.2)
    assert mail.told == []
    ground.happen()
    mail.go_on.set()
    # Its call ends after all, and it leaves.
    mail.until(lambda: mail.told[:1] == [1])
    ground.pump(mail, owner="another")
    mail.until(lambda: mail.told[-1:] == [2])


def test_a_pump_that_was_not_started_tells_nobody(ground: Ground) -> None:
    mail = ground.inbox("mail")
    pump = Pumps(ground.cursors, [mail], owner="me")
    pump.close()
    pump.start()
    ground.happen()
    assert ground.cursors.all() == []
    assert mail.told == []


def test_a_database_that_is_away_is_waited_for(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    mail = ground.inbox("mail")
    look, away = ground.cursors.horizon.look, threading.Event()
    failed = threading.Event()

    def broken() -> int:
        if away.is_set():
            failed.set()
            raise RuntimeError("nobody foresaw this")
        return look()

    monkeypatch.setattr(ground.cursors.horizon, "look", broken)
    away.set()
    pump = ground.pump(mail)
    assert failed.wait(PATIENCE_SECONDS)
    away.clear()
    ground.happen()
    pump.wake()
    mail.until(lambda: mail.told == [1])
