"""The Makefile says what is wrong with a machine before it installs anything."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TARGETS = {"help", "venv", "demo", "test", "check", "docs", "frontend", "bench", "clean"}

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", "-C", str(ROOT), *arguments], capture_output=True, text=True, env=environment, check=False
    )


def python_that_refuses(code_with: str, tmp_path: Path) -> Path:
    """Return an interpreter that fails where the code it is given holds a certain text."""
    interpreter = tmp_path / "python"
    interpreter.write_text(f'#!/bin/sh\ncase "$*" in *{code_with}*) exit 1 ;; esac\n')
    interpreter.chmod(0o755)
    return interpreter


def test_help_is_the_default_and_lists_every_target() -> None:
    listed = re.findall(r"^  make (\S+) +\S", make().stdout, flags=re.MULTILINE)
    assert set(listed) == TARGETS


@pytest.mark.parametrize(
    ("refused", "sentence"),
    [("version_info", "needs Python 3.11 or newer"), ("ensurepip", "apt-get install python3-venv")],
)
def test_unfit_python_is_named_before_anything_is_made(refused: str, sentence: str, tmp_path: Path) -> None:
    python = python_that_refuses(refused, tmp_path)
    venv = tmp_path / "venv"
    result = make("venv", f"PYTHON={python}", f"VENV={venv}")
    assert result.returncode != 0
    assert sentence in result.stderr
    assert str(python) in result.stderr
    assert not venv.exists()


def test_servers_script_leaves_a_complete_machine_alone(tmp_path: Path) -> None:
    for program in ("redis-server", "memcached", "postgres", "rabbitmq-server", "chromium", "bash"):
        (tmp_path / program).symlink_to("/bin/true" if program != "bash" else str(shutil.which("bash")))
    # No apt-get, sudo or id on this PATH: anything but looking for the programs would fail.
    result = subprocess.run(
        ["bash", ".ci/servers"],
        cwd=ROOT,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(("ci", "status"), [("true", 1), ("", 0)])
def test_machine_without_apt_is_told_what_to_install(ci: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "id").symlink_to("/bin/false")
    result = subprocess.run(
        [str(shutil.which("bash")), ".ci/servers"],
        cwd=ROOT,
        env={"PATH": str(tmp_path), "CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == status
    assert "Not installed: redis-server memcached" in result.stderr


@pytest.mark.parametrize(("ci", "status"), [("true", 1), ("", 0)])
def test_server_that_cannot_be_had_keeps_no_other_away(ci: str, status: int, tmp_path: Path) -> None:
    programs = {
        "id": "echo 0",
        # As it is where the tests run as root; nothing of this machine is touched.
        "env": 'while case "$1" in *=*) true ;; *) false ;; esac; do shift; done; "$@"',
        "apt-get": f"""case "$*" in *update*) exit 1 ;; *redis-server*) exit 100 ;; esac; echo "$*" >>{tmp_path}/log""",
        "update-rc.d": f'echo "$*" >>{tmp_path}/log',
        "tee": "while read -r; do :; done",
        **dict.fromkeys(("chmod", "rm", "mv"), "exit 0"),
    }
    for name, script in programs.items():
        (tmp_path / name).write_text(f"#!{shutil.which('bash')}\n{script}\n")
        (tmp_path / name).chmod(0o755)
    result = subprocess.run(
        [str(shutil.which("bash")), ".ci/servers"],
        cwd=ROOT,
        env={"PATH": str(tmp_path), "CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == status
    assert "Not installed: redis-server. apt-get says why." in result.stderr
    log = (tmp_path / "log").read_text().splitlines()
    assert "-qq install --no-install-recommends memcached" in log
    assert "memcached disable" in log
    assert "redis-server disable" not in log


def test_server_in_the_path_of_root_alone_is_found() -> None:
    if not Path("/usr/lib/rabbitmq/bin/rabbitmq-server").exists():
        pytest.skip("rabbitmq-server is not installed")
    script = "source /dev/stdin && installed rabbitmq-server"
    functions = (ROOT / ".ci" / "servers").read_text().partition("give_up()")[0]
    result = subprocess.run(
        [str(shutil.which("bash")), "-c", script],
        input=functions,
        env={"PATH": "/nowhere"},
        text=True,
        capture_output=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
