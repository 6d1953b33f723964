"""A fresh environment with only what a page says that an example needs."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.unit.docs.pages import written_commands

#: The name of the environment on every page.
CLIENT = "client"


def set_up_of(page: Path) -> tuple[str, ...]:
    """Return the commands by which a page makes the environment of its example."""
    commands = (*written_commands(page, "python3 -m venv"), *written_commands(page, f"{CLIENT}/bin/pip"))
    assert len(commands) == 2, f"{page} makes no environment, or several"
    return commands


def set_up(directory: Path, commands: Sequence[str], environment: Mapping[str, str]) -> Path:
    """Run a page's commands, and return the environment that they make.

    Nothing of the environment of the tests may be found there.
    """
    outside = {
        name: value for name, value in environment.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=directory, env=outside, capture_output=True, text=True
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    made = directory / CLIENT
    hidden = "celery isotherm orchestrator workers hooks cache pytest"
    seen = "import importlib.util as u, sys; print([n for n in sys.argv[1:] if u.find_spec(n)])"
    there = subprocess.run(
        [str(made / "bin" / "python"), "-c", seen, *hidden.split()],
        cwd=directory,
        env=outside,
        capture_output=True,
        text=True,
        check=True,
    )
    assert there.stdout == "[]\n", there.stdout
    assert Path(sys.prefix) != made
    return made
