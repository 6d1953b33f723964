"""One command under supervision, as a worker sees it: order it, look at it, signal it, forget it.

Any worker of the machine can do each of these; all that is known is on record in the resource's directory, and in
the environment that the command and its children carry.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import psutil

from orchestrator.plugins.resource import RetryableFailure
from workers.agent.commands.account import Account
from workers.agent.commands.identity import is_alive, start_mark
from workers.agent.commands.launcher import LOCK, LOG, ORDER, STATUS, Answer
from workers.agent.commands.process_table import ProcessTable
from workers.agent.records import read_record, write_record

#: A bare interpreter sees neither site-packages nor the variables meant for the command: it is told where we are.
_LAUNCH: Final = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from workers.agent.commands.launcher import main; main(sys.argv[2:])"
)
_ROOT: Final = str(Path(__file__).resolve().parents[3])
_LAUNCHER_LOG: Final = "launcher.log"
#: The launcher needs some hundredths of a second; one that takes this long is stuck.
_LAUNCH_SECONDS: Final = 30.0
_TAIL_BYTES: Final = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What is on record of the run that was started last."""

    run: str
    pid: int
    mark: str
    #: The process that stays beside the command and writes its exit code down; 0 where there is none.
    supervisor: int
    supervisor_mark: str
    #: Seconds since the epoch, by the machine's clock.
    started_at: float
    #: Negative: the number of the signal that ended it. None: it runs, or nobody was there to see.
    exit_code: int | None
    #: Why the command could not be started; empty when it could.
    error: str

    @property
    def alive(self) -> bool:
        """Whether the command's own process is running."""
        return is_alive(self.pid, self.mark)

    @property
    def running(self) -> bool:
        """Whether the command is running, or has ended this moment and its exit code is still to come."""
        return self.exit_code is None and (self.alive or is_alive(self.supervisor, self.supervisor_mark))

    @classmethod
    def of_orphan(cls, process: psutil.Process, run: str) -> Self:
        """Describe a process that was found by the environment it carries."""
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

    def to_wire(self) -> dict[str, Any]:
        """Return plain JSON types, as the launcher writes them."""
        return {name: getattr(self, name) for name in self.__slots__}


class SupervisedProcess:
    """The process of the resource whose row is ``uuid``."""

    def __init__(self, records: Path, *, uuid: str) -> None:
        self._directory = records / uuid
        self._uuid = uuid

    @property
    def log(self) -> Path:
        """The file that the command prints to, with what earlier runs have printed."""
        return self._directory / LOG

    def status(self) -> Status | None:
        """Return what is on record of the last run, or None if nothing was ever started."""
        status = self._read_status()
        if status is not None and status.exit_code is None and not status.running:
            # The exit code may have come between reading the record and looking at the processes.
            return self._read_status()
        return status

    def order(self) -> Mapping[str, Any] | None:
        """Return what was ordered last: ``run``, ``argv``, ``cwd`` and ``ordered_at`` among it."""
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
    ) -> None:
        """Order the run ``run`` at the time ``now`` and see to it that it is started, at most once.

        When this returns, it has been started, or something of an earlier attempt still occupies the place:
        look at the status. ``env`` is all the environment there will be; it is not written down. The command joins
        the control groups whose ``cgroup.procs`` are given, and then becomes the user whose account is given.

        Raises:
            RetryableFailure: the launcher did not get as far as the command.
        """
        order: dict[str, Any] = {
            "run": run,
            "uuid": self._uuid,
            "argv": list(argv),
            "cwd": str(cwd),
            "ordered_at": now,
        }
        order["account"] = None if account is None else account.to_wire()
        order["control_groups"] = list(map(str, control_groups))
        write_record(self._directory / ORDER, order)
        if self._launch(run, env) is Answer.BROKEN:
            said = tail(self._directory / _LAUNCHER_LOG, lines=1)
            raise RetryableFailure(f"the launcher did not start the command: {said or 'it said nothing'}")

    def find(self) -> Status | None:
        """Return the run that an interrupted step has started, from the records or among all processes."""
        status = self.status()
        if status is not None:
            return status
        members = {process.pid: process for process in self.members()}
        first = next((process for process in members.values() if process.ppid() not in members), None)
        if first is None:
            return None
        order = self.order()
        found = Status.of_orphan(first, order["run"] if order else "found")
        write_record(self._directory / STATUS, found.to_wire())
        return found

    def stop(self, *numbers: signal.Signals) -> None:
        """Send signals to the command's process group, and to what it started elsewhere; never to a stranger."""
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
        """Send the signal that asks the command to end, and let it take notice of that if it stands still."""
        self.stop(number, signal.SIGCONT)

    def stands_still(self) -> bool:
        """Whether all that the command is and has started is stopped, or has ended."""
        return all(state == psutil.STATUS_STOPPED for state in self._states())

    def is_moving(self) -> bool:
        """Whether nothing that the command is or has started is stopped."""
        return psutil.STATUS_STOPPED not in self._states()

    def _states(self) -> list[str]:
        states: list[str] = []
        for process in self.members():
            with suppress(psutil.Error):
                states.append(process.status())
        return states

    def kill(self) -> None:
        """Kill the command and what it started; called again, also a supervisor that did not leave by itself."""
        status = self.status()
        self.stop(signal.SIGKILL)
        # One whose command has ended in this moment is about to write down how.
        if status is not None and not status.alive and is_alive(status.supervisor, status.supervisor_mark):
            with suppress(ProcessLookupError):
                os.kill(status.supervisor, signal.SIGKILL)

    def gone(self) -> bool:
        """Whether neither the command, nor anything it started, nor its supervisor is left."""
        status = self.status()
        if status is not None and (status.alive or is_alive(status.supervisor, status.supervisor_mark)):
            return False
        return not self.members()

    def call_off(self) -> None:
        """Have a launcher find nothing to start that was ordered to and has not begun, even if it comes later."""
        order, status = self.order(), self.status()
        if order is not None and (status is None or status.run != order["run"]):
            write_record(self._directory / ORDER, {**order, "run": ""})

    def quiet(self) -> bool:
        """Whether no supervisor is there that may be about to start a command; not to be asked while one is ordered."""
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
        shutil.rmtree(self._directory, ignore_errors=True)

    def _read_status(self) -> Status | None:
        record = read_record(self._directory / STATUS)
        return None if record is None else Status(**record)

    def _launch(self, run: str, env: Mapping[str, str]) -> Answer:
        command = [sys.executable, "-I", "-S", "-c", _LAUNCH, _ROOT, str(self._directory), run]
        with (self._directory / _LAUNCHER_LOG).open("wb") as log:
            launcher = subprocess.Popen(  # noqa: S603 -- running commands is what the resource type is for
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=dict(env),
                cwd="/",
                start_new_session=True,
            )
        try:
            return Answer(launcher.wait(_LAUNCH_SECONDS))
        except (subprocess.TimeoutExpired, ValueError):
            return Answer.BROKEN
        finally:
            launcher.kill()
            launcher.wait()

    def members(self, table: ProcessTable | None = None) -> list[psutil.Process]:
        """Return the command and all it started, wherever that has moved; ``table``: at a moment that was looked at."""
        status = self._read_status()
        leader = status.pid if status is not None and status.alive else None
        return (table or ProcessTable.read()).members(self._uuid, leader=leader)


def tail(path: Path, *, lines: int) -> str:
    """Return the last lines of a text file that may be long; empty where there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return ""
