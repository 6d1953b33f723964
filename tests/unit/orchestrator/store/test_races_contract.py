"""What every store promises to those who want the same stack, or the same resource, at the same moment."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator.errors import Conflict
from orchestrator.model.messages import CLEANUP, CONVERGE, CheckOrder
from orchestrator.store import tables
from orchestrator.store.nodes.claims import Ending
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import begin_delete, begin_update, created, end, node_of
from tests.waiting import until

ROUNDS = range(3)


def at_once(*acts: Callable[[], Any]) -> list[Any]:
    """Do things in threads that start together; return what each gave, or raised."""
    start = threading.Barrier(len(acts))
    results: list[Any] = [None] * len(acts)

    def run(number: int, act: Callable[[], Any]) -> None:
        start.wait()
        try:
            results[number] = act()
        except Conflict as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=each) for each in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def traversal_of(bench: Bench) -> str:
    return bench.store.stacks.find("s-id", project="p").traversal_id


@pytest.mark.parametrize("_round", ROUNDS)
def test_of_updates_at_once_one_is_begun_and_the_others_know_that_theirs_is_not(
    bench: Bench, _round: int
) -> None:
    created(bench, {"a": set(), "b": {"a"}})

    def update(number: int) -> Callable[[], Sequence[CheckOrder]]:
        return lambda: begin_update(bench, {"a": set(), "b": {"a"}}, number=number, after=1)

    results = at_once(*(update(number) for number in range(2, 6)))
    (winner,) = (number for number, orders in enumerate(results, 2) if orders)
    assert traversal_of(bench) == f"s-t{winner}"
    planned = bench.store.histories.read("s-id", f"s-t{winner}").planned
    assert {fragment["n"] for fragment in planned.values()} == {winner}
    for number in range(2, 6):
        job = bench.store.stacks.job(f"job-{number}")
        assert (job is not None) == (number == winner)


@pytest.mark.parametrize("_round", ROUNDS)
def test_of_an_update_a_delete_and_a_cancel_at_once_the_stack_follows_one(bench: Bench, _round: int) -> None:
    created(bench, {"a": set()})
    assert begin_update(bench, {"a": set()})
    updated, deleted, cancelled = at_once(
        lambda: begin_update(bench, {"a": set()}, number=3, after=2),
        lambda: begin_delete(bench, number=4, after=2),
        lambda: bench.store.traversals.cancel("s-t2", reason="enough", job_id="cancel"),
    )
    assert bool(updated) != deleted
    stack = bench.store.stacks.find("s-id", project="p")
    assert (stack.traversal_id, stack.status) == ("s-t3" if updated else "s-t4", "IN_PROGRESS")
    # Who cancels comes first, or is told that it is too late.
    job = bench.store.stacks.job("cancel")
    assert (job is None) == isinstance(cancelled, Conflict)


@pytest.mark.parametrize("_round", ROUNDS)
def test_of_two_deletes_at_once_one_is_begun(bench: Bench, _round: int) -> None:
    created(bench, {"a": set()})
    results = at_once(
        lambda: begin_delete(bench, number=2, after=1), lambda: begin_delete(bench, number=3, after=1)
    )
    assert sorted(results) == [False, True]


@pytest.mark.parametrize("_round", ROUNDS)
def test_a_replacement_and_whoever_takes_the_stack_see_each_other(bench: Bench, _round: int) -> None:
    """Either the replacement is there, and a plan without it is refused, or it is never made."""
    created(bench, {"a": set()})
    (order,) = begin_update(bench, {"a": set()})
    claim = bench.claim(order)
    finished, begun = at_once(
        lambda: end(bench, claim, Ending.REPLACE),
        lambda: begin_update(bench, {"a": set()}, number=3, known=["s-a"]),
    )
    assert finished.accepted
    made = {row.id for row in bench.store.stacks.resources("s-id")} == {"s-a", "replacement"}
    assert made == (not begun)
    assert traversal_of(bench) == ("s-t2" if made else "s-t3")


@pytest.mark.parametrize("_round", ROUNDS)
def test_nothing_is_replaced_after_a_fence(bench: Bench, _round: int) -> None:
    created(bench, {"a": set()})
    (order,) = begin_update(bench, {"a": set()})
    claim = bench.claim(order)
    finished, fenced = at_once(
        lambda: end(bench, claim, Ending.REPLACE), lambda: bench.store.traversals.fence("s-t2")
    )
    assert finished.accepted
    assert fenced is not None
    there = [row.id for row in bench.store.stacks.resources("s-id")]
    assert begin_update(bench, {"a": set()}, number=3, known=there)


def test_a_fence_stops_what_is_under_way_and_brings_nothing_back(bench: Bench) -> None:
    orders = bench.begin({"a": set(), "b": set()}, rollback=True)
    claim = bench.claim(orders[0])
    fenced = bench.store.traversals.fence("s-t1")
    assert fenced is not None
    assert not bench.store.traversals.owes_rollback("s-t1")
    stack = bench.store.stacks.find("s-id", project="p")
    assert (stack.status, stack.reason) == ("FAILED", "Stack CREATE gave way to another operation")
    assert bench.store.nodes.claim(orders[1], worker="w") is None
    assert end(bench, claim, Ending.DONE).accepted
    assert bench.store.traversals.fence("s-t1") is None


def test_a_fence_for_what_another_has_taken_changes_nothing(bench: Bench) -> None:
    created(bench, {"a": set()})
    assert begin_update(bench, {"a": set()})
    assert begin_update(bench, {"a": set()}, number=3)
    assert bench.store.traversals.fence("s-t2") is None
    stack = bench.store.stacks.find("s-id", project="p")
    assert (stack.traversal_id, stack.status) == ("s-t3", "IN_PROGRESS")


# -- PostgreSQL: each at the very instant that matters ---------------------------------------------------------

on_postgres = pytest.mark.parametrize("bench", ["postgres"], indirect=True)


def until_waiting(bench: Bench, count: int) -> None:
    """Come back when so many transactions wait for the locks of others."""
    sql = sa.text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )

    def they_wait() -> bool:
        with bench.store.database.read() as connection:
            return bool(connection.execute(sql).scalar_one() == count)

    until(they_wait)


def in_thread(act: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(act()))
    thread.start()
    return thread, results


@on_postgres
def test_a_claim_does_not_take_what_changed_since_it_looked(bench: Bench) -> None:
    """Between the moment a claim reads a resource and the moment it locks it, a time-out fails the resource."""
    created(bench, {"a": set()})
    (order,) = begin_update(bench, {"a": set()})
    row = tables.resource
    with bench.store.database.write() as connection:
        connection.execute(row.update().where(row.c.id == "s-a").values(status="FAILED", reason="time is up"))
        thread, claims = in_thread(lambda: bench.claim(order))
        until_waiting(bench, 1)
    thread.join()
    # What it decided for a sound resource does not hold: it looked again.
    (claim,) = claims
    assert (claim.action, claim.was, claim.attempt) == ("UPDATE", ("CREATE", "FAILED"), 1)


@on_postgres
def test_what_is_taken_over_while_a_step_ends_is_not_replaced(bench: Bench) -> None:
    created(bench, {"a": set()})
    (order,) = begin_update(bench, {"a": set()})
    claim = bench.claim(order)
    traversal = tables.traversal
    with bench.store.database.write() as connection:
        connection.execute(
            traversal.update().where(traversal.c.id == "s-t2").values(status="SUPERSEDED", ended_at=0)
        )
        thread, finished = in_thread(lambda: end(bench, claim, Ending.REPLACE))
        until_waiting(bench, 1)
    thread.join()
    assert finished[0].accepted
    assert [row.id for row in bench.store.stacks.resources("s-id")] == ["s-a"]
    assert node_of(bench, "a", CONVERGE).state == "superseded"


@on_postgres
def test_whoever_takes_over_waits_for_the_replacement_that_is_being_put_in_place(bench: Bench) -> None:
    created(bench, {"a": set()})
    (order,) = begin_update(bench, {"a": set()})
    claim = bench.claim(order)
    node = tables.node
    with bench.store.database.write() as connection:
        # The last that the replacement changes.
        last = node_of(bench, "a", CLEANUP)
        connection.execute(
            node.update().where(node.c.traversal_id == "s-t2", node.c.no == last.no).values(worker="nobody")
        )
        replacing, finished = in_thread(lambda: end(bench, claim, Ending.REPLACE))
        until_waiting(bench, 1)
        taking, begun = in_thread(lambda: begin_update(bench, {"a": set()}, number=3, known=["s-a"]))
        until_waiting(bench, 2)
    replacing.join()
    taking.join()
    assert finished[0].accepted
    assert begun == [()]
    assert {row.id for row in bench.store.stacks.resources("s-id")} == {"s-a", "replacement"}
    assert traversal_of(bench) == "s-t2"


@on_postgres
@pytest.mark.parametrize("ending", [Ending.REPLACE, Ending.NEXT, Ending.FAILED])
@pytest.mark.parametrize("_round", range(5))
def test_whoever_takes_over_and_whoever_ends_a_step_never_wait_for_each_other(
    bench: Bench, ending: Ending, _round: int
) -> None:
    created(bench, {"a": set(), "b": {"a"}})
    (order,) = begin_update(bench, {"a": set(), "b": {"a"}})
    claim = bench.claim(order)
    before = deadlocks(bench)
    finished, _ = at_once(
        lambda: end(bench, claim, ending),
        lambda: begin_update(bench, {"a": set(), "b": {"a"}}, number=3, known=["s-a", "s-b"]),
    )
    assert finished.accepted
    assert deadlocks(bench) == before


def deadlocks(bench: Bench) -> int:
    """Return how often the server had to end a transaction because two waited for each other."""
    with bench.store.database.read() as connection:
        connection.execute(sa.text("SELECT pg_stat_force_next_flush()"))
        sql = sa.text("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        return int(connection.execute(sql).scalar_one())


def lock_of(key: str) -> str:
    return f"SELECT no FROM node WHERE traversal_id = 's-t1' AND key = '{key}' FOR UPDATE"


@on_postgres
@pytest.mark.parametrize("act", ["supersede", "fail"])
def test_many_nodes_are_locked_in_the_order_of_their_numbers(bench: Bench, act: str) -> None:
    """As every finish locks them: with the other order, two of them would be a deadlock."""
    orders = {order.key: order for order in bench.begin({"a": set(), "b": set(), "c": {"a", "b"}})}
    # The one with the lower number is changed last, and lies behind the other one from then on.
    for key in ("b", "a"):
        bench.finish(bench.claim(orders[key]), Ending.WAITING, seconds=100_000)
        change = sa.update(tables.resource).values(status="COMPLETE")
        with bench.store.database.write() as connection:
            connection.execute(change.where(tables.resource.c.name == key))
    acts: dict[str, Callable[[], object]] = {
        "supersede": lambda: begin_update(bench, {"a": set(), "b": set()}),
        "fail": lambda: bench.store.traversals.fence("s-t1"),
    }
    waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with ThreadPoolExecutor() as pool:
        with bench.store.database.write() as other:
            other.execute(sa.text(lock_of("a")))
            acting = pool.submit(acts[act])
            with bench.store.database.read() as look:
                until(lambda: look.execute(sa.text(waits)).scalar_one())
            other.execute(sa.text(f"{lock_of('b')} NOWAIT"))
        assert acting.result()


def test_the_second_result_of_a_job_is_no_error(bench: Bench) -> None:
    failed: list[object] = []

    def note(context: object) -> None:
        failed.append(context)

    engine = bench.store.database.engine
    sa.event.listen(engine, "handle_error", note)
    try:
        bench.store.stacks.accept_job("job", "s-id")
        bench.store.stacks.refuse_job("job", {"kind": "Conflict"})
    finally:
        sa.event.remove(engine, "handle_error", note)
    assert bench.store.stacks.accepted("job") == "s-id"
    assert failed == []
