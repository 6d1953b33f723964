"""Commands that were ordered, and are not to be started any more."""

import fcntl
from pathlib import Path

import pytest

from workers.agent.commands.launcher import LOCK, Answer
from workers.agent.commands.supervised import SupervisedProcess

TOUCH = ["touch", "started"]


@pytest.fixture
def process(tmp_path: Path) -> SupervisedProcess:
    return SupervisedProcess(tmp_path, uuid="web")


def test_what_was_called_off_is_not_started_by_a_launcher_that_comes_late(
    process: SupervisedProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        # As of a worker that dies when the order is on record.
        patch.setattr(process, "_launch", lambda run, env: Answer.STARTED)
        process.start("late", argv=TOUCH, cwd=tmp_path, env={}, now=0.0)
    process.call_off()
    assert process._launch("late", {"PATH": "/usr/bin:/bin"}) is Answer.SUPERSEDED
    assert process.status() is None
    assert not (tmp_path / "started").exists()


def test_what_has_begun_is_not_called_off(process: SupervisedProcess, tmp_path: Path) -> None:
    process.start("first", argv=["true"], cwd=tmp_path, env={"PATH": "/usr/bin:/bin"}, now=0.0)
    process.call_off()
    order = process.order()
    assert order is not None
    assert order["run"] == "first"


def test_a_supervisor_that_has_started_nothing_yet_is_seen_by_its_lock(
    process: SupervisedProcess, tmp_path: Path
) -> None:
    assert process.quiet()
    lock = tmp_path / "web" / LOCK
    lock.parent.mkdir()
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert process.gone()
        assert not process.quiet()
    assert process.quiet()
