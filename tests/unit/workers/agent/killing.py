"""Kills an agent at a chosen line: a real process that is gone, without any ``finally``."""

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

import workers.agent
from tests.thoroughness import VARIABLE, is_thorough

_ROOT: Final = Path(__file__).parents[4]
#: What touches a machine is here, and only here.
_AGENT: Final = Path(workers.agent.__file__).parent
#: What is here leaves nothing behind: to die in it is to die before what comes next.
WITHOUT_TRACE: Final = tuple(
    str(_AGENT / f"{name}.py")
    for name in (
        "allowances",
        "commands/environment",
        "commands/process_table",
        "commands/readiness",
        "fence",
        "files/allowed",
        "limits",
        "locks",
    )
)


def in_a_small_process(test: Callable[[Path], None]) -> Callable[[Path], None]:
    """Run a test, which takes a directory and nothing else, in a process of its own.

    To fork takes as long as a process is large, and one that has run thousands of tests is larger by far than those
    that are killed here.
    """

    @wraps(test)
    def run(tmp_path: Path) -> None:
        words = [test.__module__, test.__name__, str(tmp_path)]
        done = subprocess.run(
            [sys.executable, "-m", __name__, *words],
            cwd=_ROOT,
            env={**os.environ, **({VARIABLE: "1"} if is_thorough() else {})},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    return run


def killed_after(lines: int, step: Callable[[], object]) -> bool:
    """Run ``step`` in a forked process that is killed after so many lines of its agent's code; False: all ended well.

    Processes that the step forks count on from where they were forked, and are killed likewise. This returns
    when each of them has ended or has become another program.
    """
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        _run_and_vanish(lines, step, tell)
    os.close(tell)
    with os.fdopen(told, "rb") as kills:
        killed = bool(kills.read())
    os.waitpid(pid, 0)
    return killed


def _run_and_vanish(lines: int, step: Callable[[], object], tell: int) -> NoReturn:
    left = lines

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        file = frame.f_code.co_filename
        if not file.startswith(str(_AGENT)) or file in WITHOUT_TRACE:
            return None
        if event == "line":
            left -= 1
            if left < 0:
                os.write(tell, b"\0")
                os._exit(1)
        return trace

    try:
        sys.settrace(trace)
        step()
    finally:
        os._exit(0)


if __name__ == "__main__":
    module, name, directory = sys.argv[1:]
    test = getattr(import_module(module), name).__wrapped__
    # What is here stays: a forked process that looked for garbage in it would copy it.
    gc.freeze()
    gc.set_threshold(50_000, 10, 20)
    test(Path(directory))
