"""The example ``examples/review`` plans on a change, and applies on a merge."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import keys
from tests.unit.docs.pages import ROOT
from tests.warm import warm_program

Script = Callable[..., str]


@pytest.fixture
def ci(tmp_path: Path) -> Script:
    """Return the script, in a directory of its own."""
    shutil.copytree(ROOT / "examples" / "review", tmp_path / "review")
    environment = {
        **keys.others(),
        "PATH": os.pathsep.join([str(warm_program().parent), os.environ["PATH"]]),
        "ISOTHERM_STATE_DIRECTORY": str(tmp_path / "state"),
    }

    def run(*words: str, code: int = 0) -> str:
        command = ["sh", "review/ci.sh", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def test_a_pipeline_plans_on_a_change_and_applies_on_a_merge(ci: Script, tmp_path: Path) -> None:
    assert "there are changes: see review.md" in ci("plan")
    assert "### Create of the stack service" in (tmp_path / "review.md").read_text()
    assert "service CREATE_COMPLETE" in ci("apply")
    assert "nothing is to be done" in ci("plan")
    assert "nothing is to be done" in ci("apply")
    (tmp_path / "review" / "production.yaml").write_text("parameters: {greeting: bye}\n")
    ci("plan")
    assert "| value.greeting | welcome | bye |" in (tmp_path / "review.md").read_text()
    shutil.copy(tmp_path / "service.plan", tmp_path / "kept.plan")
    assert "service UPDATE_COMPLETE" in ci("apply")
    # The job is run again: its plan was applied.
    assert "applied already" in ci("apply", code=2)
    (tmp_path / "review" / "production.yaml").write_text("parameters: {greetings: bye}\n")
    assert "greeting" in ci("plan", code=1)
    assert not (tmp_path / "service.plan").exists()
