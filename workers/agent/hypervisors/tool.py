"""Calls of hypervisors' command line tools, with a time-out, and with the tool's own message on failure."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from workers.agent.fence import check_fence
from workers.agent.hypervisors.hypervisor import HypervisorBusy, HypervisorFault

_FAST_SECONDS: Final = 60.0
_SHOWN: Final = 400
#: The log format of container tools: the message is in quotation marks after time and level.
_LOGGED: Final = re.compile(r'level=(?:error|fatal) msg="(.*)"')


def run_tool(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    timeout_seconds: float = _FAST_SECONDS,
    directory: Path | None = None,
) -> str:
    """Run a program to its end, in ``directory``, and return its output; ``env`` is added to the agent's variables.

    Raises:
        HypervisorBusy: it did not end in time, and was killed.
        HypervisorFault: it is not installed, or failed; the message is its last line of errors.
    """
    name = os.path.basename(command[0])  # noqa: PTH119 -- a name that is looked for in PATH is no path
    check_fence()
    try:
        done = subprocess.run(  # noqa: S603 -- the tools of a hypervisor, with arguments that are lists
            list(command),
            stdin=subprocess.DEVNULL,
            cwd=directory,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_seconds,
            check=False,
            env={**os.environ, **env} if env else None,
        )
    except subprocess.TimeoutExpired:
        raise HypervisorBusy(f"{name} did not end within {timeout_seconds:g} s") from None
    except OSError as error:
        raise HypervisorFault(f"cannot run {command[0]!r}: {error.strerror or error}") from error
    if done.returncode != 0:
        raise HypervisorFault(f"{name}: {last_sentence(done.stderr) or f'exit code {done.returncode}'}")
    return done.stdout


def last_sentence(errors: str) -> str:
    """Return the last line of a tool's errors, cut to a readable length; empty: there is none."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    if not lines:
        return ""
    logged = _LOGGED.search(lines[-1])
    return (logged[1].replace('\\"', '"') if logged else lines[-1])[:_SHOWN]
