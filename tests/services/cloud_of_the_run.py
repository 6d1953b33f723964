"""The OpenStack cloud of a test run: the one that ``OS_CLIENT_CONFIG_FILE`` names, or one that the run starts itself.

The run starts one with the launcher beside the repository (``../shared/devcloud/devcloud``), where ``CI=true`` or
``ISOTHERM_TEST_CLOUD=1`` is set: in the background, by :mod:`tests.services.cloud_keeper`, as soon as one of the run's
processes has collected a test for it. Tests wait until it is ready, and fail with the end of its log if it never is.
Only tests marked ``devcloud(every_run=True)`` run there: all others take more than an hour.
"""

import os
import select
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil
import pytest

from tests.waiting import until

LAUNCHER: Final = Path(__file__).parents[3] / "shared" / "devcloud" / "devcloud"
#: Longest start, the installation of all services included; less than a test's time limit.
START_SECONDS: Final = 840.0
STOP_SECONDS: Final = 60.0
#: What the keeper writes into the run's directory when the cloud is ready, when it cannot start, and always.
READY: Final = "ready"
FAILED: Final = "failed"
LOG: Final = "log"


def named() -> str:
    """Return the clouds.yaml that the environment names; empty if it names none."""
    return os.environ.get("OS_CLIENT_CONFIG_FILE", "")


def starts_its_own() -> bool:
    """Whether this run has a cloud that it starts itself."""
    wanted = os.environ.get("CI") == "true" or os.environ.get("ISOTHERM_TEST_CLOUD") == "1"
    return wanted and not named() and LAUNCHER.is_file()


def clouds_file() -> Path:
    """Return the clouds.yaml of the run's cloud, once that is ready; without any, the test is skipped."""
    if name := named():
        return Path(name)
    if not starts_its_own():
        pytest.skip(_why_none())
    directory = _directory()
    until(lambda: _is_decided(directory), seconds=START_SECONDS, pause_seconds=0.2)
    if not (directory / READY).exists():
        log = (directory / LOG).read_text(errors="replace")
        pytest.fail(f"the cloud of the run did not start:\n{log[-2000:]}", pytrace=False)
    return directory / "home" / "clouds.yaml"


def choose(items: list[pytest.Item]) -> None:
    """Mark what is to be skipped of the collected tests, and put those for the cloud that the run starts last."""
    late = []
    for item in items:
        if item.get_closest_marker("devcloud") is None or named():
            continue
        if not starts_its_own():
            item.add_marker(pytest.mark.skip(reason=_why_none()))
        elif _is_for_it(item):
            late.append(item)
        else:
            item.add_marker(pytest.mark.skip(reason="runs where OS_CLIENT_CONFIG_FILE names a clouds.yaml"))
    if late:
        chosen = set(late)
        items[:] = [*(item for item in items if item not in chosen), *late]


def begin(items: list[pytest.Item]) -> None:
    """Have the cloud started, if one of these tests needs it and no process of the run has done so."""
    if not starts_its_own() or not any(_is_for_it(item) for item in items):
        return
    directory = _directory()
    try:
        directory.mkdir()
    except FileExistsError:
        return
    command = [sys.executable, "-m", "tests.services.cloud_keeper", str(directory), str(_controller())]
    with (directory / LOG).open("ab") as log:
        keeper = subprocess.Popen(
            command,
            cwd=Path(__file__).parents[2],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    (directory / "keeper").write_text(str(keeper.pid))


def end() -> None:
    """Have the cloud stopped, and wait for that; called by the run's first process."""
    record = _directory() / "keeper"
    with suppress(OSError, ValueError):
        keeper = os.pidfd_open(int(record.read_text()))
        try:
            signal.pidfd_send_signal(keeper, signal.SIGTERM)
            select.select([keeper], [], [], STOP_SECONDS)
        finally:
            os.close(keeper)


def _is_for_it(item: pytest.Item) -> bool:
    said = (mark.kwargs["every_run"] for mark in item.iter_markers("devcloud") if "every_run" in mark.kwargs)
    return bool(next(said, False))


def _is_decided(directory: Path) -> bool:
    return (directory / READY).exists() or (directory / FAILED).exists()


def _directory() -> Path:
    """Return the directory of the run's cloud, the same in all processes of the run."""
    first = psutil.Process(_controller())
    return Path(tempfile.gettempdir()) / f"isotherm-cloud-{first.pid}-{first.create_time():.0f}"


def _controller() -> int:
    """Return the process with which the run ends: by xdist, the parent of this one."""
    return os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()


def _why_none() -> str:
    if LAUNCHER.is_file():
        return "no OpenStack cloud: OS_CLIENT_CONFIG_FILE names no clouds.yaml, and without CI=true none is started"
    return "no OpenStack cloud: OS_CLIENT_CONFIG_FILE names no clouds.yaml, and there is no launcher to start one"
