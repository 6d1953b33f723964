"""What every store promises against actors that come late: a straggler's write, a lost message, a lost worker."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.model.messages import CLEANUP, CONVERGE, END, CheckOrder
from orchestrator.store import tables
from orchestrator.store.nodes.claims import Claim, Ending, Outcome
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import begin_delete, begin_update, created, node_of, order_of

LEASE = 60.0


def rows(bench: Bench) -> list[list[dict[str, Any]]]:
    """Return all rows that a check writes."""
    found = (tables.stack, tables.traversal, tables.node, tables.resource, tables.event)
    with bench.store.database.read() as connection:
        return [
            [dict(row._mapping) for row in connection.execute(sa.select(table).order_by(*table.primary_key))]
            for table in found
        ]


def change(bench: Bench, sql: sa.UpdateBase) -> None:
    with bench.store.database.write() as connection:
        assert connection.execute(sql).rowcount == 1


def claimed_again(bench: Bench, claim: Claim) -> Claim:
    """Let the lease of a claim end, and another worker claim the node."""
    bench.clock.pass_(LEASE + 1)
    (again,) = (order for order in bench.sweep() if order.no == claim.order.no)
    new = bench.claim(again, worker="second")
    assert new.attempt == claim.attempt + 1
    return new


# -- stragglers: an attempt that was taken over writes nothing ---------------------------------------------------------


@pytest.mark.parametrize("ending", list(Ending))
@pytest.mark.parametrize("looks", [False, True])
def test_finish_of_an_attempt_that_was_taken_over_changes_nothing(
    bench: Bench, ending: Ending, looks: bool
) -> None:
    hooks = {"a": ["pre-create", "post-create"]} if looks else {}
    (order,) = bench.begin({"a": set(), "b": {"a"}}, hooks=hooks)
    old = bench.claim(order)
    new = claimed_again(bench, old)
    before = rows(bench)
    hook = "pre-create" if ending is Ending.PAUSED else ""
    late = Outcome(ending=ending, reason="late", physical_id="late", new_id="late", hook=hook)
    assert not bench.store.nodes.finish(old, late).accepted
    assert rows(bench) == before
    assert bench.store.nodes.finish(new, late).accepted
    # Nor does one that comes after the one that took over has finished.
    after = rows(bench)
    assert not bench.store.nodes.finish(old, late).accepted
    assert rows(bench) == after


def test_heartbeat_of_an_attempt_that_was_taken_over_keeps_nothing_alive(bench: Bench) -> None:
    (order,) = bench.begin({"a": set()})
    old = bench.claim(order)
    new = claimed_again(bench, old)
    before = rows(bench)
    bench.clock.pass_(LEASE - 1)
    bench.store.nodes.heartbeat([(order.traversal_id, order.no, old.attempt)])
    assert rows(bench) == before
    bench.store.nodes.heartbeat([(order.traversal_id, order.no, new.attempt)])
    assert node_of(bench, "a", CONVERGE, number=1).due_at == bench.clock.now + LEASE
    # One that finished is no more alive than it says.
    bench.finish(new, Ending.WAITING, seconds=5)
    before = rows(bench)
    bench.store.nodes.heartbeat([(order.traversal_id, order.no, new.attempt)])
    assert rows(bench) == before


def test_end_belongs_to_the_coordinator_that_claimed_it_last(bench: Bench) -> None:
    """The first may finish its callbacks after the second has begun to call them anew."""
    (order,) = bench.begin({"a": set()})
    (end,) = bench.run(order)
    bench.store.traversals.complete(end.traversal_id)
    first = bench.store.traversals.claim_end(end, worker="first")
    bench.clock.pass_(LEASE + 1)
    (again,) = bench.sweep()
    second = bench.store.traversals.claim_end(again, worker="second")
    assert first is not None
    assert second is not None
    before = rows(bench)
    bench.store.traversals.finish_end(first)
    assert rows(bench) == before
    assert not bench.store.traversals.is_end_finished(end.traversal_id)
    # Should the second one die, a third is called.
    bench.clock.pass_(LEASE + 1)
    (again,) = bench.sweep()
    third = bench.store.traversals.claim_end(again, worker="third")
    assert third is not None
    assert [each.attempt for each in (first, second, third)] == [1, 2, 3]
    bench.store.traversals.finish_end(third)
    assert bench.store.traversals.is_end_finished(end.traversal_id)
    assert node_of(bench, "", END, number=1).due_at is None


def test_end_that_is_ready_again_is_not_finished_by_the_coordinator_before(bench: Bench) -> None:
    (order,) = bench.begin({"a": set()})
    (end,) = bench.run(order)
    bench.store.traversals.complete(end.traversal_id)
    first = bench.store.traversals.claim_end(end, worker="first")
    assert first is not None
    bench.clock.pass_(LEASE + 1)
    assert [each.phase for each in bench.sweep()] == [END]
    bench.store.traversals.finish_end(first)
    assert not bench.store.traversals.is_end_finished(end.traversal_id)


# -- lost messages: all that is ready comes again --------------------------------------------------------------

Fail = Callable[[Bench, str], object]


def out_of_time(bench: Bench) -> None:
    bench.clock.pass_(3601)
    bench.sweep()


FAILURES: dict[str, Fail] = {
    "cancelled": lambda bench, traversal_id: bench.store.traversals.cancel(
        traversal_id, reason="enough", job_id="j"
    ),
    "fenced": lambda bench, traversal_id: bench.store.traversals.fence(traversal_id),
    "timed out": lambda bench, _: out_of_time(bench),
}


@pytest.mark.parametrize("how", FAILURES)
def test_end_that_was_ready_when_its_traversal_failed_comes_all_the_same(bench: Bench, how: str) -> None:
    """All resources are made, the traversal is not marked complete yet, and the message about it is lost."""
    (order,) = bench.begin({"a": set()})
    (end,) = bench.run(order)
    assert end.phase == END
    FAILURES[how](bench, end.traversal_id)
    assert bench.store.stacks.find("s", project="p").status == "FAILED"
    bench.clock.pass_(1000)
    (again,) = bench.sweep()
    assert again.phase == END
    ending = bench.store.traversals.claim_end(again, worker="c")
    assert ending is not None
    assert ending.status == "FAILED"


@pytest.mark.parametrize("how", FAILURES)
def test_end_of_a_traversal_that_failed_half_way_comes_although_its_message_is_lost(
    bench: Bench, how: str
) -> None:
    first, _ = bench.begin({"a": set(), "b": set()})
    bench.finish(bench.claim(first), Ending.WAITING, seconds=100_000)
    FAILURES[how](bench, first.traversal_id)
    bench.clock.pass_(1000)
    assert [each.phase for each in bench.sweep()] == [END]


# -- locks: a node that waits for one is woken ---------------------------------------------------------------------


def contested(bench: Bench, *, delete: bool = False) -> tuple[Claim, CheckOrder]:
    """Return the claim of an old traversal on a resource, and the order of the newer one, which waits for it long."""
    created(bench, {"a": set()})
    (first,) = begin_update(bench, {"a": set()})
    old = bench.claim(first)
    if delete:
        assert begin_delete(bench, number=3, after=2)
        order = order_of(bench, node_of(bench, "a", CLEANUP, number=3).no, number=3)
    else:
        (order, *_) = begin_update(bench, {"a": set()}, number=3)
    assert bench.store.nodes.claim(order, worker="new") is None
    node = tables.node
    mine = tables.in_traversal("s-t3") & (node.c.no == order.no)
    change(bench, node.update().where(mine, node.c.state == "waiting").values(due_at=1e12))
    return old, order


@pytest.mark.parametrize("delete", [False, True])
@pytest.mark.parametrize("ending", list(Ending))
def test_every_finish_of_a_superseded_step_wakes_the_node_that_waits_for_its_resource(
    bench: Bench, ending: Ending, delete: bool
) -> None:
    old, order = contested(bench, delete=delete)
    hook = "pre-update" if ending is Ending.PAUSED else ""
    outcome = Outcome(ending=ending, physical_id="p", new_id="new", hook=hook, properties={})
    finished = bench.store.nodes.finish(old, outcome)
    assert finished.accepted
    assert [(each.traversal_id, each.no) for each in finished.ready] == [("s-t3", order.no)]
    bench.claim(finished.ready[0])


@pytest.mark.parametrize("delete", [False, True])
def test_lock_of_a_superseded_worker_that_died_is_passed_on_by_the_sweep_at_once(
    bench: Bench, delete: bool
) -> None:
    old, order = contested(bench, delete=delete)
    assert old.order.traversal_id == "s-t2"
    bench.clock.pass_(LEASE + 1)
    woken = [each for each in bench.sweep() if each.phase != END]
    assert [(each.traversal_id, each.no) for each in woken] == [("s-t3", order.no)]
    bench.claim(woken[0])


def test_to_wait_for_a_lock_is_no_attempt(bench: Bench) -> None:
    created(bench, {"a": set()})
    (first,) = begin_update(bench, {"a": set()})
    old = bench.claim(first)
    (order, *_) = begin_update(bench, {"a": set()}, number=3)
    for _ in range(3):
        assert bench.store.nodes.claim(order, worker="new") is None
        assert node_of(bench, "a", CONVERGE, number=3).attempt == 0
        bench.store.nodes.heartbeat([("s-t2", old.order.no, old.attempt)])
        bench.clock.pass_(6)
        (order,) = (each for each in bench.sweep() if each.phase == CONVERGE)
        assert order.traversal_id == "s-t3"
    (woken,) = bench.finish(old).ready or (order,)
    assert bench.claim(woken).attempt == 1


def test_node_that_only_waited_for_a_lock_begins_nothing_once_its_traversal_failed(bench: Bench) -> None:
    """The failure of a traversal stops what has no attempt yet: a claim in vain must not look like one."""
    old, order = contested(bench)
    bench.store.traversals.cancel("s-t3", reason="enough", job_id="j")
    (woken, *_) = (*bench.finish(old, Ending.WAITING, seconds=5).ready, order)
    assert bench.store.nodes.claim(woken, worker="new") is None
    row = bench.store.stacks.resource("s-id", "a")
    assert (row.action, row.status) == ("UPDATE", "IN_PROGRESS")


# -- time-outs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("locked", [False, True])
def test_time_out_fails_what_waits_and_leaves_alone_what_another_attempt_holds(
    bench: Bench, locked: bool
) -> None:
    """A running step records its own end, and would set a resource that failed meanwhile to sound again."""
    (order,) = bench.begin({"a": set()}, minutes=10)
    bench.finish(bench.claim(order), Ending.WAITING, seconds=100_000)
    if locked:
        resource = tables.resource
        held = {"lock_traversal": "s-t0", "lock_no": 7, "lock_attempt": 3}
        change(bench, resource.update().where(resource.c.id == "s-a").values(**held))
    bench.clock.pass_(601)
    bench.sweep()
    assert bench.store.stacks.find("s", project="p").status == "FAILED"
    row = bench.store.stacks.resource("s-id", "a")
    assert (row.action, row.status) == ("CREATE", "IN_PROGRESS" if locked else "FAILED")
    statuses = [event.status for event in bench.store.events.read("s-id") if event.resource == "a"]
    assert statuses == ["IN_PROGRESS"] + ["FAILED"] * (not locked)


# -- states half way -------------------------------------------------------------------------------------------

IDS = ("s-a", "s-b", "s-c")


@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    before=st.frozensets(st.sampled_from(IDS)),
    given_=st.lists(st.frozensets(st.sampled_from(IDS)), min_size=1, max_size=3),
    ending=st.sampled_from([Ending.WAITING, Ending.RETRY, Ending.FAILED, Ending.NEXT]),
)
def test_row_requires_both_what_it_did_and_what_its_update_is_about_to_use_until_that_is_done(
    bench: Bench, before: frozenset[str], given_: list[frozenset[str]], ending: Ending
) -> None:
    """Otherwise a requirement could be deleted that the object still uses, or uses already."""
    for table in (tables.stack, tables.traversal, tables.node, tables.resource, tables.event, tables.job):
        with bench.store.database.write() as connection:
            connection.execute(table.delete())
    names = {each.removeprefix("s-") for each in before}
    created(bench, {"a": set(), "b": set(), "c": set(), "it": names})
    change(
        bench,
        tables.resource.update()
        .where(tables.resource.c.id == "s-it")
        .values(requires=str(sorted(before)).replace("'", '"')),
    )
    used = set(before)
    for number, required in enumerate(given_, 2):
        orders = begin_update(bench, {"a": set(), "b": set(), "c": set(), "it": set()}, number=number)
        (order,) = (each for each in orders if each.key == "it")
        claim = bench.claim(order)
        assert set(claim.requires) == used
        outcome = Outcome(ending=ending, requires=sorted(required), physical_id="p", properties={})
        assert bench.store.nodes.finish(claim, outcome).accepted
        used = set(required) if ending is Ending.DONE else used | required
        assert set(bench.store.stacks.resource("s-id", "it").requires) == used
    if ending is Ending.NEXT:
        (order,) = (each for each in bench_orders(bench, number))
        done = Outcome(ending=Ending.DONE, requires=["s-a"], physical_id="p", properties={}, node_data=["x"])
        assert bench.store.nodes.finish(bench.claim(order), done).accepted
        assert set(bench.store.stacks.resource("s-id", "it").requires) == {"s-a"}


@pytest.mark.parametrize("finished", [False, True])
def test_row_requires_what_a_running_step_was_given_once_another_traversal_takes_over(
    bench: Bench, finished: bool
) -> None:
    """Its worker may be dead, and the object made with what it was given."""
    created(bench, {"a": set(), "b": set(), "it": {"a"}})
    row = tables.resource
    change(bench, row.update().where(row.c.id == "s-it").values(requires='["s-a"]'))
    orders = begin_update(bench, {"a": set(), "b": set(), "it": {"b"}}, clean=["a"])
    (order,) = (each for each in orders if each.key == "b")
    (order,) = (each for each in bench.run(order) if each.key == "it")
    claim = bench.claim(order)
    assert bench.store.stacks.resource("s-id", "it").requires == ("s-a",)
    if finished:
        bench.store.nodes.finish(
            claim, Outcome(ending=Ending.DONE, requires=["s-b"], physical_id="p", node_data=["x"])
        )
    assert begin_update(bench, {"a": set(), "b": set(), "it": set()}, number=3)
    assert bench.store.stacks.resource("s-id", "it").requires == (("s-b",) if finished else ("s-a", "s-b"))


def bench_orders(bench: Bench, number: int) -> list[CheckOrder]:
    """Return the order of the node that goes on, as the sweep sends it."""
    bench.clock.pass_(11)
    return [each for each in bench.sweep() if each.key == "it" and each.traversal_id == f"s-t{number}"]


@pytest.mark.parametrize("ending", [Ending.WAITING, Ending.RETRY])
def test_what_an_update_is_about_to_apply_is_known_to_its_next_step(bench: Bench, ending: Ending) -> None:
    created(bench, {"a": set()})
    (order,) = begin_update(bench, {"a": set()})
    outcome = Outcome(
        ending=ending,
        token={"made": 1},
        is_over=ending is Ending.RETRY,
        in_flight={"p": 2},
        seconds=1,
        physical_id="p",
    )
    assert bench.store.nodes.finish(bench.claim(order), outcome).accepted
    bench.clock.pass_(2)
    for number in (2, 3):
        if number == 3:
            begin_update(bench, {"a": set()}, number=3)
            orders = [order_of(bench, node_of(bench, "a", CONVERGE, number=3).no, number=3)]
        else:
            orders = list(bench.sweep())
        claim = bench.claim(orders[0])
        assert (claim.token, claim.in_flight, claim.properties) == ({"made": 1}, {"p": 2}, {"p": 1})
        bench.store.nodes.finish(claim, outcome)
