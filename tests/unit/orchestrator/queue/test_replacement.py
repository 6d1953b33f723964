"""A Celery process in which something hangs ends once nothing else runs in it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from orchestrator.queue.replacement import CeleryReplacement
from tests.waiting import PATIENCE_SECONDS

#: Long enough to see that a process does not end although it could.
GLANCE_SECONDS = 0.05


class Process:
    """A process with threads for its tasks, which ends by an event."""

    def __init__(self) -> None:
        self.stopped, self.ended = threading.Event(), threading.Event()
        self.replacement = CeleryReplacement(
            stop=self.stopped.set, end=self.ended.set, quiet_seconds=GLANCE_SECONDS
        )

    @contextmanager
    def task(self) -> Iterator[tuple[threading.Thread, Callable[[], None]]]:
        """Run a task in a thread of its own, until the function is called."""
        begun, go = threading.Event(), threading.Event()

        def run() -> None:
            self.replacement._begin_task()
            begun.set()
            go.wait()
            self.replacement._end_task()

        thread = threading.Thread(target=run)
        thread.start()
        assert begun.wait(PATIENCE_SECONDS)

        def end() -> None:
            go.set()
            thread.join()

        try:
            yield thread, end
        finally:
            end()


@pytest.fixture
def process() -> Process:
    return Process()


def test_a_process_ends_when_it_has_no_task(process: Process) -> None:
    process.replacement.request()
    assert process.ended.wait(PATIENCE_SECONDS)
    assert process.stopped.is_set()


def test_a_task_is_let_end_and_no_further_one_is_taken(process: Process) -> None:
    with process.task() as (_, end):
        process.replacement.request()
        assert process.stopped.wait(PATIENCE_SECONDS)
        assert not process.ended.wait(GLANCE_SECONDS * 3)
        end()
        assert process.ended.wait(PATIENCE_SECONDS)


def test_a_task_that_hangs_is_not_waited_for_but_the_others_are(process: Process) -> None:
    with process.task() as (hung, _), process.task() as (_, end):
        process.replacement.give_up(hung)
        assert not process.ended.wait(GLANCE_SECONDS * 3)
        end()
        assert process.ended.wait(PATIENCE_SECONDS)
        # Still at it.
        assert hung.is_alive()


def test_a_second_task_that_hangs_does_not_keep_the_process(process: Process) -> None:
    with process.task() as (first, _), process.task() as (second, _):
        process.replacement.give_up(first)
        assert process.stopped.wait(PATIENCE_SECONDS)
        process.replacement.give_up(second)
        assert process.ended.wait(PATIENCE_SECONDS)


def test_without_a_fault_nothing_ends(process: Process) -> None:
    with process.task():
        pass
    assert not process.ended.wait(GLANCE_SECONDS * 3)
    assert not process.stopped.is_set()


class Job:
    """A task that is delivered again if its process ends."""

    acks_late = True


def test_a_child_that_is_to_end_begins_no_job_however_closely_jobs_follow_each_other() -> None:
    ended = threading.Event()
    replacement = CeleryReplacement(stop=lambda: None, end=ended.set, quiet_seconds=PATIENCE_SECONDS)
    replacement._begin_task(task=Job())
    replacement._end_task()
    # In a child of the process in which it was made.
    replacement._made_in += 1
    replacement.request()
    replacement._begin_task(task=object())
    assert not ended.is_set()
    replacement._begin_task(task=Job())
    assert ended.is_set()
