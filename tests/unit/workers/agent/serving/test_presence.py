"""One process of a machine acts for a node: the one before it ends, by itself or killed, or is in the way."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.errors import Conflict
from tests.waiting import PATIENCE_SECONDS
from workers.agent.serving.presence import Presence

HOLD = (
    "import sys, signal; from workers.agent.serving.presence import Presence; "
    "held = Presence('n1', sys.argv[1], patience_seconds=0); held.claim(); print('held', flush=True); {after}"
)


def holder(scope: str, after: str = "signal.pause()") -> "subprocess.Popen[str]":
    """Start a process that has the presence, and return when it has."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD.format(after=after), scope],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def claim(scope: str, patience_seconds: float) -> None:
    presence = Presence("n1", scope, patience_seconds=patience_seconds)
    presence.claim()
    presence.release()


def test_predecessor_that_stands_still_is_killed_at_once(tmp_path: Path) -> None:
    with holder(str(tmp_path)) as before:
        before.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, before.pid, os.WSTOPPED)
        claim(str(tmp_path), PATIENCE_SECONDS)
        assert before.wait() == -signal.SIGKILL


def test_predecessor_that_does_not_end_in_time_is_killed(tmp_path: Path) -> None:
    with holder(str(tmp_path)) as before:
        claim(str(tmp_path), 0.01)
        assert before.wait() == -signal.SIGKILL


def test_predecessor_may_end_by_itself(tmp_path: Path) -> None:
    with holder(str(tmp_path), "sys.stdin.read()") as before:
        assert before.stdin is not None
        before.stdin.close()
        claim(str(tmp_path), PATIENCE_SECONDS)
        assert before.wait() == 0


def test_agents_of_other_scopes_are_left_alone(tmp_path: Path) -> None:
    with holder(f"{tmp_path}/1") as other:
        claim(f"{tmp_path}/2", 0.0)
        assert other.poll() is None
        other.kill()


def test_agent_of_the_same_process_is_never_ended(tmp_path: Path) -> None:
    presence = Presence("n1", str(tmp_path), patience_seconds=0.0)
    presence.claim()
    with pytest.raises(
        Conflict, match=f"'n1' had an agent on this machine .*process {os.getpid()} .*end it first"
    ):
        claim(str(tmp_path), 0.0)
    presence.release()
