"""Freezes an agent at a chosen line: a real process that stands still, and goes on as if no time had passed."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

import workers.agent
from tests.unit.workers.agent.killing import WITHOUT_TRACE

_AGENT: Final = str(Path(workers.agent.__file__).parent)


class Frozen:
    """A process that stands still."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def thaw(self) -> None:
        """Let it go on, and return when it has ended."""
        os.kill(self._pid, signal.SIGCONT)
        os.waitpid(self._pid, 0)


def frozen_after(
    lines: int, before: Callable[[], object], step: Callable[[], object], *, stays: Callable[[], object]
) -> Frozen | None:
    """Run ``before`` and ``step`` in a forked process that freezes after so many lines of the agent's code in ``step``.

    ``stays``: called last, so that what belongs to the process stays until then. None: it ended before it froze.
    """
    pid = os.fork()
    if pid == 0:
        _run(lines, before, step, stays)
    _, status = os.waitpid(pid, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        return Frozen(pid)
    assert os.waitstatus_to_exitcode(status) == 0
    return None


def _run(
    lines: int, before: Callable[[], object], step: Callable[[], object], stays: Callable[[], object]
) -> NoReturn:
    left = lines

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        file = frame.f_code.co_filename
        if not file.startswith(_AGENT) or file in WITHOUT_TRACE:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGSTOP)
        return trace

    code = 1
    try:
        before()
        sys.settrace(trace)
        step()
        sys.settrace(None)
        stays()
        code = 0
    except BaseException as error:  # noqa: BLE001  # the only place where it shows
        sys.stderr.write(f"{error!r}\n")
    finally:
        os._exit(code)
