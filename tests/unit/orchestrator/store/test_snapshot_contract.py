"""What every store promises to snapshots."""

from typing import Any

import pytest

from orchestrator.errors import Conflict, NotFound
from orchestrator.model.actions import SNAPSHOT
from orchestrator.model.messages import END, CheckOrder
from orchestrator.model.plan import plan_delete, plan_operate
from orchestrator.model.purge import Purge
from orchestrator.store.nodes.claims import Ending, Outcome
from orchestrator.store.stacks.snapshots import NewSnapshot, SnapshotRow
from orchestrator.store.traversals.new_traversal import NewTraversal
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.test_operate_contract import stack_state
from tests.unit.orchestrator.store.updating import begin_update, created, order_of, rows_of


def begin(bench: Bench, *, number: int = 2, name: str = "first", most: int = 5) -> tuple[CheckOrder, ...]:
    """Begin to take a snapshot; return the first orders."""
    new = NewTraversal(
        id=f"s-t{number}",
        stack_id="s-id",
        stack="s",
        project="p",
        template_id="the definition",
        timeout_minutes=60,
        plan=plan_operate(rows_of(bench), action=SNAPSHOT),
        context={},
        new_types={},
        known=[row.id for row in rows_of(bench)],
        snapshot=NewSnapshot(id=f"snapshot-{number}", name=name, most=most),
    )
    assert bench.store.traversal_starts.begin_next(new, expected=f"s-t{number - 1}")
    return tuple(order_of(bench, node.no, number=number) for node in new.plan.ready)


def finish(
    bench: Bench, order: CheckOrder, entry: Any, ending: Ending = Ending.DONE
) -> tuple[CheckOrder, ...]:
    """End a step that leaves this behind."""
    claim = bench.claim(order)
    outcome = Outcome(
        ending=ending,
        seconds=1,
        reason="no luck" if ending is Ending.FAILED else "",
        token=entry,
        entry=entry,
    )
    return bench.store.nodes.finish(claim, outcome).ready


def take(bench: Bench, *, number: int = 2, name: str = "first") -> None:
    """Take a snapshot to its end."""
    for order in begin(bench, number=number, name=name):
        for ready in finish(bench, order, {"of": order.key}):
            if ready.phase == END:
                bench.store.traversals.complete(ready.traversal_id)


def only(bench: Bench) -> SnapshotRow:
    (row,) = bench.store.snapshots.all("s-id")
    return row


def entries(bench: Bench) -> dict[str, Any]:
    return {each.name: each.entry for each in bench.store.snapshots.entries(only(bench))}


def test_a_snapshot_is_complete_with_its_traversal_and_keeps_what_was_left_behind(bench: Bench) -> None:
    created(bench, {"a": set(), "b": set(), "c": set()})
    orders = begin(bench)
    row = only(bench)
    assert (row.action, row.status, row.name, row.template_id) == (
        "CREATE",
        "IN_PROGRESS",
        "first",
        "the definition",
    )
    left = {"a": {"secret": 1}, "b": None, "c": [b"bytes"]}
    ready = [each for order in orders for each in finish(bench, order, left[order.key])]
    assert only(bench).status == "IN_PROGRESS"
    assert bench.store.traversals.complete(ready[0].traversal_id)
    assert stack_state(bench)[:2] == ("SNAPSHOT", "COMPLETE")
    assert only(bench).status == "COMPLETE"
    assert entries(bench) == {"a": {"secret": 1}, "c": [b"bytes"]}
    assert {each.type for each in bench.store.snapshots.entries(only(bench))} == {"Test"}


def test_a_snapshot_fails_with_its_traversal_and_what_there_is_of_it_is_known(bench: Bench) -> None:
    created(bench, {"a": set(), "b": set(), "c": set()})
    a, b, c = begin(bench)
    finish(bench, a, {"of": "a"})
    finish(bench, b, {"of": "b"}, Ending.WAITING)
    finish(bench, c, None, Ending.FAILED)
    row = only(bench)
    assert (row.action, row.status) == ("CREATE", "FAILED")
    assert "no luck" in row.reason
    assert entries(bench) == {"a": {"of": "a"}, "b": {"of": "b"}}


def test_what_a_step_leaves_behind_after_the_snapshot_failed_is_known_too(bench: Bench) -> None:
    created(bench, {"a": set(), "b": set()})
    a, b = begin(bench)
    running = bench.claim(a)
    finish(bench, b, {"of": "b"})
    bench.store.traversals.cancel("s-t2", reason="enough", job_id="1")
    assert entries(bench) == {"b": {"of": "b"}}
    bench.store.nodes.finish(running, Outcome(ending=Ending.DONE, entry={"of": "a"}))
    assert entries(bench) == {"a": {"of": "a"}, "b": {"of": "b"}}


@pytest.mark.parametrize("fails", [True, False])
def test_a_purge_leaves_what_a_snapshot_holds(bench: Bench, *, fails: bool) -> None:
    created(bench, {"a": set(), "b": set()})
    orders = begin(bench)
    ready = [each for order in orders for each in finish(bench, order, {"of": order.key})]
    if fails:
        begin_update(bench, {"a": set()}, number=3)
    else:
        bench.store.traversals.complete(ready[0].traversal_id)
        begin_update(bench, {"a": set()}, number=3)
    bench.clock.pass_(1e9)
    for _ in bench.store.purger.purge(Purge(older_than_seconds=1, max_events_per_stack=1)):
        continue
    assert entries(bench) == {"a": {"of": "a"}, "b": {"of": "b"}}


