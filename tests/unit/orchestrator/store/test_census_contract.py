"""What every store promises to whoever counts what there is."""

import pytest

from orchestrator.model.messages import END
from orchestrator.store import tables
from orchestrator.store.nodes.claims import Ending
from tests.unit.orchestrator.store.conftest import Bench


def test_an_empty_installation_has_nothing_of_anything(bench: Bench) -> None:
    count = bench.store.census.take()
    assert (count.stacks, count.nodes, count.queue_age_seconds, count.overdue) == ({}, {}, 0.0, 0)
    assert (count.machines, count.at) == (0, bench.clock.now)


def test_stacks_are_counted_by_state_and_their_resources_while_something_is_under_way(bench: Bench) -> None:
    bench.run_all(bench.begin({"a": set(), "b": {"a"}}, stack="done"))
    (first,) = bench.begin({"a": set(), "b": {"a"}, "c": {"b"}})
    bench.run(first)
    count = bench.store.census.take()
    assert count.stacks == {("CREATE", "COMPLETE"): 1, ("CREATE", "IN_PROGRESS"): 1}
    # Of the stack that is complete, no node is told, nor is the end of the other.
    assert count.nodes == {"done": 1, "ready": 1, "blocked": 1}


def test_what_failed_is_under_way_no_more(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    bench.finish(bench.claim(a), Ending.FAILED, reason="no room")
    count = bench.store.census.take()
    assert (count.stacks, count.nodes) == ({("CREATE", "FAILED"): 1}, {})


def test_a_deleted_stack_is_not_counted(bench: Bench) -> None:
    bench.begin({"a": set()})
    with bench.store.database.write() as connection:
        connection.execute(tables.stack.update().values(deleted_at=1.0))
    assert bench.store.census.take().stacks == {}


def test_the_queue_is_as_old_as_what_waits_longest_in_it(bench: Bench) -> None:
    a, _ = bench.begin({"a": set(), "b": set(), "c": {"a"}})
    bench.clock.pass_(3)
    bench.run(a)
    bench.clock.pass_(2)
    assert bench.store.census.take().queue_age_seconds == pytest.approx(5)
    for _ in range(3):
        bench.clock.pass_(40)
        bench.sweep()
    # Published again, it has not become any younger.
    assert bench.store.census.take().queue_age_seconds == pytest.approx(125)


def test_what_waits_in_a_long_queue_and_is_not_published_again_grows_old(bench: Bench) -> None:
    bench.begin({"a": set(), "b": set()})
    for _ in range(3):
        bench.clock.pass_(40)
        bench.store.sweeper.sweep(backlog=2)
    assert bench.store.census.take().queue_age_seconds == pytest.approx(120)


def test_what_becomes_ready_again_waits_from_then_on(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    bench.clock.pass_(30)
    bench.finish(bench.claim(a), Ending.WAITING, seconds=20)
    assert bench.store.census.take().queue_age_seconds == 0
    bench.clock.pass_(25)
    bench.sweep()
    assert bench.store.census.take().queue_age_seconds == 0
    bench.clock.pass_(4)
    assert bench.store.census.take().queue_age_seconds == pytest.approx(4)
    # Nor does a worker that is lost make it any older.
    bench.claim(a)
    bench.clock.pass_(70)
    bench.sweep()
    bench.clock.pass_(1)
    assert bench.store.census.take().queue_age_seconds == pytest.approx(1)


def test_work_whose_worker_is_silent_for_a_lease_is_overdue(bench: Bench) -> None:
    a, b = bench.begin({"a": set(), "b": set()})
    assert END not in (a.phase, b.phase)
    bench.claim(a)
    assert bench.store.census.take().overdue == 0
    bench.clock.pass_(61)
    assert bench.store.census.take().overdue == 1
