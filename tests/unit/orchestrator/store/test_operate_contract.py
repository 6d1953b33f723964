"""What every store promises to those who work on resources as they are: what is kept, what is told."""

from collections.abc import Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator.model.actions import CHECK, OPERATIONS, RESUME, SNAPSHOT, SUSPEND, is_fit
from orchestrator.model.event_filter import EventFilter
from orchestrator.model.messages import END, JOIN, CheckOrder
from orchestrator.model.plan import Row, plan_operate
from orchestrator.store import tables
from orchestrator.store.nodes.claims import Claim, Ending, Finished, Outcome
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.traversals.new_traversal import NewTraversal
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import begin_update, created, order_of, rows_of

#: Every state that a resource can be in.
STATES = [
    (action, status)
    for action in ("CREATE", "ADOPT", "UPDATE", "DELETE", *OPERATIONS)
    for status in ("IN_PROGRESS", "COMPLETE", "FAILED")
] + [("INIT", "COMPLETE")]


def operate(bench: Bench, action: str, *, number: int = 2) -> tuple[CheckOrder, ...]:
    """Begin an operation on all rows of the stack; return the first orders."""
    return operate_on(bench, rows_of(bench), action, number=number)


def operate_on(bench: Bench, rows: Sequence[Row], action: str, *, number: int = 2) -> tuple[CheckOrder, ...]:
    new = NewTraversal(
        id=f"s-t{number}",
        stack_id="s-id",
        stack="s",
        project="p",
        template_id="none",
        timeout_minutes=60,
        plan=plan_operate(rows, action=action),
        context={},
        new_types={},
        known=[row.id for row in rows],
    )
    assert bench.store.traversal_starts.begin_next(new, expected=f"s-t{number - 1}")
    return tuple(order_of(bench, node.no, number=number) for node in new.plan.ready)


def end(bench: Bench, claim: Claim, ending: Ending = Ending.DONE, **outcome: Any) -> Finished:
    """End an operation's step as a worker does: it leaves no data for others."""
    told = Outcome(ending=ending, physical_id=claim.physical_id, data={"kept": 1}, **outcome)
    return bench.store.nodes.finish(claim, told)


def put(bench: Bench, name: str, **values: Any) -> None:
    """Bring a row into a state."""
    with bench.store.database.write() as connection:
        connection.execute(tables.resource.update().where(tables.resource.c.name == name).values(**values))


def row(bench: Bench, name: str) -> sa.Row[Any]:
    with bench.store.database.read() as connection:
        found = connection.execute(tables.resource.select().where(tables.resource.c.name == name))
        return found.one()


def run(bench: Bench, orders: Sequence[CheckOrder], faults: Sequence[str] = ()) -> list[str]:
    """Carry an operation out to its end; return the names in the order of their turn."""
    waiting, turns = list(orders), []
    while waiting:
        order = waiting.pop(0)
        if order.phase == END:
            bench.store.traversals.complete(order.traversal_id)
            continue
        if order.phase == JOIN:
            waiting += bench.store.nodes.release_join(order).ready
            continue
        turns.append(order.key)
        fault = order.key in faults
        waiting += end(
            bench,
            bench.claim(order),
            Ending.FAULT if fault else Ending.DONE,
            reason="broken" if fault else "",
        ).ready
    return turns


def stack_state(bench: Bench) -> tuple[str, str, str]:
    found = bench.store.stacks.find("s", project="p")
    return found.action, found.status, found.reason


@pytest.mark.parametrize(
    ("action", "turns"), [(SUSPEND, ["c", "b", "a"]), (RESUME, ["a", "b", "c"])], ids=["suspend", "resume"]
)
def test_dependents_rest_first_and_come_back_last(bench: Bench, action: str, turns: list[str]) -> None:
    created(bench, {"a": set(), "b": {"a"}, "c": {"b"}})
    put(bench, "a", requires="[]")
    put(bench, "b", requires='["s-a"]')
    put(bench, "c", requires='["s-b"]')
    assert run(bench, operate(bench, action)) == turns
    assert stack_state(bench)[:2] == (action, "COMPLETE")
    assert {each.action for each in bench.store.stacks.resources("s-id")} == {action}


@pytest.mark.parametrize("action", [CHECK, SNAPSHOT])
def test_what_needs_no_order_is_done_side_by_side(bench: Bench, action: str) -> None:
    created(bench, {"a": set(), "b": set()})
    put(bench, "b", requires='["s-a"]')
    assert sorted(order.key for order in operate(bench, action)) == ["a", "b"]


