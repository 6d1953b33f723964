"""What every store promises about operations that are out of time, and about what the sweep cannot read.

And that a transaction about all nodes of a traversal takes no statement for each of them.
"""

import pytest
import sqlalchemy as sa

from orchestrator.model.messages import END, CheckOrder
from orchestrator.model.plan import plan_delete
from orchestrator.store import tables
from orchestrator.store.nodes.claims import Ending
from orchestrator.store.traversals.new_traversal import NewTraversal
from orchestrator.store.traversals.sweeping import PUT_OFF_SECONDS
from tests.counting import statements
from tests.unit.orchestrator.store.conftest import Bench


def change(bench: Bench, sql: sa.Executable) -> None:
    with bench.store.database.write() as connection:
        connection.execute(sql)


def ends(orders: tuple[CheckOrder, ...]) -> list[str]:
    return [order.stack for order in orders if order.phase == END]


def statements_of_a_time_out(bench: Bench, waiting: int, stack: str) -> int:
    """Return how many statements it takes to fail a stack in which so many resources wait."""
    for order in bench.begin({f"r{number}": set() for number in range(waiting)}, stack=stack, minutes=1):
        bench.finish(bench.claim(order), Ending.WAITING, seconds=100_000)
    bench.clock.pass_(61)
    with statements() as sent:
        orders = bench.sweep()
    assert ends(orders) == [stack]
    bench.run_all(orders)
    states = {(row.action, row.status) for row in bench.store.stacks.resources(f"{stack}-id")}
    assert states == {("CREATE", "FAILED")}
    failed = [each for each in bench.store.events.read(f"{stack}-id", limit=1000) if each.status == "FAILED"]
    assert len(failed) == waiting + 1
    return len(sent)


def test_a_time_out_takes_as_many_statements_for_many_that_wait_as_for_few(bench: Bench) -> None:
    assert statements_of_a_time_out(bench, 3, "few") == statements_of_a_time_out(bench, 60, "many")


def statements_of_a_takeover(bench: Bench, running: int, stack: str) -> int:
    """Return how many statements it takes to supersede an operation of which so many steps run."""
    (base,) = bench.begin(
        {"base": set(), **{f"r{number}": {"base"} for number in range(running)}}, stack=stack
    )
    for order in bench.run(base):
        bench.claim(order)
    mine = tables.resource.c.stack_id == f"{stack}-id"
    change(bench, tables.resource.update().where(mine).values(requires="[]"))
    delete = NewTraversal(
        id=f"{stack}-t2",
        stack_id=f"{stack}-id",
        stack=stack,
        project="p",
        template_id="none",
        timeout_minutes=1,
        plan=plan_delete([]),
        context={},
        new_types={},
    )
    with statements() as sent:
        assert bench.store.traversal_starts.begin_next(delete, expected=f"{stack}-t1")
    rows = {row.name: row.requires for row in bench.store.stacks.resources(f"{stack}-id")}
    assert rows == {name: () if name == "base" else (f"{stack}-base",) for name in rows}
    return len(sent)


def test_a_takeover_takes_as_many_statements_for_many_that_run_as_for_few(bench: Bench) -> None:
    assert statements_of_a_takeover(bench, 3, "few") == statements_of_a_takeover(bench, 50, "many")


def lose_stack(bench: Bench, stack: str) -> None:
    """Let a traversal that is in progress have no stack any more, so that it cannot be failed."""
    change(bench, tables.stack.delete().where(tables.stack.c.name == stack))


def test_one_that_cannot_be_failed_keeps_no_other_from_its_end(bench: Bench) -> None:
    for number in range(3):
        bench.begin({"a": set()}, stack=f"s{number}", minutes=10 + number)
    bench.begin({"a": set()}, stack="going-on", minutes=1000)
    lose_stack(bench, "s0")
    bench.clock.pass_(13 * 60)
    orders = bench.sweep()
    assert ends(orders) == ["s1", "s2"]
    # What is due otherwise is published in the same sweep.
    assert "going-on" in {order.stack for order in orders}


def test_one_that_cannot_be_failed_is_not_tried_at_once_and_for_ever(bench: Bench) -> None:
    bench.begin({}, stack="s0", minutes=10)
    lose_stack(bench, "s0")
    change(bench, tables.node.update().values(due_at=None))
    bench.clock.pass_(601)
    assert bench.sweep() == ()
    assert bench.store.sweeper.next_due() == pytest.approx(PUT_OFF_SECONDS)


def test_a_node_that_cannot_be_read_keeps_no_other_from_being_published(bench: Bench) -> None:
    for stack in ("broken", "sound"):
        (a,) = bench.begin({"a": set(), "b": {"a"}}, stack=stack)
        bench.run(a)
        # Only what has data of others is read.
        bench.begin({}, stack=f"{stack}-empty")
    mine = (tables.node.c.traversal_id == "broken-t1") & (tables.node.c.key == "b")
    change(bench, tables.node.update().where(mine).values(requirements="no JSON"))
    bench.clock.pass_(11)
    swept = {order.stack for order in bench.sweep()}
    assert "sound" in swept
    assert "broken" not in swept
    assert (bench.store.sweeper.next_due() or 0) > 0
