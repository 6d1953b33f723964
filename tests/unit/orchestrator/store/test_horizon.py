"""Whoever reads the history up to the horizon, and on from there, misses nothing that is committed later."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from orchestrator.store import horizon
from orchestrator.store.database import SESSION, Database
from orchestrator.store.history.events import Events
from orchestrator.store.horizon import SETTLED_SECONDS, Horizon, _Mark
from orchestrator.store.retrying import retrying
from tests.migrated import migrate
from tests.unit.orchestrator.store.conftest import FakeClock
from tests.waiting import until

Connection = psycopg.Connection[Any]


class Ground:
    """A database with writers whose transactions a test opens and ends as it wants."""

    def __init__(self, url: str, stack: ExitStack) -> None:
        migrate(url)
        self.clock = FakeClock()
        self.database = Database(url, clock=self.clock)
        self.horizon = Horizon(self.database)
        self._stack = stack

    def writer(self) -> Connection:
        """Open a transaction that has its number."""
        url = self.database.url
        connection: Connection = self._stack.enter_context(
            psycopg.connect(host=url.host, port=url.port, user=url.username, dbname=url.database)
        )
        connection.execute("SELECT pg_current_xact_id()")
        return connection

    def write(self, connection: Connection, *, at: float | None = None) -> int:
        """Write an event, of now if it is not said otherwise, and return its id."""
        row = connection.execute(
            "INSERT INTO event (at, stack_id, traversal_id, action, status) VALUES (%s, 's', 't', 'A', 'B') "
            "RETURNING id",
            [self.clock() if at is None else at],
        ).fetchone()
        assert row
        return int(row[0])


@pytest.fixture
def ground(postgres_url: str) -> Iterator[Ground]:
    with ExitStack() as stack:
        ground = Ground(postgres_url, stack)
        yield ground
        ground.database.dispose()


def test_what_is_committed_is_within_the_horizon_at_once(ground: Ground) -> None:
    assert ground.horizon.look() == 0
    writer = ground.writer()
    number = ground.write(writer)
    writer.commit()
    assert ground.horizon.look() == number
    assert not ground.horizon.is_behind


def test_an_event_waits_for_whoever_may_still_come_before_it(ground: Ground) -> None:
    slow, fast = ground.writer(), ground.writer()
    lower, higher = ground.write(slow), ground.write(fast)
    assert lower < higher
    fast.commit()
    assert ground.horizon.look() < lower
    assert ground.horizon.is_behind
    slow.commit()
    assert ground.horizon.look() == higher


def test_who_began_later_may_come_before_too(ground: Ground) -> None:
    """The transaction with the higher number has the lower id, and is open when the other is over."""
    early, late = ground.writer(), ground.writer()
    lower, higher = ground.write(late), ground.write(early)
    assert lower < higher
    early.commit()
    assert ground.horizon.look() < lower
    late.commit()
    assert ground.horizon.look() == higher


def test_writers_that_never_pause_do_not_hold_up_the_horizon(ground: Ground) -> None:
    writing = ground.writer()
    for _ in range(20):
        number = ground.write(writing)
        following = ground.writer()
        writing.commit()
        ground.horizon.look()
        writing = following
        # One event behind at most, though some transaction is open all the time.
        assert ground.horizon.look() >= number - 1
    writing.rollback()
    assert ground.horizon.look() == number


def test_a_transaction_that_is_given_up_leaves_no_gap_to_wait_for(ground: Ground) -> None:
    first, second = ground.writer(), ground.writer()
    ground.write(first)
    number = ground.write(second)
    second.commit()
    first.rollback()
    assert ground.horizon.look() == number


def test_a_transaction_of_others_holds_up_the_horizon_for_a_while_only(ground: Ground) -> None:
    hanging, writer = ground.writer(), ground.writer()
    number = ground.write(writer)
    writer.commit()
    assert ground.horizon.look() < number
    ground.clock.pass_(SETTLED_SECONDS + 1)
    assert ground.horizon.look() == number
    hanging.rollback()


def test_a_writer_that_is_active_for_long_is_waited_for_all_the_same(ground: Ground) -> None:
    active, writer = ground.writer(), ground.writer()
    first = ground.write(writer)
    writer.commit()
    events = Events(ground.database, ground.horizon)
    assert ground.horizon.look() < first
    ground.clock.pass_(SETTLED_SECONDS + 1)
    assert ground.horizon.look() == first
    lower, higher = ground.write(active), ground.write(writer)
    writer.commit()
    ground.clock.pass_(SETTLED_SECONDS + 1)
    assert ground.horizon.look() < lower
    assert [row.id for row in events.read("s")] == [first]
    # What another writer adds meanwhile is not passed either.
    ground.write(writer)
    writer.commit()
    ground.clock.pass_(SETTLED_SECONDS + 1)
    assert ground.horizon.look() < lower
    active.commit()
    assert ground.horizon.look() == higher + 1


def test_a_writer_that_began_after_an_event_holds_up_only_what_comes_after_it(ground: Ground) -> None:
    foreign, writer = ground.writer(), ground.writer()
    number = ground.write(writer)
    writer.commit()
    assert ground.horizon.look() < number
    late = ground.writer()
    ground.write(late)
    ground.clock.pass_(SETTLED_SECONDS + 1)
    assert ground.horizon.look() == number
    late.rollback()
    foreign.rollback()


def test_who_begins_while_a_writer_is_active_for_long_begins_behind_it(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The writer has been open for longer than this at once, by the clock of the server.
    monkeypatch.setattr(horizon, "SETTLED_SECONDS", 0)
    database = Database(ground.database.url.render_as_string(hide_password=False))
    active, writer = ground.writer(), ground.writer()
    lower, higher = ground.write(active, at=database.time()), ground.write(writer, at=database.time())
    writer.commit()
    assert Horizon(database).look() < lower
    active.commit()
    assert Horizon(database).look() == higher
    database.dispose()


@pytest.mark.parametrize("newest", [100, 2**32 + 5])
def test_short_ids_of_transactions_begin_again_at_zero(newest: int) -> None:
    mark = _Mark(transaction=newest, newest_event=1, at=0.0)
    short = newest & 0xFFFFFFFF
    assert mark.is_above([short, short + 1])
    assert not mark.is_above([short + 1, (short - 1) % 2**32])
    assert not mark.is_above([(short - 50) % 2**32])


def test_who_begins_while_somebody_writes_begins_behind_what_is_settled(ground: Ground) -> None:
    old, writing = ground.writer(), ground.writer()
    settled = ground.write(old, at=ground.clock() - SETTLED_SECONDS - 1)
    ground.write(old)
    old.commit()
    assert ground.horizon.look() == settled
    assert ground.horizon.behind_since == ground.clock()
    writing.rollback()
    assert ground.horizon.look() == settled + 1
    assert ground.horizon.behind_since is None


def test_who_follows_a_stack_is_shown_no_event_that_another_may_still_come_before(ground: Ground) -> None:
    events = Events(ground.database, ground.horizon)

    def shown() -> list[int]:
        return [row.id for row in events.read("s")]

    early, late = ground.writer(), ground.writer()
    # Long ago, by its own time: it is shown whatever is going on.
    late.execute(
        "INSERT INTO event (at, stack_id, traversal_id, action, status) VALUES (0, 's', 't', 'A', 'B')"
    )
    late.commit()
    assert shown() == [1]
    late.execute("SELECT pg_current_xact_id()")
    lower, higher = ground.write(late, at=ground.clock()), ground.write(early, at=ground.clock())
    early.commit()
    assert shown() == [1]
    late.commit()
    assert shown() == [1, lower, higher]


def test_who_asks_waits_a_moment_for_writers_that_are_about_to_commit(ground: Ground) -> None:
    slow, fast = ground.writer(), ground.writer()
    ground.write(slow)
    newest = ground.write(fast)
    fast.commit()
    committing = threading.Timer(0.1, slow.commit)
    committing.start()
    assert ground.horizon.reach(20) == newest
    committing.join()


@pytest.mark.parametrize("way", ["write", "direct"])
def test_a_writer_that_stands_still_is_ended_before_the_horizon_passes_it(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    patience_seconds = float(SESSION["idle_in_transaction_session_timeout"].removesuffix("s"))
    assert patience_seconds <= SETTLED_SECONDS / 2
    monkeypatch.setitem(SESSION, "idle_in_transaction_session_timeout", "100ms")
    database = Database(ground.database.url.render_as_string(hide_password=False))
    written: list[int] = []
    sql = "INSERT INTO event (at, stack_id, traversal_id, action, status) VALUES (0, 's', 't', 'A', 'B') RETURNING id"

    def stand_still() -> None:
        if len(written) > 1:
            return
        still = (
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND state = 'idle in transaction'"
        )
        with ground.database.read() as connection:
            until(lambda: not connection.execute(sa.text(still)).scalar_one())

    @retrying
    def write() -> None:
        if way == "write":
            with database.write() as connection:
                written.append(connection.execute(sa.text(sql)).scalar_one())
                stand_still()
        else:
            with database.direct(statements=2) as direct:
                written.append(direct.rows(sql, {})[0].id)
                stand_still()

    write()
    lost, kept = written
    with ground.database.read() as connection:
        assert connection.execute(sa.text("SELECT id FROM event")).scalars().all() == [kept]
    assert lost < kept
    database.dispose()


def test_sqlite_has_no_gaps(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path / 'one.db'}"
    migrate(url)
    database = Database(url)
    horizon = Horizon(database)
    assert horizon.look() == 0
    with database.write() as connection:
        connection.execute(
            sa.text(
                "INSERT INTO event (at, stack_id, traversal_id, action, status) VALUES (0, 's', 't', 'A', 'B')"
            )
        )
    assert horizon.look() == 1
    assert not horizon.is_behind
    database.dispose()
