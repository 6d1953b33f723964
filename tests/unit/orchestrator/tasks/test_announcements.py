"""Announcements of recorded jobs: who is told of them, and when the next one is begun."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from celery import Celery

from orchestrator import tasks
from orchestrator.model.messages import (
    COORDINATOR_QUEUE,
    STACKS_QUEUE,
    DeleteJob,
)
from orchestrator.processes.runtime import Runtime
from orchestrator.queue.celery_app import send_job
from orchestrator.queue.job_slots import JobSlots
from tests.unit.orchestrator.tasks.jobs import accept, answer, carry_out


def announced(app: Celery) -> int:
    return channel_of(app)._size(COORDINATOR_QUEUE)  # type: ignore[no-any-return]


def channel_of(app: Celery) -> Any:
    # Given back: the pool is that of all apps of this process with a broker in memory.
    with app.pool.acquire(block=True) as connection:
        return connection.default_channel


def test_last_job_that_is_unread_announces_and_each_turn_announces_two_while_more_are_due(
    runtime: Runtime, app: Celery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "BEGINNING_SECONDS", -1.0)
    send_job(app, DeleteJob(name="s", job_id="unread"), stack="s")
    accept(DeleteJob.task, {"name": "s", "job_id": "0"})
    assert announced(app) == 0
    channel_of(app)._purge(STACKS_QUEUE)
    for number in range(1, 3):
        accept(DeleteJob.task, {"name": "s", "job_id": f"{number}"})
    assert announced(app) == 2
    # One for another slot, before it begins, and one for its own, when that is free.
    tasks.begin_next()
    assert announced(app) == 4
    tasks.begin_next()
    assert announced(app) == 6
    # There is none any more.
    for _ in range(2):
        tasks.begin_next()
    assert announced(app) == 6


def test_many_jobs_are_begun_by_one_announcement_and_another_process_is_told_of_them_once(
    runtime: Runtime, app: Celery
) -> None:
    jobs = [f"{number}" for number in range(20)]
    for job in jobs:
        runtime.store.taken_jobs.add(job, {"job": {"name": "s"}}, project="p", task=DeleteJob.task)
    tasks.begin_next()
    assert {answer(runtime, job).status for job in jobs} == {"refused"}
    assert announced(app) == 1


def test_announcement_at_the_end_of_a_job_finds_its_slot_free(
    runtime: Runtime, app: Celery, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[bool] = []

    class Slots:
        """One slot, which is held within the block."""

        is_held = False

        @contextmanager
        def one(self) -> Iterator[bool]:
            self.is_held = True
            yield True
            self.is_held = False

    slots = Slots()
    monkeypatch.setattr(tasks, "BEGINNING_SECONDS", -1.0)
    monkeypatch.setattr(tasks, "job_slots", slots)
    monkeypatch.setattr(tasks, "announce_job", lambda _app: held.append(slots.is_held))
    for number in range(2):
        runtime.store.taken_jobs.add(f"{number}", {"name": "s"}, project="p", task=DeleteJob.task)
    tasks.begin_next()
    assert held == [True, False]


def test_sweep_announces_jobs_whose_announcement_was_lost(runtime: Runtime, app: Celery) -> None:
    tasks.sweep()
    assert announced(app) == 0
    runtime.store.taken_jobs.add("1", {"name": "s"}, project="p", task=DeleteJob.task)
    tasks.sweep()
    assert announced(app) == 1


def test_no_job_is_begun_while_others_are_unread_but_not_for_ever(
    runtime: Runtime, app: Celery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose turn it is is known when all are read; a flood of messages must not stop all work."""
    now = [1000.0]
    monkeypatch.setattr("orchestrator.tasks.time.monotonic", lambda: now[0])
    accept(DeleteJob.task, {"name": "s", "job_id": "1"})
    send_job(app, DeleteJob(name="s", job_id="2"), stack="s")
    tasks.begin_next()
    assert runtime.store.stacks.job("1") is None
    now[0] += tasks.READING_SECONDS
    tasks.begin_next()
    assert answer(runtime, "1").status == "refused"
    accept(DeleteJob.task, {"name": "s", "job_id": "3"})
    tasks.begin_next()
    assert runtime.store.stacks.job("3") is None
    channel_of(app)._purge(STACKS_QUEUE)
    tasks.begin_next()
    assert answer(runtime, "3").status == "refused"


def test_no_job_is_begun_without_a_free_slot(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is short, such as the sweep and the arrival of jobs, needs no slot."""
    slots = JobSlots()
    slots.limit(0)
    monkeypatch.setattr(tasks, "job_slots", slots)
    carry_out(DeleteJob.task, {"name": "s", "job_id": "1"})
    assert runtime.store.taken_jobs.is_taken("1")
    assert runtime.store.stacks.job("1") is None
    tasks.sweep()
