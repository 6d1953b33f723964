"""The launcher: starts a command, supervises it, and records its exit.

An agent runs it for a moment (:func:`main`): it forks a supervisor into a session of its own, which outlives the
agent, and leaves as soon as the supervisor has the start on record. It imports only the standard library, and
runs in a bare interpreter, so that it starts in milliseconds and holds little memory.

A command starts at most once for each run: one supervisor at a time holds the lock, and the command waits at a
gate until its process number is on record. A supervisor that dies before leaves a closed gate: nothing has run.

The command's variables are those of a template, and may have a program load code (``LD_PRELOAD`` and others). Launcher
and supervisor, which may be root, never have them in their own environment: they are read from a pipe, and given to the
command alone, which by then is the user that it runs as.
"""

import ctypes
import errno
import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from typing import Any, Final, NoReturn

from cache.stores.private_files import open_private
from workers.agent.commands.identity import is_alive, start_mark
from workers.agent.fence import boot_seconds
from workers.agent.records import read_record, write_record

#: The environment variable of the command and its children; its value is the uuid of the resource's row.
MARKER: Final = "ISOTHERM_RESOURCE"
#: Likewise, the run.
RUN_MARKER: Final = "ISOTHERM_RUN"
#: The agent's order: run, uuid, argv, program (the file that is run as it; empty: the one that argv names), cwd,
#: account, confined, control_groups, and until when it may begin, in seconds since the machine booted.
ORDER: Final = "order.json"
#: The outcome: run, pid, mark, supervisor, supervisor_mark, started_at, exit_code, error.
STATUS: Final = "status.json"
LOCK: Final = "lock"
#: The output of the command.
LOG: Final = "log"

_CANNOT_RUN: Final = 127
_PRIVATE_MASK: Final = 0o077
#: Of prctl(2): no program that is run gives more privileges than the present ones, by its mode or its capabilities;
#: and no capability is passed on to it.
_SET_NO_NEW_PRIVILEGES: Final = (38, 1)
_CLEAR_AMBIENT_CAPABILITIES: Final = (47, 4)


class Answer(IntEnum):
    """The launcher's exit codes."""

    STARTED = 0
    BROKEN = 1
    #: Another supervisor, or its command, still runs.
    OCCUPIED = 3
    #: The order on record was replaced meanwhile, or is out of date.
    SUPERSEDED = 4


def main(arguments: Sequence[str]) -> NoReturn:
    """Start the run ``arguments[1]`` that is ordered in the directory ``arguments[0]``; exit with an answer.

    The command's variables are read from the descriptor ``arguments[2]``, as JSON; without one they are its own.
    """
    directory, run = Path(arguments[0]), arguments[1]
    environ = _read_variables(int(arguments[2])) if arguments[2:] else dict(os.environ)
    answer_end, report_end = os.pipe()
    if os.fork() > 0:
        os.close(report_end)
        answer = os.read(answer_end, 1)
        os._exit(answer[0] if answer else Answer.BROKEN)
    os.close(answer_end)
    os.setsid()
    _supervise(directory, run, environ, report_end)
    sys.exit(0)


def _read_variables(descriptor: int) -> dict[str, str]:
    """Return the variables; where an agent died before it had written them all, this fails and nothing is run."""
    with os.fdopen(descriptor, "rb") as pipe:
        return dict(json.loads(pipe.read()))


