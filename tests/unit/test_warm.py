"""The program that tests start quickly is the program."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.warm import start, warm_program

PROGRAM = str(Path(sys.executable).with_name("isotherm"))


@pytest.mark.parametrize(
    "words", [("--version",), ("stack", "show", "web"), ("stack", "lsit"), ("stack", "list", "-f", "json")]
)
def test_it_says_what_the_program_says(words: tuple[str, ...], tmp_path: Path) -> None:
    environment = {**os.environ, "ISOTHERM_STATE_DIRECTORY": str(tmp_path)}
    slow, quick = (
        subprocess.run([each, *words], env=environment, cwd=tmp_path, capture_output=True, text=True)
        for each in (PROGRAM, str(warm_program()))
    )
    assert (quick.returncode, quick.stdout, quick.stderr) == (slow.returncode, slow.stdout, slow.stderr)


def test_a_signal_reaches_the_command(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(
        "heat_template_version: 2021-04-16\n"
        "resources: {slow: {type: OS::Heat::TestResource, properties: {wait_secs: 60}}}\n"
    )
    environment = {**os.environ, "ISOTHERM_STATE_DIRECTORY": str(tmp_path)}
    command = [str(warm_program()), "stack", "create", "web", "-t", str(tmp_path / "t.yaml")]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "CREATE_IN_PROGRESS" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode != 0
    assert "Traceback" not in said


def test_what_goes_on_is_a_process_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(
        "heat_template_version: 2021-04-16\n"
        "resources: {slow: {type: OS::Heat::TestResource, properties: {wait_secs: 60}}}\n"
    )
    environment = {**os.environ, "ISOTHERM_STATE_DIRECTORY": str(tmp_path)}
    with start(
        ["stack", "create", "web", "-t", "t.yaml"], directory=tmp_path, environment=environment
    ) as process:
        assert process.stdout is not None
        assert "CREATE_IN_PROGRESS" in process.stdout.readline()
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        assert psutil.Process(process.pid).cwd() == str(tmp_path)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    assert not psutil.pid_exists(process.pid)


def test_what_goes_on_ends_as_it_would(tmp_path: Path) -> None:
    environment = {**os.environ, "ISOTHERM_STATE_DIRECTORY": str(tmp_path), "ISOTHERM_BROKER_URL": ""}
    process = start(["worker"], directory=tmp_path, environment=environment)
    assert process.stdout is not None
    with process.stdout as said:
        assert "broker" in said.read()
    assert process.wait() == 2