def test_an_operation_leaves_alone_what_others_are_told(bench: Bench) -> None:
    created(bench, {"a": set()})
    put(bench, "a", requires='["s-x"]', definition_hash="hash")
    before = row(bench, "a")
    run(bench, operate(bench, SUSPEND))
    after = row(bench, "a")
    for column in ("reference_id", "properties", "definition_hash", "attributes", "requires", "metadata"):
        assert getattr(after, column) == getattr(before, column), column
    assert before.reference_id is not None
    assert bench.store.stacks.resource("s-id", "a").data == {"kept": 1}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_claim_leaves_what_is_not_fit_as_it_is(bench: Bench, operation: str) -> None:
    states = {"-".join(state).lower(): state for state in STATES}
    created(bench, {name: set() for name in states})
    tokens = {}
    for name, (action, status) in states.items():
        token = tokens[name] = bench.store.codec.pack(["old", None], ("resource", "token", f"s-{name}"))
        put(bench, name, action=action, status=status, reason="why", token=token, started_at=7.0)
    planned = [
        Row(id=f"s-{name}", name=name, type="Test", action=action, status=status, requires=())
        for name, (action, status) in states.items()
    ]
    for order in operate_on(bench, planned, operation):
        action, status = states[order.key]
        claim = bench.claim(order)
        taken = row(bench, order.key)
        assert claim.was == (action, status)
        if is_fit(operation, action, status):
            assert (taken.action, taken.status) == (operation, "IN_PROGRESS")
            assert claim.started == ((action, status) == (operation, "IN_PROGRESS"))
            continue
        assert (taken.action, taken.status, taken.reason, taken.started_at) == (action, status, "why", 7.0)
        assert not claim.started
        end(bench, claim, Ending.FAULT, reason="not fit", untouched=True)
        left = row(bench, order.key)
        assert (left.action, left.status, left.reason, left.token) == (
            action,
            status,
            "why",
            tokens[order.key],
        )
        assert left.lock_traversal is None


# -- a check -----------------------------------------------------------------------------------------------------


def test_a_check_goes_on_after_a_fault_and_tells_all_of_them_in_the_end(bench: Bench) -> None:
    created(bench, {"a": set(), "b": set(), "c": set()})
    assert sorted(run(bench, operate(bench, CHECK), faults=["a", "c"])) == ["a", "b", "c"]
    assert stack_state(bench) == (CHECK, "FAILED", "resources.a: broken; resources.c: broken")
    states = {each.name: each.status for each in bench.store.stacks.resources("s-id")}
    assert states == {"a": "FAILED", "b": "COMPLETE", "c": "FAILED"}
    events = bench.store.events.read("s-id", limit=100, wanted=EventFilter(traversal_id="s-t2"))
    assert [(each.resource, each.status) for each in events if each.status == "FAILED"][-1] == ("", "FAILED")


def test_a_check_tells_no_fault_of_an_earlier_one(bench: Bench) -> None:
    created(bench, {"a": set()})
    run(bench, operate(bench, CHECK), faults=["a"])
    run(bench, operate(bench, CHECK, number=3))
    assert stack_state(bench)[:2] == (CHECK, "COMPLETE")


def test_a_very_long_tale_of_faults_is_cut(bench: Bench) -> None:
    names = {f"resource-{number:04}": set[str]() for number in range(100)}
    created(bench, names)
    run(bench, operate(bench, CHECK), faults=list(names))
    reason = stack_state(bench)[2]
    assert len(reason) == 1000
    assert reason.endswith("...")


def test_a_check_says_that_the_definition_in_force_never_was_complete(bench: Bench) -> None:
    created(bench, {"a": set()})
    before = bench.store.stacks.find("s", project="p").completed_template_id
    with bench.store.database.write() as connection:
        connection.execute(tables.stack.update().values(completed_template_id="another"))
    run(bench, operate(bench, CHECK))
    action, status, reason = stack_state(bench)
    assert (action, status) == (CHECK, "FAILED")
    assert "never was complete" in reason
    after = bench.store.stacks.find("s", project="p").completed_template_id
    assert (before, after) == ("none", "another")


# -- what follows ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["IN_PROGRESS", "COMPLETE", "FAILED"])
def test_what_rests_is_resumed_before_an_update_comes_to_it(bench: Bench, status: str) -> None:
    created(bench, {"a": set()})
    put(bench, "a", action="SUSPEND", status=status)
    (order,) = begin_update(bench, {"a": set()})
    claim = bench.claim(order)
    assert claim.action == RESUME
    (again,) = end(bench, claim, Ending.NEXT).ready
    claim = bench.claim(again)
    assert (claim.action, claim.was) == ("UPDATE", (RESUME, "COMPLETE"))


@pytest.mark.parametrize(
    "was", [(CHECK, "FAILED"), (CHECK, "IN_PROGRESS"), (SNAPSHOT, "FAILED")], ids="_".join
)
def test_what_a_look_found_fault_with_is_doubted_until_the_first_step_of_its_repair(
    bench: Bench, was: tuple[str, str]
) -> None:
    created(bench, {"a": set()})
    put(bench, "a", action=was[0], status=was[1])
    (order,) = begin_update(bench, {"a": set()})
    for _ in range(2):
        claim = bench.claim(order)
        assert (claim.action, claim.was) == ("UPDATE", was)
        assert (row(bench, "a").action, row(bench, "a").status) == was
        # The worker dies, or cannot do it now.
        end(bench, claim, Ending.RETRY)
        bench.clock.pass_(1)
        bench.sweep()
    claim = bench.claim(order)
    end(bench, claim, Ending.WAITING, token="token")
    assert (row(bench, "a").action, row(bench, "a").status) == ("UPDATE", "IN_PROGRESS")