def _supervise(directory: Path, run: str, environ: Mapping[str, str], report_end: int) -> None:
    lock = open_private(directory / LOCK, os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.write(report_end, bytes([Answer.OCCUPIED]))
        return
    order = read_record(directory / ORDER)
    answer = _objection(order, read_record(directory / STATUS), run)
    if order is None or answer is not None:
        os.write(report_end, bytes([Answer.SUPERSEDED if answer is None else answer]))
        return
    _run(directory, order, environ, report_end)


def _objection(order: Mapping[str, Any] | None, status: Mapping[str, Any] | None, run: str) -> Answer | None:
    """Return why no command may be started now, or None."""
    if order is None or order["run"] != run:
        return Answer.SUPERSEDED
    if status is not None and status["run"] == run:
        return Answer.STARTED
    if status is not None and is_alive(status["pid"], status["mark"]):
        return Answer.OCCUPIED
    until = order.get("until")
    return None if until is None or boot_seconds() < until else Answer.SUPERSEDED


def _run(directory: Path, order: Mapping[str, Any], environ: Mapping[str, str], report_end: int) -> None:
    pid, gate, faults = _fork_command(directory / LOG, order, environ)
    status: dict[str, Any] = {
        "run": order["run"],
        "pid": pid,
        "mark": start_mark(pid),
        "supervisor": os.getpid(),
        "supervisor_mark": start_mark(os.getpid()),
        "started_at": time.time(),
        "exit_code": None,
        "error": "",
    }
    write_record(directory / STATUS, status)
    os.write(gate, b"\0")
    os.close(gate)
    with os.fdopen(faults, "rb") as reader:
        status["error"] = reader.read().decode(errors="replace")
    if not status["error"]:
        _answer(report_end)
    _, code = os.waitpid(pid, 0)
    status["exit_code"] = os.waitstatus_to_exitcode(code)
    with suppress(FileNotFoundError):
        write_record(directory / STATUS, status)
    if status["error"]:
        _answer(report_end)


def _answer(report_end: int) -> None:
    # The worker may be gone by now, which makes no difference here.
    with suppress(BrokenPipeError):
        os.write(report_end, bytes([Answer.STARTED]))
    os.close(report_end)


def _fork_command(log: Path, order: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[int, int, int]:
    """Fork the command's process; return its number, the gate it waits at, and the pipe for its error."""
    waiting, gate = os.pipe()
    faults, fault = os.pipe()
    pid = os.fork()
    if pid > 0:
        os.close(waiting)
        os.close(fault)
        return pid, gate, faults
    try:
        os.close(gate)
        os.setsid()
        if os.read(waiting, 1):
            _become(log, order, environ)
    except OSError as error:
        os.write(fault, (error.strerror or str(error)).encode())
    finally:
        os._exit(_CANNOT_RUN)


def _become(log: Path, order: Mapping[str, Any], environ: Mapping[str, str]) -> NoReturn:
    os.chdir(order["cwd"])
    confined = bool(order.get("confined"))
    if confined and os.getcwd() != order["cwd"]:  # noqa: PTH109 -- as the kernel knows it
        # A link was put in place of a directory after the path was checked.
        raise OSError(errno.ELOOP, f"{order['cwd']} leads elsewhere by now")
    for joined in order.get("control_groups", ()):
        # 0 stands for the writing process. The command's children are born into the same groups.
        Path(joined).write_text("0", encoding="ascii")
    output = open_private(log, os.O_WRONLY | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    # A worker may ignore or block signals; the command must not inherit that.
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if account := order.get("account"):
        # A command may open its own output again, as /dev/stderr.
        os.fchown(output, account["uid"], account["gid"])
        os.setgroups(account["groups"])
        os.setgid(account["gid"])
        os.setuid(account["uid"])
    if confined:
        os.umask(_PRIVATE_MASK)
        _renounce_privileges()
    marked = {**environ, MARKER: order["uuid"], RUN_MARKER: order["run"]}
    os.execvpe(order.get("program") or order["argv"][0], order["argv"], marked)  # noqa: S606 -- its purpose


def _renounce_privileges() -> None:
    """Have no program that is run from now on give this process more privileges than it has."""
    library = ctypes.CDLL(None, use_errno=True)
    for request in (_SET_NO_NEW_PRIVILEGES, _CLEAR_AMBIENT_CAPABILITIES):
        if library.prctl(*map(ctypes.c_ulong, (*request, 0, 0, 0))):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
