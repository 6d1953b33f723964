"""Keeps the cloud of a test run: starts it, and stops it when the run's first process ends, however that comes.

``python -m tests.services.cloud_keeper DIRECTORY PID``: everything is in the directory, which is removed at the end,
but for the services' programs, which the next run finds in the cache.
"""

import fcntl
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from tests.services.cloud_of_the_run import FAILED, LAUNCHER, READY

#: What listens, each on a port of its own.
_LISTENERS: Final = (
    *("DB", "AMQP", "EPMD", "DIST"),
    *("KEYSTONE", "GLANCE", "PLACEMENT", "NOVA", "NEUTRON", "CINDER"),
)
_CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "isotherm"


class RunIsOver(Exception):
    """The run has ended, or wants no cloud any more."""


def keep(directory: Path, run: int) -> None:
    """Start the cloud in a directory, and stop it when the run is over."""
    environment = {
        "DEVCLOUD_VENV": str(_CACHE / "devcloud"),
        **os.environ,
        "DEVCLOUD_HOME": str(directory / "home"),
        **{f"DEVCLOUD_PORT_{name}": str(port) for name, port in zip(_LISTENERS, ports(), strict=True)},
    }
    try:
        _start(directory, run, environment)
        _wait_for(run)
    except RunIsOver:
        pass
    finally:
        # No signal is to interrupt what ends it.
        for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)
        subprocess.run([str(LAUNCHER), "down"], env=environment, check=False)
        shutil.rmtree(directory, ignore_errors=True)


def ports() -> list[int]:
    """Return as many free ports as there are listeners."""
    with ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in _LISTENERS]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def _start(directory: Path, run: int, environment: dict[str, str]) -> None:
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "devcloud.lock").open("a") as lock:
        # Two runs may begin on a machine that has nothing yet.
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = _carry_out("install", run, environment)
    done = done and _carry_out("up", run, environment)
    (directory / (READY if done else FAILED)).touch()


def _carry_out(command: str, run: int, environment: dict[str, str]) -> bool:
    """Run a command of the launcher to its end; return whether it did what it should."""
    # It writes passwords to the one, and how it goes to the other.
    process = subprocess.Popen(
        [str(LAUNCHER), command], env=environment, start_new_session=True, stdout=subprocess.DEVNULL
    )
    try:
        _wait_for(run, process.pid)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    return process.wait() == 0


def _wait_for(run: int, other: int | None = None) -> None:
    """Wait for the end of another process.

    Raises:
        RunIsOver: the run ended before.
    """
    processes = [run] if other is None else [run, os.pidfd_open(other)]
    ended, _, _ = select.select(processes, [], [])
    if other is not None:
        os.close(processes[1])
    if run in ended:
        raise RunIsOver


def _stop(*_: object) -> None:
    raise RunIsOver


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    keep(Path(sys.argv[1]), os.pidfd_open(int(sys.argv[2])))