# -- what people say ---------------------------------------------------------------------------------------------


def mark(bench: Bench, seen: ResourceRow, *, unhealthy: bool = True, stack: StackRow | None = None) -> bool:
    around = [(stack or bench.store.stacks.find("s", project="p"), None)]
    return bench.store.health.mark(seen, around, unhealthy=unhealthy, reason="said")


def test_a_mark_is_written_with_its_event_and_taken_back(bench: Bench) -> None:
    created(bench, {"a": set(), "b": set()})
    seen = bench.store.stacks.resource("s-id", "a")
    assert mark(bench, seen)
    marked = bench.store.stacks.resource("s-id", "a")
    assert (marked.action, marked.status, marked.reason, marked.unhealthy) == (CHECK, "FAILED", "said", True)
    event = bench.store.events.read("s-id", limit=100)[-1]
    assert (event.resource, event.action, event.status, event.reason) == ("a", CHECK, "FAILED", "said")
    assert mark(bench, marked, unhealthy=False)
    healthy = bench.store.stacks.resource("s-id", "a")
    assert (healthy.action, healthy.status, healthy.unhealthy) == (CHECK, "COMPLETE", False)
    assert not bench.store.stacks.resource("s-id", "b").unhealthy


def test_a_mark_is_refused_where_anything_has_changed_since(bench: Bench) -> None:
    created(bench, {"a": set()})
    seen, stack = bench.store.stacks.resource("s-id", "a"), bench.store.stacks.find("s", project="p")
    put(bench, "a", status="FAILED")
    assert not mark(bench, seen)
    put(bench, "a", status="COMPLETE", lock_traversal="s-t1", lock_no=0, lock_attempt=1)
    assert not mark(bench, seen)
    put(bench, "a", lock_traversal=None, lock_no=None, lock_attempt=None)
    operate(bench, CHECK)
    assert not mark(bench, seen, stack=stack)
    assert not bench.store.stacks.resource("s-id", "a").unhealthy


def test_a_mark_in_a_stack_in_a_stack_lets_updates_of_the_outer_one_come_to_it(bench: Bench) -> None:
    created(bench, {"a": set(), "b": set()})
    seen = bench.store.stacks.resource("s-id", "a")
    stack = bench.store.stacks.find("s", project="p")
    assert bench.store.health.mark(seen, [(stack, None), (stack, "s-b")], unhealthy=True, reason="said")
    outer = bench.store.stacks.resource("s-id", "b")
    assert (outer.action, outer.status, outer.reason) == (CHECK, "FAILED", "resources.a: said")
    assert not outer.unhealthy


def test_end_is_finished_though_a_step_is_of_a_later_phase_by_name(bench: Bench) -> None:
    """Its steps are in the phase ``operate``, after ``end`` in the alphabet."""
    created(bench, {"a": set()})
    (order,) = operate(bench, SUSPEND)
    is_finished = bench.store.traversals.is_end_finished
    assert not is_finished("s-t2")
    (last,) = end(bench, bench.claim(order)).ready
    assert not is_finished("s-t2")
    bench.store.traversals.complete("s-t2")
    ending = bench.store.traversals.claim_end(last, worker="c")
    assert ending
    bench.store.traversals.finish_end(ending)
    with bench.store.database.write() as connection:
        step = tables.node.c.phase == "operate"
        connection.execute(tables.node.update().where(step).values(state="running"))
    assert is_finished("s-t2")


@pytest.mark.parametrize("action", [SUSPEND, CHECK])
def test_operation_on_a_stack_as_it_is_says_nothing_of_what_is_left_in_nested_ones(
    bench: Bench, action: str
) -> None:
    created(bench, {"a": set()})
    bench.begin({"x": set()}, stack="inside")
    place = {"parent_id": "s-id", "parent_resource": "s-a", "root_id": "s-id", "depth": 1}
    unclean = {"in_service": True, "action": "UPDATE", "status": "FAILED", "reason": "x is left"}
    with bench.store.database.write() as connection:
        inside = tables.stack.update().where(tables.stack.c.id == "inside-id")
        connection.execute(inside.values(**place, **unclean))
    (order,) = operate(bench, action)
    (last,) = end(bench, bench.claim(order)).ready
    assert last.phase == END
    assert bench.store.traversals.complete("s-t2")
    stack = bench.store.stacks.find("s-id", project="p")
    assert (stack.action, stack.status) == (action, "COMPLETE")
