"""The program that tests start quickly is the program."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.warm import warm_program

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
