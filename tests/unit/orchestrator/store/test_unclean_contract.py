"""What every store promises where a cleanup fails: all else goes on, and what the one that is left needs is left."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator.model.messages import CLEANUP, CONVERGE, END, JOIN, CheckOrder
from orchestrator.store import tables
from orchestrator.store.database import Database
from orchestrator.store.nodes.claims import Ending, Outcome
from orchestrator.store.stacks.unclean import UNCLEAN, unclean_of
from orchestrator.store.store import Store
from tests.drivers import driver_of
from tests.unit.orchestrator.store.conftest import Bench, FakeClock
from tests.unit.orchestrator.store.updating import (
    begin_delete,
    begin_update,
    created,
    end,
    keys,
    node_of,
    order_of,
    pass_on,
    rows_of,
)
from tests.waiting import until


def made(bench: Bench, requires: Mapping[str, set[str]]) -> None:
    """Make a stack of resources whose rows say what they require."""
    created(bench, requires)
    ids = {row.name: row.id for row in rows_of(bench)}
    row = tables.resource
    with bench.store.database.write() as connection:
        for name, others in requires.items():
            required = json.dumps([ids[other] for other in others])
            connection.execute(row.update().where(row.c.id == ids[name]).values(requires=required))


def fail(bench: Bench, order: CheckOrder) -> list[CheckOrder]:
    """Let a cleanup fail; return what became ready, joins already passed on."""
    claim = bench.store.nodes.claim(order, worker="w")
    assert claim is not None
    return pass_on(bench, end(bench, claim, Ending.FAILED).ready)


def statuses(bench: Bench) -> dict[str, str]:
    return {row.name: f"{row.action}_{row.status}" for row in rows_of(bench)}


def traversal(bench: Bench, *, number: int = 2) -> Any:
    table = tables.traversal
    with bench.store.database.read() as connection:
        return connection.execute(table.select().where(table.c.id == f"s-t{number}")).one()


def test_the_traversal_goes_on_and_passes_over_what_the_one_that_is_left_needs(bench: Bench) -> None:
    made(bench, {"a": set(), "b": {"a"}, "c": {"b"}, "d": set()})
    orders = pass_on(bench, begin_update(bench, {"new": set()}))
    assert keys(orders) == [(CLEANUP, "c"), (CLEANUP, "d"), (CONVERGE, "new")]
    by_key = {order.key: order for order in orders}
    assert fail(bench, by_key["c"]) == []
    assert traversal(bench).status == "IN_PROGRESS"
    assert bench.run(by_key["d"]) == ()
    (last,) = bench.run(by_key["new"])
    assert last.phase == END
    assert bench.store.traversals.complete("s-t2")
    assert statuses(bench) == {
        "a": "CREATE_COMPLETE",
        "b": "CREATE_COMPLETE",
        "c": "DELETE_FAILED",
        "new": "CREATE_COMPLETE",
    }


def test_what_is_held_back_is_not_claimed_with_the_end_that_makes_it_ready(bench: Bench) -> None:
    made(bench, {"a": set(), "b": {"a"}, "c": {"a"}})
    orders = {order.key: order for order in pass_on(bench, begin_update(bench, {}))}
    assert fail(bench, orders["b"]) == []
    claim = bench.store.nodes.claim(orders["c"], worker="w")
    assert claim is not None
    done = Outcome(ending=Ending.DONE)
    finished = bench.store.nodes.finish_batch([(claim, done)], types=("Test",), most=8)
    assert not finished.claims
    assert keys(finished.ready) == [(JOIN, "a")]


def test_it_fails_in_the_end_and_brings_nothing_back(bench: Bench) -> None:
    made(bench, {"a": set(), "b": set()})
    orders = {order.key: order for order in pass_on(bench, begin_update(bench, {}))}
    with bench.store.database.write() as connection:
        connection.execute(tables.traversal.update().values(options='{"rollback": true}'))
    assert fail(bench, orders["b"]) == []
    assert keys(fail(bench, orders["a"])) == [(END, "")]
    assert bench.store.traversals.complete("s-t2")
    assert not bench.store.traversals.complete("s-t2")
    ended = traversal(bench)
    assert (ended.status, ended.options) == ("FAILED", "{}")
    assert ended.reason == UNCLEAN + "resources.a: ; resources.b: "
    stack = bench.store.stacks.find("s", project="p")
    assert (stack.action, stack.status, stack.reason) == ("UPDATE", "FAILED", ended.reason)
    # What is in service is what a rollback would go to.
    assert stack.completed_template_id == stack.template_id == "none"


def test_what_is_put_in_place_later_frees_nothing_that_is_held_back(bench: Bench) -> None:
    made(bench, {"a": set(), "b": {"a"}})
    orders = {order.key: order for order in pass_on(bench, begin_update(bench, {"a": set()}))}
    assert fail(bench, orders["b"]) == []
    claim = bench.store.nodes.claim(orders["a"], worker="w")
    assert claim is not None
    (again,) = end(bench, claim, Ending.REPLACE).ready
    successor = bench.store.nodes.claim(again, worker="w")
    assert successor is not None
    assert keys(pass_on(bench, end(bench, successor, Ending.DONE).ready)) == [(END, "")]
    rows = sorted((row.name, f"{row.action}_{row.status}") for row in rows_of(bench))
    assert rows == [("a", "CREATE_COMPLETE"), ("a", "CREATE_COMPLETE"), ("b", "DELETE_FAILED")]


def test_many_that_wait_behind_joins_are_held_back_too(bench: Bench) -> None:
    many = {f"m{number:03}": {"base"} for number in range(100)}
    made(bench, {"base": set(), **many})
    orders = {order.key: order for order in pass_on(bench, begin_update(bench, {}))}
    ready: list[CheckOrder] = []
    for name in many:
        ready += fail(bench, orders[name]) if name == "m050" else pass_on(bench, bench.run(orders[name]))
    assert keys(ready) == [(END, "")]
    assert statuses(bench) == {"base": "CREATE_COMPLETE", "m050": "DELETE_FAILED"}


def test_a_deletion_of_the_stack_fails_at_once(bench: Bench) -> None:
    made(bench, {"a": set(), "b": {"a"}, "c": set()})
    assert begin_delete(bench)
    order = order_of(bench, node_of(bench, "b", CLEANUP).no)
    assert keys(fail(bench, order)) == [(END, "")]
    assert traversal(bench).status == "FAILED"
    assert node_of(bench, "a", CLEANUP).state == "blocked"


@pytest.mark.parametrize("again", [Ending.FAILED, Ending.DONE])
def test_a_failure_is_counted_once(bench: Bench, again: Ending) -> None:
    made(bench, {"a": set(), "b": {"a"}})
    (order,) = pass_on(bench, begin_update(bench, {}))
    claim = bench.store.nodes.claim(order, worker="w")
    assert claim is not None
    assert keys(pass_on(bench, end(bench, claim, Ending.FAILED).ready)) == [(END, "")]
    assert not end(bench, claim, again).accepted
    assert statuses(bench) == {"a": "CREATE_COMPLETE", "b": "DELETE_FAILED"}


def effort_of_a_failure(others: int) -> int:
    """Return SQLite's effort for one cleanup that fails among so many that do not wait for it."""
    database = Database("sqlite://", clock=FakeClock())
    with database.write() as connection:
        tables.metadata.create_all(connection)
    bench = Bench(Store(database), FakeClock())
    made(bench, {"base": set(), "a": {"base"}, **{f"other{number:03}": set() for number in range(others)}})
    orders = {order.key: order for order in pass_on(bench, begin_update(bench, {"new": set()}))}
    claim = bench.store.nodes.claim(orders["a"], worker="w")
    assert claim is not None
    steps = []
    with driver_of(database) as driver:
        driver.set_progress_handler(lambda: steps.append(1), 10)
    assert end(bench, claim, Ending.FAILED).accepted
    with driver_of(database) as driver:
        driver.set_progress_handler(None, 0)
    assert node_of(bench, "base", JOIN).state == "ready"
    database.dispose()
    return len(steps)


