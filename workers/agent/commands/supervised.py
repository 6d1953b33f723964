"""One command under supervision: order it, inspect it, signal it, forget it.

Any process of the machine can do each of these; the state is on record in the resource's directory, and in
the environment of the command and its children.
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

import psutil

from cache.stores.private_files import open_private
from orchestrator.plugins.steps import RetryableFailure
from workers.agent.commands.account import Account
from workers.agent.commands.identity import is_alive, start_mark
from workers.agent.commands.launcher import LOCK, LOG, ORDER, RUN_MARKER, STATUS, Answer
from workers.agent.commands.process_table import ProcessTable
from workers.agent.fence import check_fence, fence_ends_at
from workers.agent.records import read_record, write_record

#: A bare interpreter sees neither site-packages nor the command's variables: it receives the package's path.
_LAUNCH: Final = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from workers.agent.commands.launcher import main; main(sys.argv[2:])"
)
_ROOT: Final = str(Path(__file__).resolve().parents[3])
_LAUNCHER_LOG: Final = "launcher.log"
_STDIN: Final = "0"
#: The launcher needs some hundredths of a second; one that takes this long is stuck.
_LAUNCH_SECONDS: Final = 30.0
_TAIL_BYTES: Final = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The record of the last started run."""

    run: str
    pid: int
    mark: str
    #: The process that waits for the command and records its exit code; 0 where there is none.
    supervisor: int
    supervisor_mark: str
    #: Seconds since the epoch, by the machine's clock.
    started_at: float
    #: Negative: the number of the signal that ended it. None: it runs, or the end was not observed.
    exit_code: int | None
    #: Why the command could not be started; empty when it could.
    error: str

    @property
    def alive(self) -> bool:
        """Whether the command's own process is running."""
        return is_alive(self.pid, self.mark)

    @property
    def running(self) -> bool:
        """Whether the command is running, or has just ended and its exit code is still to be recorded."""
        return self.exit_code is None and (self.alive or is_alive(self.supervisor, self.supervisor_mark))

    @classmethod
    def of_orphan(cls, process: psutil.Process, run: str) -> Self:
        """Return the status of a process that was found by its environment."""
        return cls(
            run=run,
            pid=process.pid,
            mark=start_mark(process.pid) or "",
            supervisor=0,
            supervisor_mark="",
            started_at=process.create_time(),
            exit_code=None,
            error="",
        )


