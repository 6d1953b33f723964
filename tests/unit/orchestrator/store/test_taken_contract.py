"""What every store promises about jobs that were taken from the queue, and about the order in which they are begun."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import Conflict
from orchestrator.model.project_limits import JOBS
from orchestrator.store import tables
from orchestrator.store.installation.jobs_in_flight import AGAIN_SECONDS, FORGOTTEN_SECONDS, TakenJob
from orchestrator.store.store import Store
from tests.counting import statements
from tests.unit.orchestrator.store.conftest import Bench

LEASE_SECONDS = 60.0


def add(bench: Bench, job_id: str, project: str = "p") -> bool:
    return bench.store.taken_jobs.add(job_id, {"name": job_id}, project=project, task="stack.create")


def take(bench: Bench) -> TakenJob:
    taken = bench.store.taken_jobs.take(lease_seconds=LEASE_SECONDS)
    assert taken is not None
    # No two turns are at one time.
    bench.clock.pass_(0.001)
    return taken


def begin_all(bench: Bench) -> list[str]:
    """Take and remove jobs until none is due; return their ids."""
    begun = []
    while bench.store.taken_jobs.is_due():
        begun.append(taken := take(bench))
        bench.store.taken_jobs.remove(taken)
    return [each.id for each in begun]


def test_jobs_that_wait_are_counted_only_where_their_numbers_reach_the_limit(bench: Bench) -> None:
    """To count them for each that arrives would take a time that grows with their square."""
    taken = bench.store.taken_jobs

    def add_limited(job_id: str) -> None:
        taken.add(job_id, {}, project="p", task="stack.create", limits={JOBS: 4})

    for number in range(3):
        add_limited(f"{number}")
    # The second, so that the numbers have a gap.
    for _ in range(2):
        last = take(bench)
    taken.remove(last)
    with statements() as sent:
        add_limited("4")
        assert [sql for sql in sent if "count(*)" in sql] == []
        add_limited("5")
        assert len([sql for sql in sent if "count(*)" in sql]) == 1
    with pytest.raises(Conflict, match="it has 4"):
        add_limited("6")


def test_job_is_taken_once_and_forgotten_after_a_day(bench: Bench) -> None:
    taken = bench.store.taken_jobs
    assert not taken.is_taken("1")
    assert add(bench, "1")
    assert not add(bench, "1")
    assert taken.is_taken("1")
    assert not taken.is_taken("2")
    assert begin_all(bench) == ["1"]
    # It came again after it was done.
    assert not add(bench, "1")
    assert not taken.is_due()
    bench.clock.pass_(FORGOTTEN_SECONDS - 1)
    assert add(bench, "2")
    assert begin_all(bench) == ["2"]
    assert taken.take(lease_seconds=LEASE_SECONDS) is None
    assert taken.is_taken("1")
    bench.clock.pass_(2)
    assert taken.take(lease_seconds=LEASE_SECONDS) is None
    assert (taken.is_taken("1"), taken.is_taken("2")) == (False, True)


def test_first_job_of_a_project_waits_for_one_of_another_at_most(bench: Bench) -> None:
    for number in range(1000):
        add(bench, f"a{number}", "a")
    assert take(bench).id == "a0"
    add(bench, "b0", "b")
    add(bench, "b1", "b")
    add(bench, "c0", "c")
    assert [take(bench).id for _ in range(6)] == ["b0", "c0", "a1", "b1", "a2", "a3"]


def test_project_whose_jobs_come_one_by_one_does_not_keep_others_waiting(bench: Bench) -> None:
    for number in range(3):
        add(bench, f"a{number}", "a")
    order = []
    for number in range(6):
        add(bench, f"b{number}", "b")
        order.append(taken := take(bench))
        bench.store.taken_jobs.remove(taken)
    assert [each.id for each in order] == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_processes_that_take_at_once_take_each_job_once(
    bench: Bench,
) -> None:
    projects = [f"p{number}" for number in range(8)]
    for project in projects:
        for number in range(3):
            add(bench, f"{project}-{number}", project)
    together = Barrier(8)

    def taken(_: int) -> list[TakenJob]:
        together.wait()
        return [job for _ in range(3) if (job := bench.store.taken_jobs.take(lease_seconds=LEASE_SECONDS))]

    with ThreadPoolExecutor(8) as threads:
        all_taken = [job for some in threads.map(taken, range(8)) for job in some]
    # A row that another process holds is skipped, so that a process may find none though there is one.
    while job := bench.store.taken_jobs.take(lease_seconds=LEASE_SECONDS):
        all_taken.append(job)
    assert sorted(job.id for job in all_taken) == sorted(
        f"{project}-{number}" for project in projects for number in range(3)
    )
    assert {job.attempts for job in all_taken} == {1}


def test_job_that_is_held_is_taken_again_when_its_lease_ends(bench: Bench) -> None:
    add(bench, "1")
    first = take(bench)
    jobs = bench.store.taken_jobs
    assert not jobs.is_due()
    bench.clock.pass_(LEASE_SECONDS - 1)
    jobs.extend(first, lease_seconds=LEASE_SECONDS)
    bench.clock.pass_(LEASE_SECONDS - 1)
    assert jobs.take(lease_seconds=LEASE_SECONDS) is None
    bench.clock.pass_(1)
    second = take(bench)
    assert (first.attempts, second.attempts, second.id) == (1, 2, first.id)
    # The first process lives: it neither extends nor ends the lease of the second.
    jobs.put_back(first)
    bench.clock.pass_(LEASE_SECONDS - 1)
    jobs.extend(first, lease_seconds=LEASE_SECONDS)
    assert not jobs.is_due()
    bench.clock.pass_(1)
    assert jobs.is_due()
    # What it did is done.
    jobs.remove(first)
    assert not jobs.is_due()


def test_job_that_is_put_back_keeps_its_place_and_counts_no_attempt(bench: Bench) -> None:
    add(bench, "1")
    add(bench, "2")
    first = take(bench)
    bench.store.taken_jobs.put_back(first)
    assert take(bench).id == "2"
    bench.clock.pass_(AGAIN_SECONDS)
    again = take(bench)
    assert (again.id, again.attempts) == ("1", 1)


def test_content_of_a_job_is_that_which_was_added_and_is_sealed_with_a_key(bench: Bench) -> None:
    bench.store.taken_jobs.add("1", {"parameters": {"secret": "marker"}}, project="p", task="stack.create")
    with bench.store.database.read() as connection:
        stored = connection.execute(sa.select(tables.waiting_job.c.job)).scalar_one()
    assert (b"marker" in stored) == (stored[0] == 0)
    assert bench.store.taken_jobs.content(take(bench)) == {"parameters": {"secret": "marker"}}


def test_statements_of_a_job_are_counted() -> None:
    """Three when it arrives, two when its turn comes; one more removes it."""
    store = Store.empty()
    store.taken_jobs.add("1", {}, project="p", task="stack.create")
    with statements() as counted:
        store.taken_jobs.add("2", {}, project="p", task="stack.create")
        arrived = len(counted)
        taken = store.taken_jobs.take(lease_seconds=1)
        assert taken
        begun = len(counted)
        store.taken_jobs.remove(taken)
    assert (arrived, begun - arrived, len(counted) - begun) == (3, 2, 1)
    store.close()


@given(st.lists(st.sampled_from(["a", "b", "c", "take", "take"]), max_size=40))
def test_no_project_gets_two_turns_while_another_waits(history: list[str]) -> None:
    """Whatever arrives when: between the arrival of a job and its turn, no project has more turns than it and one."""
    now = [1000.0]
    store = Store("sqlite://", clock=lambda: now[0])
    with store.database.write() as connection:
        tables.metadata.create_all(connection)
    waiting: dict[str, list[str]] = {"a": [], "b": [], "c": []}
    turns_since: dict[str, dict[str, int]] = {}
    for number, step in enumerate([*history, *["take"] * len(history)]):
        now[0] += 1
        if step != "take":
            if not waiting[step]:
                turns_since[step] = {}
            waiting[step].append(f"{number}")
            store.taken_jobs.add(f"{number}", {}, project=step, task="stack.create")
            continue
        taken = store.taken_jobs.take(lease_seconds=1e9)
        if taken is None:
            assert not any(waiting.values())
            continue
        # In the order of arrival within a project.
        assert waiting[taken.project].pop(0) == taken.id
        turns_since[taken.project] = {}
        for other, since in turns_since.items():
            if waiting[other]:
                since[taken.project] = since.get(taken.project, 0) + 1
                assert since[taken.project] <= 1
    store.close()