def test_what_a_failure_reads_does_not_grow_with_the_cleanups_that_do_not_wait_for_it() -> None:
    few, many = effort_of_a_failure(10), effort_of_a_failure(400)
    assert many < 2 * few, (few, many)


# SQLite has one writer at a time.
@pytest.mark.parametrize("bench", ["postgres"], indirect=True)
def test_nodes_are_locked_in_the_order_of_their_numbers(bench: Bench) -> None:
    """Of nodes on both sides of a join the lower one is locked first, as every other finish does it."""
    made(bench, {"base": set(), **{f"m{number:03}": {"base"} for number in range(100)}})
    orders = {order.key: order for order in pass_on(bench, begin_update(bench, {}))}
    claim = bench.store.nodes.claim(orders["m050"], worker="w")
    assert claim is not None
    (join,), base = claim.dependents, node_of(bench, "base", CLEANUP)
    assert join < base.no
    lock = "SELECT 1 FROM node WHERE traversal_id = :id AND no = :no FOR UPDATE"
    waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with ThreadPoolExecutor() as pool:
        with bench.store.database.write() as other:
            other.execute(sa.text(lock), {"id": "s-t2", "no": join})
            failing = pool.submit(end, bench, claim, Ending.FAILED)
            with bench.store.database.read() as look:
                until(lambda: look.execute(sa.text(waits)).scalar_one())
            # With the base locked by the other side already, this would be a deadlock.
            other.execute(sa.text(f"{lock} NOWAIT"), {"id": "s-t2", "no": base.no})
        assert failing.result().accepted
    assert node_of(bench, "base", JOIN).state == "blocked"


def test_nested_stack_that_is_not_clean_is_named_by_its_resource(bench: Bench) -> None:
    """By its own, whichever of the others comes before or after it."""
    made(bench, {"a": set(), "m": set(), "z": set()})
    rows = {row.name: row.id for row in rows_of(bench)}
    for name, row_id in rows.items():
        bench.begin({"x": set()}, stack=f"in-{name}")
        nested = tables.stack.update().where(tables.stack.c.id == f"in-{name}-id")
        with bench.store.database.write() as connection:
            connection.execute(nested.values(parent_id="s-id", parent_resource=row_id, root_id="s-id"))
    unclean = tables.stack.update().where(tables.stack.c.id == "in-m-id")
    with bench.store.database.write() as connection:
        connection.execute(
            unclean.values(in_service=True, action="UPDATE", status="FAILED", reason="x is left")
        )
        assert unclean_of(connection, "s-t1") == f"{UNCLEAN}resources.m: x is left"