class SupervisedProcess:
    """The process of the resource whose row is ``uuid``."""

    def __init__(self, records: Path, *, uuid: str) -> None:
        self._directory = records / uuid
        self._uuid = uuid

    @property
    def log(self) -> Path:
        """The file with the command's output, that of earlier runs included."""
        return self._directory / LOG

    def status(self) -> Status | None:
        """Return the record of the last run, or None if none was ever started."""
        status = self._read_status()
        if status is not None and status.exit_code is None and not status.running:
            # The exit code may have been recorded between reading the record and looking at the processes.
            return self._read_status()
        return status

    def order(self) -> Mapping[str, Any] | None:
        """Return the last order: ``run``, ``argv``, ``cwd`` and ``ordered_at`` among its keys."""
        return read_record(self._directory / ORDER)

    def start(
        self,
        run: str,
        *,
        argv: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        now: float,
        account: Account | None = None,
        control_groups: Sequence[Path] = (),
        program: str = "",
        confined: bool = False,
    ) -> None:
        """Order the run ``run`` at the time ``now``, and start it at most once.

        On return, it was started, or a process of an earlier attempt is still there:
        check the status. ``env`` is the whole environment; it is not recorded. The command joins
        the control groups whose ``cgroup.procs`` are given, and then becomes the user whose account is given.
        ``program`` is the file that is run as it; empty: the one that ``argv`` names. A ``confined`` one runs in the
        very directory that is named, makes private files, and gets no new privileges.

        Raises:
            RetryableFailure: the launcher failed before it started the command.
        """
        order: dict[str, Any] = {
            "run": run,
            "uuid": self._uuid,
            "argv": list(argv),
            "cwd": str(cwd),
            "ordered_at": now,
        }
        order["account"] = None if account is None else asdict(account)
        order["control_groups"] = list(map(str, control_groups))
        order |= {"program": program, "confined": confined}
        check_fence()
        # The launcher is a process of its own, which may get there late.
        order["until"] = fence_ends_at()
        write_record(self._directory / ORDER, order)
        if self._launch(run, env) is Answer.BROKEN:
            last_line = tail(self._directory / _LAUNCHER_LOG, lines=1)
            raise RetryableFailure(
                f"the launcher did not start the command: {last_line or 'it said nothing'}"
            )

    def find(self) -> Status | None:
        """Return the run that an interrupted step has started, from the records or among all processes.

        One without a record is recorded again.
        """
        status = self.status()
        if status is None and (status := self._orphan()) is not None:
            check_fence()
            write_record(self._directory / STATUS, asdict(status))
        return status

    def seen(self) -> Status | None:
        """Return the same as :meth:`find`; record nothing."""
        return self.status() or self._orphan()

    def _orphan(self) -> Status | None:
        members = {process.pid: process for process in self.members()}
        first = next((process for process in members.values() if process.ppid() not in members), None)
        return None if first is None else Status.of_orphan(first, self._run_of(first))

    def _run_of(self, process: psutil.Process) -> str:
        with suppress(psutil.Error):
            if run := process.environ().get(RUN_MARKER):
                return run
        order = self.order()
        return str(order["run"]) if order else "found"

    def stop(self, *numbers: signal.Signals) -> None:
        """Send signals to the command's process group, and to its children elsewhere; never to a foreign process."""
        check_fence()
        status = self.status()
        group = status.pid if status is not None and status.alive else None
        if group is not None:
            for number in numbers:
                with suppress(ProcessLookupError):
                    os.killpg(group, number)
        for process in self.members():
            with suppress(psutil.NoSuchProcess, ProcessLookupError):
                if os.getpgid(process.pid) != group:
                    for number in numbers:
                        process.send_signal(number)

    def ask_to_end(self, number: signal.Signals) -> None:
        """Send the signal that requests an end, and continue the command if it is stopped, so that it notices."""
        self.stop(number, signal.SIGCONT)

    def stands_still(self) -> bool:
        """Return whether the command and all its children are stopped, or have ended."""
        return all(state == psutil.STATUS_STOPPED for state in self._states())

    def is_moving(self) -> bool:
        """Return whether neither the command nor any of its children is stopped."""
        return psutil.STATUS_STOPPED not in self._states()

    def _states(self) -> list[str]:
        states: list[str] = []
        for process in self.members():
            with suppress(psutil.Error):
                states.append(process.status())
        return states

    def kill(self) -> None:
        """Kill the command and its children; on a repeated call, also a supervisor that did not exit."""
        status = self.status()
        self.stop(signal.SIGKILL)
        # A supervisor whose command has just ended is about to record the exit.
        if status is not None and not status.alive and is_alive(status.supervisor, status.supervisor_mark):
            with suppress(ProcessLookupError):
                os.kill(status.supervisor, signal.SIGKILL)

    def gone(self) -> bool:
        """Return whether the command, its children and its supervisor are all gone."""
        status = self.status()
        if status is not None and (status.alive or is_alive(status.supervisor, status.supervisor_mark)):
            return False
        return not self.members()

    def call_off(self) -> None:
        """Cancel an order that has not begun, so that a launcher that comes later starts nothing."""
        order, status = self.order(), self.status()
        if order is not None and (status is None or status.run != order["run"]):
            write_record(self._directory / ORDER, {**order, "run": ""})

    def quiet(self) -> bool:
        """Return whether no supervisor may be about to start a command; not valid while one is ordered."""
        try:
            lock = os.open(self._directory / LOCK, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(lock)
        return True

    def forget(self) -> None:
        """Remove the records and the log."""
        check_fence()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _read_status(self) -> Status | None:
        record = read_record(self._directory / STATUS)
        return None if record is None else Status(**record)

    def _launch(self, run: str, env: Mapping[str, str]) -> Answer:
        command = [sys.executable, "-I", "-S", "-c", _LAUNCH, _ROOT, str(self._directory), run, _STDIN]
        with os.fdopen(open_private(self._directory / _LAUNCHER_LOG, os.O_WRONLY | os.O_TRUNC), "wb") as log:
            launcher = subprocess.Popen(  # noqa: S603 -- running commands is what the resource type is for
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                # Not the command's: the launcher has the agent's privileges.
                env={},
                cwd="/",
                start_new_session=True,
            )
        try:
            launcher.communicate(json.dumps(dict(env)).encode(), _LAUNCH_SECONDS)
            return Answer(launcher.returncode)
        except (subprocess.TimeoutExpired, ValueError):
            return Answer.BROKEN
        finally:
            launcher.kill()
            launcher.wait()

    def members(self, table: ProcessTable | None = None) -> list[psutil.Process]:
        """Return the command and all its children, in whatever session; ``table``: as of that moment."""
        status = self._read_status()
        leader = status.pid if status is not None and status.alive else None
        return (table or ProcessTable.read()).members(self._uuid, leader=leader)


def tail(path: Path, *, lines: int) -> str:
    """Return the last lines of a text file, which may be long; empty if it does not exist.

    A line of which the beginning is left out begins with dots.
    """
    try:
        with path.open("rb") as file:
            start = max(0, path.stat().st_size - _TAIL_BYTES)
            file.seek(start)
            found = file.read().decode(errors="replace").splitlines()
            if start and found:
                found[0] = f"...{found[0]}"
            return "\n".join(found[-lines:])
    except FileNotFoundError:
        return ""
