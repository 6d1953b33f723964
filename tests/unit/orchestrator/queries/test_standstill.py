"""An operation in progress on which nothing works says what it lacks, since when, and what to do."""

from typing import Any

import pytest

from orchestrator.queries.standstill import standstill_of
from orchestrator.views.operations import ProcessView


def process(kind: str, state: str = "present", **more: Any) -> ProcessView:
    known = {"name": kind, "host": "h", "pid": 1, "celery_name": "", "version": "1", "queues": ()}
    return ProcessView(
        kind=kind, state=state, **{**known, "started_at": 1.0, "seen_at": 95.0, "seen_seconds": 5.0, **more}
    )


def said(*processes: ProcessView, **more: Any) -> tuple[str, float | None, str] | None:
    found = standstill_of(processes, "web", **{"embedded": False, **more})
    return (found.lack, found.since, found.command) if found else None


def test_nothing_is_lacking_while_a_worker_and_a_coordinator_are_present() -> None:
    assert said(process("worker"), process("worker", "silent"), process("coordinator")) is None


@pytest.mark.parametrize("state", ["silent", "stopped"])
def test_the_last_worker_that_was_seen_says_since_when_there_is_none(state: str) -> None:
    gone = [process("worker", state, seen_at=at) for at in (80.0, 90.0)]
    assert said(process("coordinator"), *gone) == ("No worker has been seen", 90.0, "isotherm worker")


def test_without_a_coordinator_nothing_ends() -> None:
    workers = process("worker"), process("api"), process("embedded", "stopped")
    assert said(*workers) == (
        "No coordinator has been seen for a day or longer",
        None,
        "isotherm coordinator",
    )


def test_a_process_that_is_known_by_its_work_or_its_queue_is_a_worker() -> None:
    work = (("web", "s1", "port", "CREATE", 90.0, 150.0),)
    assert said(process("process", works_on=work), process("coordinator")) is None
    assert said(process("process", queues=("checks",)), process("coordinator")) is None


def test_a_broker_that_is_away_is_named_before_all_others() -> None:
    assert said(broker_away_since=7.0) == ("The broker has not been reached", 7.0, "isotherm doctor")


def test_without_a_broker_a_command_has_to_work() -> None:
    assert said(process("embedded"), embedded=True) is None
    dead = process("embedded", "silent")
    assert said(dead, embedded=True) == ("No process has been seen", 95.0, "isotherm stack watch web")
