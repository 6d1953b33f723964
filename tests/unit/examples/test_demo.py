"""The demo does what it says on a real machine, and says so when something is wrong."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    """Where the demo makes its directory."""
    directory = tmp_path / "tmp"
    directory.mkdir()
    return directory


def start(temporary: Path, root: Path = ROOT) -> "subprocess.Popen[str]":
    """Start the demo among settings that it must not take over, in a process group of its own."""
    environment = {
        **os.environ,
        "TMPDIR": str(temporary),
        "ISOTHERM_BROKER_URL": "redis://127.0.0.1:1/0",
        "ISOTHERM_NO_SUCH_SETTING": "x",
    }
    return subprocess.Popen(
        [sys.executable, "examples/demo.py"],
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def left_running(temporary: Path) -> list[str]:
    """Return the command lines of processes that have to do with the demo's directory."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or ())
        if str(temporary) in line:
            found.append(line)
    return found


def copy_of_examples(tmp_path: Path) -> Path:
    root = tmp_path / "copy"
    shutil.copytree(ROOT / "examples", root / "examples")
    return root


def test_every_command_is_shown_and_nothing_is_left_behind(temporary: Path) -> None:
    demo = start(temporary)
    written, _ = demo.communicate()
    assert demo.returncode == 0, written
    commands = re.findall(r"^\$ isotherm stack (\w+)(?: (\w+) site (\w+))?", written, flags=re.MULTILINE)
    assert commands == [
        ("create", "", ""),
        ("output", "show", "url"),
        ("output", "show", "pid"),
        ("delete", "", ""),
        ("list", "", ""),
    ]
    assert "site CREATE_COMPLETE" in written
    assert "    A stack brought this page here.\n" in written
    assert "site DELETE_COMPLETE" in written
    (pid,) = re.findall(r"^It is served by process (\d+)", written, flags=re.MULTILINE)
    assert f"\nProcess {pid} is gone" in written
    assert left_running(temporary) == []
    assert list(temporary.iterdir()) == []


def test_a_page_that_says_something_else_fails_the_demo(temporary: Path, tmp_path: Path) -> None:
    root = copy_of_examples(tmp_path)
    (root / "examples" / "site" / "index.html").write_text("<body><p>Something else.</p></body>")
    demo = start(temporary, root)
    written, _ = demo.communicate()
    assert demo.returncode == 1, written
    assert "\nThe demo failed: the page does not say 'A stack brought this page here.'\n" in written
    assert left_running(temporary) == []
    assert list(temporary.iterdir()) == []


def test_a_stack_that_fails_fails_the_demo(temporary: Path, tmp_path: Path) -> None:
    root = copy_of_examples(tmp_path)
    (root / "examples" / "site" / "server.py").write_text("raise SystemExit('no server today')\n")
    demo = start(temporary, root)
    written, _ = demo.communicate()
    assert demo.returncode == 1, written
    assert "site CREATE_FAILED" in written
    assert "\nThe demo failed: 'isotherm stack create' ended with 1\n" in written
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "code", "to_group"),
    [(signal.SIGINT, 130, True), (signal.SIGTERM, 143, False)],
    ids=["ctrl-c", "terminated"],
)
def test_being_stopped_in_the_middle_leaves_nothing_behind(
    number: signal.Signals, code: int, to_group: bool, temporary: Path
) -> None:
    demo = start(temporary)
    assert demo.stdout is not None
    seen = []
    for line in demo.stdout:
        seen.append(line)
        if "server CREATE_IN_PROGRESS" in line:
            break
    # A terminal sends Ctrl-C to the command too; whoever terminates the demo knows nothing of it.
    if to_group:
        os.killpg(demo.pid, number)
    else:
        demo.send_signal(number)
    rest, _ = demo.communicate()
    assert demo.returncode == code, "".join(seen) + rest
    assert "Stopped; cleaning up." in rest
    assert "could not be deleted" not in rest
    assert "Traceback" not in rest
    assert left_running(temporary) == []
    assert list(temporary.iterdir()) == []
