"""What every store promises about observations and drift."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from orchestrator.model.drift import Finding, Standing
from orchestrator.model.observation_policy import ObservationPolicy
from orchestrator.model.purge import Purge
from orchestrator.store import tables
from orchestrator.store.stacks.drifts import DriftedResource, Observed, Overtaken
from orchestrator.store.stacks.observation_turns import LEASE_SECONDS, ObservationTurn, TurnEnd
from tests.unit.orchestrator.store.conftest import Bench

#: That of the bench's stacks.
PROJECT = "p"
DETECT = ObservationPolicy(mode="detect")


@pytest.fixture
def stack(bench: Bench) -> str:
    bench.run_all(bench.begin({"a": set(), "b": set()}))
    return "s-id"


def turn_of(bench: Bench, stack: str = "s-id") -> ObservationTurn:
    turn = bench.store.observation_turns.read(stack)
    assert turn is not None
    return turn


def begun(bench: Bench, stack: str = "s-id") -> ObservationTurn:
    bench.store.observation_turns.begin(stack)
    return turn_of(bench, stack)


def drifted(
    bench: Bench, name: str, *findings: Finding, standing: Standing = Standing.REPORTED, why: str = ""
) -> DriftedResource:
    row = bench.store.stacks.resource("s-id", name)
    return DriftedResource(
        row=row, path=name, findings=findings, standing=standing, why=why, words=f"{name} differs"
    )


def observed(
    bench: Bench, *found: DriftedResource, sound: Sequence[str] = (), repairs: Sequence[str] = ()
) -> Observed:
    return Observed(
        stacks=bench.store.families.in_tree("s-id"),
        drifted=found,
        sound=sound,
        present=("s-a", "s-b"),
        repairs=[(path, bench.clock.now) for path in repairs],
    )


def record(bench: Bench, what: Observed, *, due_at: float | None = None) -> bool:
    return bench.store.drifts.record(TurnEnd(turn=begun(bench), due_at=due_at), what)


SIZE = Finding(key="size", recorded=1, observed=[2, None])
GONE = Finding(key="")


def test_drift_is_recorded_counted_and_resolved(bench: Bench, stack: str) -> None:
    record(bench, observed(bench, drifted(bench, "a", SIZE), drifted(bench, "b", GONE)))
    bench.clock.pass_(60)
    record(bench, observed(bench, drifted(bench, "a", SIZE, replace(SIZE, key="tags")), sound=["s-b"]))
    rows = bench.store.drifts.of_tree(stack)
    assert [(row.path, row.finding, row.times, row.seen_at - row.since) for row in rows] == [
        ("a", SIZE, 2, 60),
        ("a", replace(SIZE, key="tags"), 1, 0),
    ]
    assert bench.store.drifts.of_resource("s-b") == []
    assert bench.store.drifts.drifted(["s-id", "other"]) == {"s-id"}
    found = [each for each in bench.store.events.read(stack, limit=100) if each.action == "DRIFT"]
    assert [(each.resource, each.status) for each in found] == [
        ("a", "DETECTED"),
        ("b", "DETECTED"),
        ("a", "DETECTED"),
        ("b", "RESOLVED"),
    ]
    # A row that is no resource any more.
    record(bench, replace(observed(bench), present=("s-b",)))
    assert bench.store.drifts.of_tree(stack) == []


def test_the_end_of_an_older_attempt_records_nothing(bench: Bench, stack: str) -> None:
    old = begun(bench)
    begun(bench)
    assert not bench.store.drifts.record(
        TurnEnd(turn=old, due_at=None), observed(bench, drifted(bench, "a", GONE))
    )
    assert not bench.store.observation_turns.end(TurnEnd(turn=old, due_at=None))
    assert bench.store.drifts.of_tree(stack) == []
    assert turn_of(bench).is_begun


def test_an_operation_in_between_overtakes(bench: Bench, stack: str) -> None:
    what = observed(bench, drifted(bench, "a", GONE))
    turn = begun(bench)
    bench.store.database.change(
        tables.stack.update().where(tables.stack.c.id == stack).values(traversal_id="another")
    )
    with pytest.raises(Overtaken):
        bench.store.drifts.record(TurnEnd(turn=turn, due_at=None), what)
    assert bench.store.drifts.of_tree(stack) == []
    assert turn_of(bench).is_begun


def test_due_observations_are_begun_once_and_again_when_they_are_lost(bench: Bench, stack: str) -> None:
    turns = bench.store.observation_turns
    turns.set_policy(stack, DETECT, due_at=bench.clock.now)
    assert turns.is_due()
    with ThreadPoolExecutor(4) as pool:
        taken = [each for some in pool.map(lambda _: turns.begin_due(10), range(4)) for each in some]
    assert taken == [("s-id", 1)]
    assert not turns.is_due()
    bench.clock.pass_(LEASE_SECONDS + 1)
    assert turns.begin_due(10) == [("s-id", 2)]
    assert turns.end(TurnEnd(turn=turn_of(bench), due_at=bench.clock.now + 900, trouble="no answer"))
    turn = turn_of(bench)
    assert (turn.due_at, turn.trouble, turn.observed_at, turn.is_begun) == (
        bench.clock.now + 900,
        "no answer",
        bench.clock.now,
        False,
    )
    assert turns.begin_due(10) == []


def test_a_stack_under_way_stays_due_and_a_deleted_one_does_not(bench: Bench) -> None:
    turns = bench.store.observation_turns
    orders = bench.begin({"a": set()})
    turns.set_policy("s-id", DETECT, due_at=bench.clock.now)
    assert turns.begin_due(10) == []
    bench.run_all(orders)
    table = tables.stack
    bench.store.database.change(table.update().where(table.c.id == "s-id").values(deleted_at=5.0))
    assert turns.begin_due(10) == []
    assert turn_of(bench).due_at is None


def test_a_policy_that_changes_meanwhile_keeps_its_own_time(bench: Bench, stack: str) -> None:
    turn = begun(bench)
    bench.store.observation_turns.set_policy(stack, DETECT, due_at=5.0)
    assert bench.store.observation_turns.end(TurnEnd(turn=turn, due_at=None))
    assert turn_of(bench).due_at == 5.0
    assert turn_of(bench).policy == DETECT


def test_a_repair_is_due_once(bench: Bench, stack: str) -> None:
    repaired = drifted(bench, "a", GONE, standing=Standing.REPAIRING)
    record(bench, observed(bench, repaired, repairs=["a"]), due_at=bench.clock.now + 900)
    turns = bench.store.observation_turns
    assert bench.store.drifts.under_repair(stack) == {"s-a"}
    assert turn_of(bench).repairs == (("a", bench.clock.now),)
    assert turns.due_repairs(9) == [("s-id", "s-t1")]
    turns.end_repair("s-id", "other", due_at=None)
    assert turns.due_repairs(9) == [("s-id", "s-t1")]
    turns.end_repair("s-id", "s-t1", due_at=bench.clock.now + 30)
    assert turns.due_repairs(9) == []
    assert turn_of(bench).due_at == bench.clock.now + 30


def test_a_purge_takes_the_drift_of_a_deleted_stack(bench: Bench, stack: str) -> None:
    record(bench, observed(bench, drifted(bench, "a", GONE)))
    table = tables.stack
    deleted = {"deleted_at": bench.clock.now, "action": "DELETE", "status": "COMPLETE"}
    bench.store.database.change(table.update().where(table.c.id == stack).values(**deleted))
    bench.clock.pass_(1e7)
    purge = Purge(older_than_seconds=1.0, max_events_per_stack=0, logs_older_than_seconds=1.0)
    assert list(bench.store.purger.purge(purge))
    assert bench.store.stacks.by_id(stack) is None
    assert bench.store.drifts.of_tree(stack) == []
    assert bench.store.observation_turns.read(stack) is None


def test_stacks_with_drift_need_a_person(bench: Bench, stack: str) -> None:
    found = (
        drifted(bench, "a", SIZE, replace(SIZE, key="tags")),
        drifted(bench, "b", GONE, standing=Standing.LEFT_ALONE),
    )
    record(bench, observed(bench, *found))
    rows = bench.store.attention.read(project="p", quiet_seconds=300, limit=9)
    assert [(row.name, row.resources, row.left_alone) for row in rows.drifted] == [("s", 2, 1)]
    assert rows.drifted_total == 1
    assert bench.store.attention.read(project="other", quiet_seconds=300, limit=9).drifted == ()
    bench.store.observation_turns.set_policy(stack, DETECT, due_at=bench.clock.now - 7)
    count = bench.store.census.take()
    assert (count.drifted, count.observation_delay_seconds) == ({"reported": 1, "left alone": 1}, 7)


def test_a_round_waits_for_what_is_due_begun_or_under_repair(bench: Bench, stack: str) -> None:
    turns = bench.store.observation_turns
    assert turns.pending(PROJECT) == []
    turns.set_policy(stack, DETECT, due_at=bench.clock.now)
    (due,) = turns.pending(PROJECT)
    assert (due.name, due.due_at, due.is_begun, due.is_busy) == ("s", bench.clock.now, False, False)
    assert turns.pending("other") == []
    finding = Finding(key="size", recorded="s", observed="l")
    repairing = drifted(bench, "a", finding, standing=Standing.REPAIRING)
    assert record(bench, observed(bench, repairing, repairs=["a"]))
    (under_repair,) = turns.pending(PROJECT)
    assert (under_repair.repair_is_due, under_repair.under_repair) == (True, 1)


def test_an_observation_on_demand_is_not_repeated(bench: Bench, stack: str) -> None:
    turn = begun(bench)
    assert turn.due_at == bench.clock.now + LEASE_SECONDS
    assert bench.store.observation_turns.end(TurnEnd(turn=turn, due_at=None))
    assert turn_of(bench).due_at is None


def test_what_a_lost_process_has_begun_is_due_again_and_nothing_else(bench: Bench, stack: str) -> None:
    turn = begun(bench)
    turns = bench.store.observation_turns
    (pending,) = turns.pending(PROJECT)
    assert pending.is_begun
    turns.begin_again([stack])
    assert turn_of(bench).due_at == bench.clock.now
    turns.end(TurnEnd(turn=turn, due_at=bench.clock.now + 900))
    turns.begin_again([stack])
    assert turn_of(bench).due_at == bench.clock.now + 900
