"""Who is woken, and by whom: signals to what is done already, locks let go of in the very moment, a process's end."""

import threading
from collections.abc import Sequence

import sqlalchemy as sa

from orchestrator.model.messages import CONVERGE, END, JOIN, CheckOrder
from orchestrator.model.plan import FAN_IN
from orchestrator.store.nodes.claiming import NodeClaims
from orchestrator.store.nodes.claims import Claim, Ending
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import begin_update, created, end


def waiting(bench: Bench, orders: Sequence[CheckOrder], name: str) -> CheckOrder:
    """Let a node wait for something for long."""
    (order,) = [each for each in orders if each.key == name and each.phase == CONVERGE]
    end(bench, bench.claim(order), Ending.WAITING)
    with bench.store.database.write() as connection:
        connection.execute(
            sa.text("UPDATE node SET due_at = due_at + 1000 WHERE traversal_id = :id AND no = :no"),
            {"id": order.traversal_id, "no": order.no},
        )
    return order


# -- signals ----------------------------------------------------------------------------------------------------------


def test_a_signal_to_what_was_done_before_the_operation_wakes_who_waits_for_it(bench: Bench) -> None:
    created(bench, {"a": set(), "b": {"a"}})
    order = waiting(bench, begin_update(bench, {"a": set(), "b": {"a"}}, clean=["a"]), "b")
    (woken,) = bench.store.nodes.wake_dependents("s-a")
    assert (woken.no, woken.key, woken.traversal_id) == (order.no, "b", "s-t2")
    assert bench.store.nodes.wake_dependents("s-a") == ()
    bench.claim(woken)


def test_a_signal_reaches_who_waits_for_very_many(bench: Bench) -> None:
    names = [f"r{number:03}" for number in range(FAN_IN + 1)]
    orders = list(bench.begin({**{name: set() for name in names}, "last": {*names}}))
    while orders[0].key != "last":
        order = orders.pop(0)
        ready = bench.store.nodes.release_join(order).ready if order.phase == JOIN else bench.run(order)
        orders += ready
    waiting(bench, orders, "last")
    (woken,) = bench.store.nodes.wake_dependents("s-r007")
    assert woken.key == "last"


def test_what_was_done_before_the_operation_counts_nobody_down(bench: Bench) -> None:
    created(bench, {"a": set(), "b": set(), "c": {"a", "b"}})
    orders = begin_update(bench, {"a": set(), "b": set(), "c": {"a", "b"}}, clean=["a", "c"])
    (order,) = [each for each in orders if each.phase == CONVERGE]
    assert order.key == "b"
    ready = end(bench, bench.claim(order), Ending.DONE).ready
    assert [each.key for each in ready if each.phase == CONVERGE] == ["c"]


# -- locks ------------------------------------------------------------------------------------------------------------


def contested(bench: Bench) -> tuple[Claim, CheckOrder]:
    """Return a claim of an old traversal on a resource, and the order of the newer one for it."""
    (first,) = bench.begin({"a": set()})
    old = bench.claim(first)
    (order, *_) = begin_update(bench, {"a": set()})
    return old, order


def test_a_lock_let_go_of_before_the_claim_was_seen_to_wait_keeps_nobody_waiting(bench: Bench) -> None:
    """The worker that lets go looks for whom to wake at the only moment in which nobody can be seen."""
    if not bench.store.database.postgres:
        # There is one writer at a time: no such moment.
        return
    old, order = contested(bench)
    nodes = NodeClaims(bench.store.database, bench.store.codec, bench.store.timings)
    claim_once = nodes._claim_postgres
    tries = []

    def let_go_after_the_first(*arguments: object) -> object:
        row = claim_once(*arguments)  # type: ignore[arg-type]
        tries.append(row)
        if len(tries) == 1:
            woken = end(bench, old, Ending.WAITING)
            assert woken.accepted
            # What that woke is lost with its message, or never was: here, both ways lead to the same.
            with bench.store.database.write() as connection:
                connection.execute(
                    sa.text("UPDATE node SET state = 'waiting' WHERE traversal_id = 's-t2' AND no = 0")
                )
        return row

    nodes._claim_postgres = let_go_after_the_first  # type: ignore[method-assign, assignment]
    claim = nodes.claim(order, worker="new")
    assert claim is not None
    assert claim.order.traversal_id == "s-t2"
    assert len(tries) == 2


def test_a_resource_that_changes_while_it_is_claimed_is_claimed_as_it_is_then(bench: Bench) -> None:
    if not bench.store.database.postgres:
        return
    (order,) = bench.begin({"a": set()})
    claims: list[Claim | None] = []
    with bench.store.database.write() as connection:
        connection.execute(
            sa.text("UPDATE resource SET action = 'CREATE', status = 'IN_PROGRESS' WHERE id = 's-a'")
        )
        claiming = threading.Thread(target=lambda: claims.append(bench.store.nodes.claim(order, worker="w")))
        claiming.start()
        while claiming.is_alive():
            waits = connection.execute(
                sa.text(
                    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%WITH n AS%'"
                )
            ).scalar_one()
            connection.execute(sa.text("SELECT pg_stat_clear_snapshot()"))
            if waits:
                break
    claiming.join()
    (claim,) = claims
    assert claim is not None
    assert claim.was == ("CREATE", "IN_PROGRESS")


def test_who_waits_for_a_lock_that_is_held_is_not_claimed(bench: Bench) -> None:
    old, order = contested(bench)
    assert bench.store.nodes.claim(order, worker="new") is None
    (woken,) = end(bench, old, Ending.WAITING).ready
    assert woken.no == order.no
    assert bench.store.nodes.claim(woken, worker="new") is not None


# -- the end of a process ----------------------------------------------------------------------------------------------


def test_whoever_takes_over_passes_on_what_has_nothing_to_do(bench: Bench) -> None:
    """Quiet nodes are no work, but somebody must pass them on: their messages died with the process."""
    created(bench, {"a": set(), "b": {"a"}})
    orders = begin_update(bench, {"a": set(), "b": {"a"}}, clean=["b"])
    (order,) = [each for each in orders if each.phase == CONVERGE]
    end(bench, bench.claim(order), Ending.DONE, changed=False)
    assert bench.sweep() == ()
    seen: list[tuple[str, str]] = []
    while not seen or seen[-1][1] != END:
        # Whoever passes one on dies each time before it can say what became ready.
        bench.store.sweeper.take_over(lambda _: False)
        order, *_ = bench.sweep()
        seen.append((order.key, order.phase))
        bench.store.nodes.release_join(order)
    assert sorted(seen[:-1]) == [("a", JOIN), ("b", JOIN), ("b", JOIN)]
    assert bench.store.traversals.complete("s-t2")


def test_whoever_takes_over_wakes_nothing_that_stands_at_a_hook(bench: Bench) -> None:
    (order,) = bench.begin({"a": set()}, hooks={"a": ["pre-create"]})
    claim = bench.claim(order, worker="dead")
    bench.store.sweeper.take_over(lambda name: name == "dead")
    (again,) = bench.sweep()
    claim = bench.claim(again)
    assert claim.looks
