"""The contract of the ledger of operations, on every store: one holder at a time, and nothing of an earlier one."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator.store import tables
from orchestrator.store.traversals.ledger import BATCH, Ledger
from orchestrator.store.traversals.operation_rows import (
    AGREED,
    ASKING,
    ENTERING,
    LATE,
    LEAVING,
    OVER,
    REFUSED,
    TELLING,
    TOLD,
    UNDER_WAY,
    Agreed,
    NewOperation,
    OperationRow,
    TakenOver,
)
from orchestrator.store.traversals.operation_starting import begin_operation
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.test_races_contract import at_once

LEASE = 60.0


def opened(
    bench: Bench,
    owner: str = "first",
    *,
    operation_id: str = "o",
    cause: str = "job",
    idle: bool = False,
    dead: tuple[str, ...] = (),
) -> OperationRow | None:
    new = NewOperation(
        id=operation_id,
        cause=cause,
        stack_id="s-id",
        stack="s",
        project="p",
        action="CREATE",
        shown={"name": "s"},
    )
    return bench.store.ledger.open(
        new,
        owner=owner,
        lease_seconds=LEASE,
        lost_limit=5,
        is_idle=lambda _: idle,
        is_dead=lambda name: name in dead,
    )


def left(bench: Bench, owner: str = "first", *, outcome: str = "failed", **more: Any) -> OperationRow | None:
    given = {
        "states": (ENTERING, UNDER_WAY, LEAVING),
        "reason": f"it is {outcome}",
        "lease_seconds": LEASE,
        "is_idle": lambda _: False,
    }
    return bench.store.ledger.leave("o", owner=owner, outcome=outcome, **{**given, **more})


def entering(bench: Bench) -> OperationRow:
    """Let the first process hold an operation, with one plugin that is being called."""
    row = opened(bench)
    assert row
    bench.store.ledger.begin_pre_op(row, 0, "zero", lease_seconds=LEASE)
    return row


def under_way(bench: Bench) -> OperationRow:
    """Let an operation be under way, with two plugins that agreed; no process holds it."""
    row = entering(bench)
    ledger = bench.store.ledger
    ledger.end_pre_op(row, 0, None, seconds=0.5, lease_seconds=LEASE, then=(1, "one"))
    ledger.end_pre_op(row, 1, {"r": 1}, seconds=0.5, lease_seconds=LEASE)
    start(bench, row)
    return row


def leaving(bench: Bench) -> OperationRow:
    """Let the first process hold an operation whose plugins are called after it."""
    under_way(bench)
    row = left(bench)
    assert row
    return row


def start(bench: Bench, row: OperationRow) -> None:
    with bench.store.database.write() as connection:
        agreed = Agreed(operation_id=row.id, attempt=row.attempt)
        begin_operation(connection, bench.store.codec, agreed, stack_id="s-id", action="CREATE", now=1.0)


def everything(bench: Bench) -> list[list[Mapping[str, Any]]]:
    """Return all rows of the ledger."""
    with bench.store.database.read() as connection:
        return [
            [dict(row._mapping) for row in connection.execute(sa.select(table).order_by(*table.primary_key))]
            for table in (tables.operation, tables.operation_call)
        ]


def operation(bench: Bench) -> sa.Row[Any]:
    with bench.store.database.read() as connection:
        return connection.execute(sa.select(tables.operation).where(tables.operation.c.id == "o")).one()


def calls(bench: Bench) -> list[tuple[int, str, str]]:
    return [(each.position, each.plugin, each.state) for each in bench.store.ledger.calls("o")]


Write = Callable[[Ledger, OperationRow], None]

#: Each write of a holder, by the state of the operation in which it is written.
WRITES: dict[str, tuple[str, Write]] = {
    "begin_pre_op": (ENTERING, lambda to, row: to.begin_pre_op(row, 1, "one", lease_seconds=LEASE)),
    "begin_pre_op again": (ENTERING, lambda to, row: to.begin_pre_op(row, 0, "zero", lease_seconds=LEASE)),
    "end_pre_op": (ENTERING, lambda to, row: to.end_pre_op(row, 0, {}, seconds=1, lease_seconds=LEASE)),
    "end_pre_op, and another": (
        ENTERING,
        lambda to, row: to.end_pre_op(row, 0, {"r": 1}, seconds=1, lease_seconds=LEASE, then=(1, "one")),
    ),
    "refuse": (
        ENTERING,
        lambda to, row: to.refuse(row, 0, REFUSED, outcome="refused", reason="no", lease_seconds=LEASE),
    ),
    "begin_post_op": (LEAVING, lambda to, row: to.begin_post_op(row, 1, lease_seconds=LEASE)),
    "end_post_op": (
        LEAVING,
        lambda to, row: to.end_post_op(row, 1, "", seconds=1, then=None, lease_seconds=LEASE),
    ),
    "end_post_op, and another": (
        LEAVING,
        lambda to, row: to.end_post_op(row, 1, "late", seconds=1, then=0, lease_seconds=LEASE),
    ),
    "close": (LEAVING, lambda to, row: to.close(row)),
}


@pytest.mark.parametrize("write", WRITES)
def test_holder_that_was_taken_over_writes_nothing(bench: Bench, write: str) -> None:
    state, act = WRITES[write]
    old = entering(bench) if state == ENTERING else leaving(bench)
    bench.clock.pass_(LEASE + 1)
    new = opened(bench, "second") if state == ENTERING else left(bench, "second")
    assert new is not None
    assert new.attempt == old.attempt + 1
    refuses(bench, act, old)
    bench.clock.pass_(1)
    before = everything(bench)
    act(bench.store.ledger, new)
    assert everything(bench) != before


@pytest.mark.parametrize("write", WRITES)
def test_write_belongs_to_one_state_of_the_operation(bench: Bench, write: str) -> None:
    """The attempt alone is no fence: an operation under way keeps the attempt of its beginning."""
    state, act = WRITES[write]
    refuses(bench, act, under_way(bench))
    row = left(bench)
    assert row
    if state == LEAVING:
        bench.store.ledger.close(row)
    refuses(bench, act, row)


def refuses(bench: Bench, act: Write, row: OperationRow) -> None:
    before = everything(bench)
    with pytest.raises(TakenOver):
        act(bench.store.ledger, row)
    assert everything(bench) == before


@pytest.mark.parametrize("write", WRITES)
def test_every_write_but_the_last_extends_the_lease(bench: Bench, write: str) -> None:
    state, act = WRITES[write]
    row = entering(bench) if state == ENTERING else leaving(bench)
    bench.clock.pass_(LEASE - 1)
    act(bench.store.ledger, row)
    is_over = operation(bench).state == OVER
    assert is_over == (write in ("close", "end_post_op"))
    assert operation(bench).leased_until == (None if is_over else bench.clock.now + LEASE)


def test_operation_that_was_taken_over_is_not_begun_by_the_one_before(bench: Bench) -> None:
    old = entering(bench)
    bench.clock.pass_(LEASE + 1)
    new = opened(bench, "second")
    assert new
    with pytest.raises(TakenOver):
        start(bench, old)
    assert operation(bench).state == ENTERING
    start(bench, new)
    assert (operation(bench).state, operation(bench).leased_until) == (UNDER_WAY, None)


# -- who gets to hold one --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("owner", "more", "seconds", "gets_it"),
    [
        ("second", {}, LEASE - 1, False),
        ("second", {}, LEASE, True),
        ("second", {"idle": True}, LEASE - 1, False),
        ("second", {"dead": ("first",)}, 0, True),
        ("second", {"dead": ("second",)}, 0, False),
        ("first", {}, LEASE - 1, False),
        ("first", {"idle": True}, 0, True),
    ],
    ids=["held", "expired", "others-idle", "dead", "others-dead", "at-it", "idle"],
)
def test_operation_that_is_held_is_opened_only_where_its_holder_is_gone(
    bench: Bench, owner: str, more: Mapping[str, Any], seconds: float, gets_it: bool
) -> None:
    first = opened(bench)
    assert first is not None
    assert (first.attempt, first.state, first.shown) == (1, ENTERING, {"name": "s"})
    bench.clock.pass_(seconds)
    before = everything(bench)
    row = opened(bench, owner, operation_id="another", **more)
    if not gets_it:
        assert row is None
        assert everything(bench) == before
        return
    assert row is not None
    # A second id for the same cause is ignored.
    assert (row.id, row.attempt) == ("o", 2)
    assert (operation(bench).owner, operation(bench).leased_until) == (owner, bench.clock.now + LEASE)
    assert len(everything(bench)[0]) == 1


@pytest.mark.parametrize(
    ("owner", "more", "seconds", "gets_it"),
    [
        ("second", {}, LEASE - 1, False),
        ("second", {}, LEASE, True),
        ("second", {"is_idle": lambda _: True}, 0, False),
        ("second", {"is_dead": lambda name: name == "first"}, 0, True),
        ("first", {}, 0, False),
        ("first", {"is_idle": lambda _: True}, 0, True),
        ("first", {"attempt": 2}, 0, True),
    ],
    ids=["held", "expired", "others-idle", "dead", "at-it", "idle", "its-own"],
)
def test_operation_whose_plugins_are_called_after_it_is_taken_only_where_the_caller_is_gone(
    bench: Bench, owner: str, more: Mapping[str, Any], seconds: float, gets_it: bool
) -> None:
    first = leaving(bench)
    assert first.attempt == 2
    bench.clock.pass_(seconds)
    before = everything(bench)
    if not gets_it:
        with pytest.raises(TakenOver, match="another process calls post_op"):
            left(bench, owner, **more)
        assert everything(bench) == before
        return
    row = left(bench, owner, **more)
    assert row is not None
    assert row.attempt == 3
    assert (operation(bench).owner, operation(bench).leased_until) == (owner, bench.clock.now + LEASE)


def test_operation_is_left_once_under_the_attempt_that_is_named(bench: Bench) -> None:
    first = entering(bench)
    bench.clock.pass_(LEASE + 1)
    assert opened(bench, "second")
    before = everything(bench)
    bench.clock.pass_(LEASE + 1)
    assert left(bench, attempt=first.attempt) is None
    assert left(bench, states=(LEAVING, UNDER_WAY)) is None
    assert left(bench, states=()) is None
    assert everything(bench) == before


def test_first_outcome_of_an_operation_stays(bench: Bench) -> None:
    under_way(bench)
    for owner, outcome in (("first", "failed"), ("second", "complete"), ("third", "superseded")):
        row = left(bench, owner, outcome=outcome)
        assert row is not None
        assert (row.state, row.outcome, row.reason) == (LEAVING, "failed", "it is failed")
        bench.clock.pass_(LEASE + 1)
    assert row is not None
    bench.store.ledger.close(row)
    assert left(bench, outcome="complete") is None
    assert (operation(bench).state, operation(bench).outcome) == (OVER, "failed")


@pytest.mark.parametrize("state", [REFUSED, LATE])
def test_refusal_stays_when_another_process_calls_the_plugins_after_it(bench: Bench, state: str) -> None:
    row = entering(bench)
    bench.store.ledger.refuse(row, 0, state, outcome="refused", reason="no", lease_seconds=LEASE)
    assert calls(bench) == [(0, "zero", state)]
    bench.clock.pass_(LEASE + 1)
    again = left(bench, "second", outcome="complete")
    assert again is not None
    assert (again.outcome, again.reason, again.attempt) == ("refused", "no", 2)


@pytest.mark.parametrize("_round", range(3))
def test_of_processes_that_open_one_at_once_one_holds_it(bench: Bench, _round: int) -> None:
    def opener(number: int) -> Callable[[], OperationRow | None]:
        return lambda: opened(bench, f"w{number}", operation_id=f"o{number}")

    rows = [row for row in at_once(*(opener(number) for number in range(4))) if row is not None]
    assert len(rows) == 1
    ((only,), _) = everything(bench)
    assert (only["id"], only["owner"], only["attempt"]) == (rows[0].id, f"w{rows[0].id[1:]}", 1)


@pytest.mark.parametrize("_round", range(3))
def test_of_processes_that_take_a_lost_one_over_at_once_one_holds_it(bench: Bench, _round: int) -> None:
    leaving(bench)
    bench.clock.pass_(LEASE + 1)

    def taker(number: int) -> Callable[[], OperationRow | None]:
        def take() -> OperationRow | None:
            try:
                return left(bench, f"w{number}")
            except TakenOver:
                return None

        return take

    rows = [row for row in at_once(*(taker(number) for number in range(4))) if row is not None]
    assert [row.attempt for row in rows] == [3]


# -- calls -----------------------------------------------------------------------------------------------------


def test_calls_are_recorded_in_their_order_before_and_after_they_are_made(bench: Bench) -> None:
    ledger = bench.store.ledger
    row = entering(bench)
    assert calls(bench) == [(0, "zero", ASKING)]
    ledger.end_pre_op(row, 0, {"r": {"x": 1}}, seconds=0.5, lease_seconds=LEASE, then=(1, "one"))
    assert calls(bench) == [(0, "zero", AGREED), (1, "one", ASKING)]
    ledger.end_pre_op(row, 1, None, seconds=0.25, lease_seconds=LEASE)
    start(bench, row)
    after = left(bench, outcome="complete")
    assert after is not None
    assert [(each.annotations, each.asked_seconds) for each in after.calls] == [
        ({"r": {"x": 1}}, 0.5),
        (None, 0.25),
    ]
    ledger.begin_post_op(after, 1, lease_seconds=LEASE)
    assert calls(bench) == [(0, "zero", AGREED), (1, "one", TELLING)]
    ledger.end_post_op(after, 1, "it broke", seconds=2, then=0, lease_seconds=LEASE)
    assert calls(bench) == [(0, "zero", TELLING), (1, "one", TOLD)]
    assert operation(bench).state == LEAVING
    ledger.end_post_op(after, 0, "", seconds=None, then=None, lease_seconds=LEASE)
    assert [(each.error, each.told_seconds) for each in ledger.calls("o")] == [("", None), ("it broke", 2)]
    now = operation(bench)
    assert (now.state, now.leased_until, now.shown, now.ended_at) == (OVER, None, None, bench.clock.now)


# -- lost ones -------------------------------------------------------------------------------------------------


def lost(bench: Bench) -> tuple[str, ...]:
    with bench.store.database.read() as connection:
        return bench.store.ledger.lost(connection)


def test_operation_that_has_not_begun_is_lost_after_its_job_would_have_come_again(bench: Bench) -> None:
    entering(bench)
    bench.clock.pass_(LEASE + bench.store.timings.job_seconds - 1)
    assert lost(bench) == ()
    bench.clock.pass_(1)
    assert lost(bench) == ("o",)


def test_operation_under_way_is_held_by_none_and_never_lost(bench: Bench) -> None:
    under_way(bench)
    bench.clock.pass_(1e6)
    assert lost(bench) == ()


def test_operation_whose_plugins_are_called_after_it_is_lost_with_its_lease(bench: Bench) -> None:
    row = leaving(bench)
    bench.clock.pass_(LEASE - 1)
    assert lost(bench) == ()
    bench.clock.pass_(1)
    assert lost(bench) == ("o",)
    bench.store.ledger.put_off("o", seconds=30)
    assert lost(bench) == ()
    bench.clock.pass_(30)
    assert lost(bench) == ("o",)
    bench.store.ledger.close(row)
    assert lost(bench) == ()


def test_operation_that_is_held_is_not_put_off(bench: Bench) -> None:
    leaving(bench)
    before = everything(bench)
    bench.store.ledger.put_off("o", seconds=3600)
    assert everything(bench) == before


def test_oldest_lost_operations_come_first_and_only_so_many(bench: Bench) -> None:
    for number in range(BATCH + 2):
        assert opened(bench, operation_id=f"o{number:02}", cause=f"job-{number}")
        bench.clock.pass_(1)
    bench.clock.pass_(1000)
    assert lost(bench) == tuple(f"o{number:02}" for number in range(BATCH))


def test_operations_of_dead_processes_are_lost_at_once_and_of_no_others(bench: Bench) -> None:
    assert opened(bench, "dead", operation_id="o1", cause="1")
    assert opened(bench, "alive", operation_id="o2", cause="2")
    before = {row["id"]: row["leased_until"] for row in everything(bench)[0]}
    bench.store.ledger.take_over(lambda name: name == "dead")
    after = {row["id"]: row["leased_until"] for row in everything(bench)[0]}
    assert after == {**before, "o1": 0.0}
    assert lost(bench) == ("o1",)
