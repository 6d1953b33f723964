"""What every store promises of hooks: where nodes stand, what holds them there, and what lets them on."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator.model.messages import END, JOIN, CheckOrder
from orchestrator.model.plan import FAN_IN
from orchestrator.store import tables
from orchestrator.store.nodes.breakpoints import StandingNode
from orchestrator.store.nodes.claims import Claim, Ending, Finished, Outcome
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import begin_delete, begin_update

DATA = ["s-a", "a", "CREATE", "COMPLETE", "p", "r", []]


def finish(bench: Bench, claim: Claim, ending: Ending = Ending.PAUSED, hook: str = "pre-create") -> Finished:
    """Finish a step that ended at a hook."""
    data = DATA if ending is Ending.DONE else None
    return bench.store.nodes.finish(
        claim,
        Outcome(ending=ending, hook=hook, physical_id="p" if data else None, properties={}, node_data=data),
    )


def standing(bench: Bench) -> list[StandingNode]:
    return bench.store.breakpoints.standing("s-id")


def the_one(bench: Bench) -> StandingNode:
    (only,) = standing(bench)
    return only


def cleared(bench: Bench) -> tuple[CheckOrder, ...]:
    """Let the one on that stands."""
    orders = bench.store.breakpoints.clear(the_one(bench))
    assert orders is not None
    return orders


def node(bench: Bench, key: str = "a", traversal: str = "s-t1") -> Any:
    columns = tables.node.c
    mine = (columns.key == key) & (columns.traversal_id == traversal)
    with bench.store.database.read() as connection:
        # The cleanup comes later.
        return connection.execute(tables.node.select().where(mine).order_by(columns.no)).first()


def row(bench: Bench, resource_id: str = "s-a") -> Any:
    with bench.store.database.read() as connection:
        return connection.execute(tables.resource.select().where(tables.resource.c.id == resource_id)).one()


def reasons(bench: Bench) -> list[tuple[str, str, str]]:
    events = bench.store.events.read("s-id", after=0, limit=100)
    return [(each.action, each.status, each.reason) for each in events if each.resource == "a"]


def paused(bench: Bench, *, minutes: float = 60) -> Claim:
    """Let a stand before its creation, and b behind it."""
    (order,) = bench.begin({"a": set(), "b": {"a"}}, hooks={"a": ["pre-create"]}, minutes=minutes)
    claim = bench.claim(order)
    assert finish(bench, claim).accepted
    return claim


def held(bench: Bench, *, minutes: float = 60) -> Claim:
    """Let a stand after its creation, and b behind it."""
    (order,) = bench.begin({"a": set(), "b": {"a"}}, hooks={"a": ["post-create"]}, minutes=minutes)
    claim = bench.claim(order)
    assert finish(bench, claim, Ending.DONE, "post-create") == Finished(accepted=True)
    return claim


# -- before the action ------------------------------------------------------------------------------------------------


def test_a_claim_before_a_pre_hook_only_looks(bench: Bench) -> None:
    (order,) = bench.begin({"a": set()}, hooks={"a": ["pre-create", "post-delete"]})
    before = row(bench)
    claim = bench.claim(order)
    assert claim.looks
    assert claim.action == "CREATE"
    assert claim.hooks == {"pre-create", "post-delete"}
    assert not claim.started
    after = row(bench)
    assert (after.action, after.status, after.started_at) == ("INIT", "COMPLETE", before.started_at)
    assert after.lock_traversal == "s-t1"
    assert reasons(bench) == []


@pytest.mark.parametrize("kind", ["post-create", "pre-update", "pre-delete"])
def test_a_claim_before_any_other_hook_begins(bench: Bench, kind: str) -> None:
    (order,) = bench.begin({"a": set()}, hooks={"a": [kind]})
    claim = bench.claim(order)
    assert not claim.looks
    assert claim.hooks == {kind}
    assert row(bench).action == "CREATE"


def test_a_paused_node_holds_nothing_and_is_never_due(bench: Bench) -> None:
    paused(bench)
    now = node(bench)
    assert (now.state, now.hook, now.due_at, now.worker) == ("waiting", "pre-create", None, "w")
    after = row(bench)
    assert (after.action, after.status, after.lock_traversal) == ("INIT", "COMPLETE", None)
    assert reasons(bench) == [("HOOK", "IN_PROGRESS", "CREATE paused until Hook pre-create is cleared")]
    bench.clock.pass_(3000)
    assert bench.sweep() == ()
    assert bench.store.nodes.wake_resource("s-a") == ()
    found = the_one(bench)
    assert (found.path, found.resource_id, found.hook) == ("a", "s-a", "pre-create")
    assert found.since == 1_000_000.0


def test_a_wake_up_during_the_look_does_not_make_a_paused_node_due(bench: Bench) -> None:
    (order,) = bench.begin({"a": set()}, hooks={"a": ["pre-create"]})
    claim = bench.claim(order)
    bench.store.nodes.wake_resource("s-a")
    finish(bench, claim)
    assert node(bench).due_at is None


def test_what_is_let_on_begins(bench: Bench) -> None:
    paused(bench)
    bench.clock.pass_(5)
    (order,) = cleared(bench)
    assert (order.key, order.phase, order.action) == ("a", "converge", "CREATE")
    assert standing(bench) == []
    claim = bench.claim(order)
    assert not claim.looks
    assert claim.hooks == frozenset()
    assert claim.was == ("INIT", "COMPLETE")
    assert [order.key for order in bench.finish(claim).ready] == ["b"]
    assert [each[2] for each in reasons(bench)] == [
        "CREATE paused until Hook pre-create is cleared",
        "Hook pre-create is cleared",
        "",
        "",
    ]


def test_what_is_let_on_is_swept_if_nobody_publishes_it(bench: Bench) -> None:
    paused(bench)
    cleared(bench)
    assert bench.sweep() == ()
    bench.clock.pass_(11)
    assert [order.key for order in bench.sweep()] == ["a"]


def test_what_is_let_on_at_once_is_swept_at_once(bench: Bench) -> None:
    paused(bench)
    bench.store.breakpoints.clear(the_one(bench), at_once=True)
    assert [order.key for order in bench.sweep()] == ["a"]


def test_whoever_dies_while_looking_leaves_no_trace(bench: Bench) -> None:
    (order,) = bench.begin({"a": set()}, hooks={"a": ["pre-create"]})
    lost = bench.claim(order)
    bench.clock.pass_(61)
    (again,) = bench.sweep()
    claim = bench.claim(again)
    assert claim.looks
    assert claim.was == ("INIT", "COMPLETE")
    assert not finish(bench, lost).accepted
    assert finish(bench, claim).accepted
    assert not finish(bench, claim).accepted
    assert not finish(bench, lost).accepted
    assert len(reasons(bench)) == 1
    (order,) = cleared(bench)
    bench.claim(order)
    assert not finish(bench, claim).accepted


def test_a_try_again_while_looking_begins_nothing(bench: Bench) -> None:
    (order,) = bench.begin({"a": set()}, hooks={"a": ["pre-create"]})
    bench.finish(bench.claim(order), Ending.RETRY)
    assert (row(bench).action, row(bench).status) == ("INIT", "COMPLETE")
    (again,) = bench.sweep()
    assert bench.claim(again).looks


def test_what_another_operation_began_is_carried_on_without_a_stop(bench: Bench) -> None:
    (order,) = bench.begin({"a": set()})
    first = bench.claim(order)
    bench.finish(first, Ending.WAITING, seconds=5)
    begin_update(bench, {"a": set()})
    with bench.store.database.write() as connection:
        connection.execute(sa.text('UPDATE node SET hooks = \'["pre-create", "pre-update"]\''))
    claim = bench.claim(
        CheckOrder(stack_id="s-id", traversal_id="s-t2", no=node(bench, "a", "s-t2").no, key="a")
    )
    assert claim.action == "CREATE"
    assert claim.started
    assert not claim.looks
    assert claim.token == "token"


def test_what_a_failed_action_left_behind_is_not_for_who_looks(bench: Bench) -> None:
    (order,) = bench.begin({"a": set()}, minutes=1)
    bench.finish(bench.claim(order), Ending.WAITING, seconds=500)
    bench.clock.pass_(61)
    bench.sweep()
    assert row(bench).status == "FAILED"
    begin_update(bench, {"a": set()})
    with bench.store.database.write() as connection:
        connection.execute(sa.text("UPDATE node SET hooks = '[\"pre-update\"]'"))
    claim = bench.claim(
        CheckOrder(stack_id="s-id", traversal_id="s-t2", no=node(bench, "a", "s-t2").no, key="a")
    )
    assert claim.looks
    assert claim.token is None
    assert not claim.started
    assert claim.was == ("CREATE", "FAILED")
    assert row(bench).status == "FAILED"


# -- after the action -------------------------------------------------------------------------------------------------


def test_dependents_of_what_stands_after_its_action_are_not_counted_down(bench: Bench) -> None:
    held(bench)
    assert (row(bench).action, row(bench).status, row(bench).physical_id) == ("CREATE", "COMPLETE", "p")
    now = node(bench)
    assert (now.state, now.hook, now.due_at) == ("done", "post-create", None)
    assert (node(bench, "b").state, node(bench, "b").remaining) == ("blocked", 1)
    assert reasons(bench)[-2:] == [
        ("CREATE", "COMPLETE", ""),
        ("HOOK", "IN_PROGRESS", "CREATE paused until Hook post-create is cleared"),
    ]
    bench.clock.pass_(3000)
    assert bench.sweep() == ()


def test_letting_on_counts_the_dependents_down(bench: Bench) -> None:
    held(bench)
    (order,) = cleared(bench)
    assert order.key == "b"
    assert order.node_data is not None
    place = tables.place_of_node_data(node(bench).no, order.traversal_id)
    assert [bench.store.codec.unpack(data, place) for data in order.node_data] == [DATA]
    assert node(bench, "b").changed
    assert standing(bench) == []
    (end,) = bench.finish(bench.claim(order)).ready
    assert end.phase == END


def test_the_last_can_be_let_on_to_the_end(bench: Bench) -> None:
    (order,) = bench.begin({"a": set()}, hooks={"a": ["post-create"]})
    finish(bench, bench.claim(order), Ending.DONE, "post-create")
    assert not bench.store.traversals.complete("s-t1")
    (end,) = cleared(bench)
    assert end.phase == END
    assert bench.store.traversals.complete("s-t1")


def test_letting_on_counts_joins_down(bench: Bench) -> None:
    names = {f"r{number}" for number in range(FAN_IN + 1)}
    orders = bench.begin({name: set() for name in names}, hooks={"r0": ["post-create"]})
    for order in orders:
        claim = bench.claim(order)
        if order.key == "r0":
            finish(bench, claim, Ending.DONE, "post-create")
        else:
            for ready in bench.finish(claim).ready:
                bench.store.nodes.release_join(ready)
    (join,) = cleared(bench)
    assert join.phase == JOIN
    assert [order.phase for order in bench.store.nodes.release_join(join).ready] == [END]


def test_what_is_over_but_for_another_action_can_stand_too(bench: Bench) -> None:
    (order,) = bench.begin({"a": set()}, hooks={"a": ["post-create", "pre-update"]})
    assert finish(bench, bench.claim(order), Ending.NEXT, "post-create").ready == ()
    assert (node(bench).state, row(bench).action, row(bench).status) == ("waiting", "CREATE", "COMPLETE")
    (order,) = cleared(bench)
    claim = bench.claim(order)
    assert claim.looks
    assert claim.hooks == {"pre-update"}


# -- once, and only while it counts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("stand", [paused, held])
def test_clearing_twice_changes_nothing(bench: Bench, stand: Callable[[Bench], Claim]) -> None:
    stand(bench)
    found = the_one(bench)
    assert bench.store.breakpoints.clear(found)
    said = reasons(bench)
    assert bench.store.breakpoints.clear(found) is None
    assert reasons(bench) == said
    assert node(bench, "b").remaining == (1 if stand is paused else 0)


@pytest.mark.parametrize("stand", [paused, held])
def test_of_many_who_clear_at_once_one_does(bench: Bench, stand: Callable[[Bench], Claim]) -> None:
    stand(bench)
    found = the_one(bench)
    start = threading.Barrier(6)
    results: list[tuple[CheckOrder, ...] | None] = []

    def clear() -> None:
        start.wait()
        results.append(bench.store.breakpoints.clear(found))

    threads = [threading.Thread(target=clear) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([each for each in results if each]) == 1
    assert results.count(None) == 5


@pytest.mark.parametrize("stand", [paused, held])
@pytest.mark.parametrize("over", ["cancelled", "timed out", "superseded"])
def test_what_is_over_lets_nothing_on(bench: Bench, stand: Callable[..., Claim], over: str) -> None:
    claim = stand(bench, minutes=1)
    found = the_one(bench)
    if over == "cancelled":
        bench.store.traversals.cancel("s-t1", reason="no", job_id="j")
    elif over == "timed out":
        bench.clock.pass_(61)
        bench.sweep()
    else:
        assert begin_delete(bench)
    assert standing(bench) == []
    assert bench.store.breakpoints.clear(found) is None
    assert bench.store.nodes.claim(claim.order, worker="late") is None
    assert node(bench).state == ("superseded" if stand is paused else "done")
    assert node(bench).due_at is None
    expected = ("INIT", "COMPLETE") if stand is paused else ("CREATE", "COMPLETE")
    assert (row(bench).action, row(bench).status) == expected
    # What stood after its action is settled: its definition is that which was applied.
    stack = bench.store.stacks.find("s-id", project="p")
    history = bench.store.histories.read(stack.id, stack.traversal_id)
    assert ("s-a" in history.applied) == (stand is held)


@pytest.mark.parametrize("over", ["cancelled", "superseded"])
@pytest.mark.parametrize(
    ("ending", "hook", "state"),
    [(Ending.PAUSED, "pre-create", "superseded"), (Ending.DONE, "post-create", "done")],
)
def test_a_step_that_ends_at_a_hook_after_all_is_over_does_not_stand(
    bench: Bench, over: str, ending: Ending, hook: str, state: str
) -> None:
    (order,) = bench.begin({"a": set()}, hooks={"a": [hook]})
    claim = bench.claim(order)
    if over == "cancelled":
        bench.store.traversals.cancel("s-t1", reason="no", job_id="j")
    else:
        assert begin_delete(bench)
        waits = CheckOrder(
            stack_id="s-id", traversal_id="s-t2", no=node(bench, "a", "s-t2").no, key="a", phase="cleanup"
        )
        assert bench.store.nodes.claim(waits, worker="w") is None
    done = finish(bench, claim, ending, hook)
    assert done.accepted
    # Whoever waits for the resource is woken.
    assert [order.traversal_id for order in done.ready] == (["s-t2"] if over == "superseded" else [])
    assert standing(bench) == []
    assert node(bench).state == state
    assert row(bench).lock_traversal is None


@pytest.mark.parametrize("failed", ["cancelled", "timed out"])
def test_what_was_let_on_but_not_begun_never_begins_in_a_failed_traversal(bench: Bench, failed: str) -> None:
    paused(bench, minutes=1)
    (order,) = cleared(bench)
    if failed == "cancelled":
        bench.store.traversals.cancel("s-t1", reason="no", job_id="j")
    else:
        bench.clock.pass_(61)
        bench.sweep()
    assert bench.store.nodes.claim(order, worker="w") is None
    bench.clock.pass_(1000)
    assert "a" not in {order.key for order in bench.sweep()}


def test_an_action_that_was_begun_after_a_hook_is_carried_to_its_end_in_a_failed_traversal(
    bench: Bench,
) -> None:
    paused(bench)
    (order,) = cleared(bench)
    bench.finish(bench.claim(order), Ending.WAITING, seconds=5)
    bench.store.traversals.cancel("s-t1", reason="no", job_id="j")
    bench.clock.pass_(6)
    (again,) = [order for order in bench.sweep() if order.key == "a"]
    assert bench.store.nodes.claim(again, worker="w") is not None


def test_clearing_and_failing_at_once_leave_nothing_to_begin(bench: Bench) -> None:
    for number in range(8):
        stack = f"x{number}"
        (order,) = bench.begin({"a": set()}, stack=stack, hooks={"a": ["pre-create"]})
        finish(bench, bench.claim(order))
        (found,) = bench.store.breakpoints.standing(f"{stack}-id")
        start = threading.Barrier(2)

        def clear(found: StandingNode = found, start: threading.Barrier = start) -> None:
            start.wait()
            bench.store.breakpoints.clear(found)

        def fail(stack: str = stack, start: threading.Barrier = start) -> None:
            start.wait()
            bench.store.traversals.cancel(f"{stack}-t1", reason="no", job_id=f"job-{stack}")

        threads = [threading.Thread(target=clear), threading.Thread(target=fail)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert bench.store.nodes.claim(order, worker="w") is None
        assert row(bench, f"{stack}-a").action == "INIT"


def test_what_stands_in_stacks_in_the_stack_is_told_of_too(bench: Bench) -> None:
    for stack in ("s", "t"):
        (order,) = bench.begin({"a": set()}, stack=stack, hooks={"a": ["pre-create"]})
        finish(bench, bench.claim(order))
    assert [each.resource_id for each in bench.store.breakpoints.standing("t-id")] == ["t-a"]
    with bench.store.database.write() as connection:
        connection.execute(
            sa.text("UPDATE stack SET parent_id = 's-id', parent_resource = 's-a' WHERE id = 't-id'")
        )
    assert [(each.path, each.resource_id) for each in bench.store.breakpoints.standing("s-id")] == [
        ("a", "s-a"),
        ("a/a", "t-a"),
    ]
    assert bench.store.breakpoints.standing("nobody") == []