def test_a_snapshot_that_is_superseded_or_cancelled_fails(bench: Bench) -> None:
    created(bench, {"a": set()})
    begin(bench)
    begin_update(bench, {"a": set()}, number=3)
    assert only(bench).status == "FAILED"
    assert "UPDATE" in only(bench).reason


def test_a_cancelled_snapshot_fails(bench: Bench) -> None:
    created(bench, {"a": set()})
    begin(bench)
    bench.store.traversals.cancel("s-t2", reason="enough", job_id="1")
    assert (only(bench).status, only(bench).reason) == ("FAILED", "enough")


def test_a_snapshot_that_is_complete_stays_so(bench: Bench) -> None:
    created(bench, {"a": set()})
    take(bench)
    begin_update(bench, {"a": set()}, number=3)
    assert only(bench).status == "COMPLETE"
    assert entries(bench) == {"a": {"of": "a"}}


def test_one_too_many_and_one_of_a_name_that_is_taken_begin_nothing(bench: Bench) -> None:
    created(bench, {"a": set()})
    take(bench)
    with pytest.raises(Conflict, match="'first' already"):
        begin(bench, number=3)
    with pytest.raises(Conflict, match="may have 1"):
        begin(bench, number=3, name="second", most=1)
    assert bench.store.stacks.find("s", project="p").traversal_id == "s-t2"
    take(bench, number=3, name="")
    take(bench, number=4, name="")
    assert len(bench.store.snapshots.all("s-id")) == 3


def test_a_snapshot_is_found_by_name_and_id(bench: Bench) -> None:
    created(bench, {"a": set()})
    take(bench)
    find = bench.store.snapshots.find
    assert find("s-id", "first") == find("s-id", "snapshot-2") == only(bench)
    with pytest.raises(NotFound, match="'first'"):
        find("s-id", "frist")
    with pytest.raises(NotFound):
        find("other", "first")


def test_a_snapshot_is_marked_before_it_is_deleted_and_then_gone(bench: Bench) -> None:
    created(bench, {"a": set()})
    take(bench)
    row = only(bench)
    bench.store.snapshots.begin_delete(row, job_id="1")
    bench.store.snapshots.begin_delete(row, job_id="1")
    assert (only(bench).action, only(bench).status) == ("DELETE", "IN_PROGRESS")
    job = bench.store.stacks.job("1")
    assert job is not None
    assert (job.status, job.stack_id) == ("accepted", "s-id")
    bench.store.snapshots.fail_delete(row.id, "stuck")
    assert (only(bench).action, only(bench).status, only(bench).reason) == ("DELETE", "FAILED", "stuck")
    assert entries(bench) == {"a": {"of": "a"}}
    bench.store.snapshots.begin_delete(row, job_id="2")
    bench.store.snapshots.forget(row.id)
    bench.store.snapshots.forget(row.id)
    bench.store.snapshots.begin_delete(row, job_id="3")
    assert bench.store.snapshots.all("s-id") == []


def test_a_snapshot_that_is_being_made_is_not_deleted(bench: Bench) -> None:
    created(bench, {"a": set()})
    begin(bench)
    with pytest.raises(Conflict, match="being made"):
        bench.store.snapshots.begin_delete(only(bench), job_id="1")
    assert bench.store.stacks.job("1") is None


def test_a_node_goes_on_with_the_action_that_is_to_follow(bench: Bench) -> None:
    created(bench, {"a": set()})
    (order,) = begin_update(bench, {"a": set()})
    claim = bench.claim(order)
    assert (claim.action, claim.planned) == ("UPDATE", "UPDATE")
    (again,) = bench.store.nodes.finish(claim, Outcome(ending=Ending.NEXT, then="RESTORE")).ready
    claim = bench.claim(again)
    assert (again.action, claim.action, claim.planned) == ("RESTORE", "RESTORE", "RESTORE")


@pytest.mark.parametrize("ending", [Ending.WAITING, Ending.FAILED, None])
def test_what_is_being_restored_gets_there_before_another_definition_is_applied(
    bench: Bench, ending: Ending | None
) -> None:
    created(bench, {"a": set()})
    (order,) = begin_update(bench, {"a": set()})
    (order,) = bench.store.nodes.finish(bench.claim(order), Outcome(ending=Ending.NEXT, then="RESTORE")).ready
    if ending is not None:
        finish(bench, order, "token", ending)
    (update,) = begin_update(bench, {"a": set()}, number=3)
    claim = bench.claim(update)
    assert claim.planned == "UPDATE"
    assert (claim.action, claim.token) == (
        ("RESTORE", "token") if ending is Ending.WAITING else ("UPDATE", None)
    )


def test_the_deletion_of_a_stack_fails_what_was_being_made(bench: Bench) -> None:
    created(bench, {"a": set()})
    begin(bench)
    new = NewTraversal(
        id="s-t3",
        stack_id="s-id",
        stack="s",
        project="p",
        template_id="none",
        timeout_minutes=60,
        plan=plan_delete(rows_of(bench)),
        context={},
        new_types={},
        known=[row.id for row in rows_of(bench)],
    )
    assert bench.store.traversal_starts.begin_next(new, expected="s-t2")
    assert only(bench).status == "FAILED"
