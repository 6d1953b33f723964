"""The Makefile says what is wrong with a machine before it installs anything."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TARGETS = {
    "help",
    "venv",
    "demo",
    "test",
    "check",
    "docs",
    "frontend",
    "bench",
    "soak",
    "siege",
    "mutants",
    "clean",
}

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
    for program in (
        "redis-server",
        "memcached",
        "postgres",
        "pgbouncer",
        "rabbitmq-server",
        "chromium-headless-shell",
        "promtool",
        "bash",
    ):
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


#: What packages bring that a boot may start. The script looks for the programs of PostgreSQL and RabbitMQ in
#: directories of this machine, and so may leave them out.
BROUGHT = {
    "redis-server": ("/etc/init.d/redis-server", "/lib/systemd/system/redis-server.service"),
    "memcached": ("/usr/lib/systemd/system/memcached@.service", "/lib/systemd/system/memcached.socket"),
    "chromium-headless-shell": ("/usr/bin/chromium-headless-shell", "/etc/init.d"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeDebian:
    """Programs that do to files of a directory what apt, dpkg and init systems do to a machine."""

    directory: Path
    log: Path

    def put(self, name: str, script: str) -> None:
        program = self.directory / name
        program.write_text(f"#!{shutil.which('bash')}\n{script}\n")
        program.chmod(0o755)

    def servers(self, ci: str = "true") -> subprocess.CompletedProcess[str]:
        """Run the script of the servers."""
        return subprocess.run(
            [str(shutil.which("bash")), ".ci/servers"],
            cwd=ROOT,
            env={"PATH": str(self.directory), "CI": ci},
            capture_output=True,
            text=True,
            check=False,
        )

    def logged(self, program: str) -> list[str]:
        """Return with which arguments a program was called."""
        lines = self.log.read_text().splitlines()
        return [line.removeprefix(f"{program} ") for line in lines if line.startswith(f"{program} ")]


@pytest.fixture
def debian(tmp_path: Path) -> FakeDebian:
    directory, status = tmp_path / "bin", tmp_path / "status"
    directory.mkdir()
    status.write_text("installed libc6\nconfig-files redis-server\n")
    debian = FakeDebian(directory=directory, log=tmp_path / "log")
    debian.log.touch()
    for tool in ("sed", "sort", "comm", "xargs", "cat"):
        (directory / tool).symlink_to(str(shutil.which(tool)))
    note = f'echo "${{0##*/}} $*" >>{debian.log}'
    brought = "\n".join(
        f"{package}) printf '%s\\n' {' '.join(files)} ;;" for package, files in BROUGHT.items()
    )
    programs = {
        "id": "echo 0",
        # As it is where the tests run as root; nothing of this machine is touched.
        "env": 'while case "$1" in *=*) true ;; *) false ;; esac; do shift; done; "$@"',
        "apt-get": f"""{note}; shift 3; printf 'installed %s\n' "$@" >>{status}""",
        "dpkg-query": f"""case $1 in --show) cat {status} ;; *) for each; do case $each in
{brought}
esac; done ;; esac""",
        # The real one fails where there is no such script.
        "update-rc.d": f"""{note}; [[ $1 == redis-server ]]""",
        "systemctl": note,
        "tee": "while read -r; do :; done",
        **dict.fromkeys(("chmod", "rm", "mv", "true"), "exit 0"),
    }
    for name, script in programs.items():
        debian.put(name, script)
    return debian


def test_package_without_a_service_is_installed_like_any_other(debian: FakeDebian) -> None:
    result = debian.servers()
    assert (result.returncode, result.stderr) == (0, "")
    assert any("chromium-headless-shell" in line.split() for line in debian.logged("apt-get"))


def test_every_service_that_came_along_is_kept_from_the_next_boot(debian: FakeDebian) -> None:
    assert debian.servers().returncode == 0
    assert debian.logged("update-rc.d") == ["redis-server disable"]
    assert debian.logged("systemctl") == [
        f"--quiet disable {unit}"
        for unit in ("memcached@.service", "memcached.socket", "redis-server.service")
    ]


def test_machine_without_systemd_lacks_nothing(debian: FakeDebian) -> None:
    (debian.directory / "systemctl").unlink()
    result = debian.servers()
    assert (result.returncode, result.stderr) == (0, "")


def test_service_that_cannot_be_disabled_is_named_and_stops_nothing(debian: FakeDebian) -> None:
    debian.put("update-rc.d", "exit 1")
    result = debian.servers()
    assert result.returncode == 0
    assert "redis-server may be started at the next boot" in result.stderr


@pytest.mark.parametrize(("ci", "status"), [("true", 1), ("", 0)])
def test_user_whom_sudo_refuses_is_told_what_to_install(ci: str, status: int, debian: FakeDebian) -> None:
    debian.put("id", "echo 1000")
    debian.put("sudo", "exit 1")
    result = debian.servers(ci)
    assert result.returncode == status
    assert "Not installed: redis-server memcached" in result.stderr
    assert debian.logged("apt-get") == []


@pytest.mark.parametrize(("ci", "status"), [("true", 1), ("", 0)])
def test_server_that_cannot_be_had_keeps_no_other_away(ci: str, status: int, debian: FakeDebian) -> None:
    able = (debian.directory / "apt-get").read_text()
    debian.put("apt-get", f'case "$*" in *update*) exit 1 ;; *redis-server*) exit 100 ;; esac\n{able}')
    result = debian.servers(ci)
    assert result.returncode == status
    assert "Not installed: redis-server. apt-get says why." in result.stderr
    assert "-qq install --no-install-recommends memcached" in debian.logged("apt-get")
    assert "--quiet disable memcached.socket" in debian.logged("systemctl")
    assert debian.logged("update-rc.d") == []


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
