"""What an instance is, from what is on record of its run."""

import os
from dataclasses import replace

import pytest

from workers.agent.commands.identity import start_mark
from workers.agent.commands.supervised import Status
from workers.agent.hypervisors.hypervisor import InstanceState
from workers.agent.hypervisors.process.state import state_of

MARK = start_mark(os.getpid()) or ""
RUNS = Status(
    run="r1",
    pid=os.getpid(),
    mark=MARK,
    supervisor=0,
    supervisor_mark="",
    started_at=0.0,
    exit_code=None,
    error="",
)
GONE = replace(RUNS, mark="another-boot/1")
SHUTDOWN, CRASHED = InstanceState.SHUTDOWN, InstanceState.CRASHED


@pytest.mark.parametrize(
    ("status", "resting", "expected"),
    [
        (None, False, (SHUTDOWN, "not started")),
        (replace(GONE, run="r0", exit_code=3), False, (SHUTDOWN, "not started")),
        (RUNS, False, (InstanceState.RUNNING, "running")),
        (GONE, False, (CRASHED, "ended unseen")),
        (GONE, True, (SHUTDOWN, "ended unseen")),
        (replace(GONE, exit_code=0), False, (SHUTDOWN, "exit code 0")),
        (replace(GONE, exit_code=3), False, (CRASHED, "exit code 3")),
        (replace(GONE, exit_code=-15), True, (SHUTDOWN, "ended by SIGTERM")),
        (replace(GONE, exit_code=-15), False, (CRASHED, "ended by SIGTERM")),
        (replace(GONE, exit_code=-40), False, (CRASHED, "ended by signal 40")),
        (replace(GONE, exit_code=127, error="No such file"), False, (CRASHED, "cannot be run: No such file")),
    ],
    ids=[
        "none",
        "other-run",
        "runs",
        "lost",
        "stopped",
        "well",
        "ill",
        "asked",
        "killed",
        "nameless",
        "program",
    ],
)
def test_a_run_tells_what_the_instance_is(
    status: Status | None, resting: bool, expected: tuple[InstanceState, str]
) -> None:
    running = status is not None and status.running
    assert state_of(status, running=running, run="r1", resting=resting, still=False) == expected


def test_one_that_stands_still_is_paused() -> None:
    assert state_of(RUNS, running=True, run="r1", resting=False, still=True) == (
        InstanceState.PAUSED,
        "stopped",
    )
