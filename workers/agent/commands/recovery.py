"""Processes of resources that run without a record, found by their marks and recorded again.

A command carries the row of its resource (``ISOTHERM_RESOURCE``) and the agent that started it: several agents of a
machine, each with a directory of its own, leave each other's alone.
"""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from workers.agent.commands.process_table import ProcessTable
from workers.agent.commands.supervised import SupervisedProcess
from workers.agent.names import fault_of_name

#: The environment variable of the agent that started a command: a digest of its scope.
_AGENT: Final = "ISOTHERM_AGENT"


def agent_mark(scope: str) -> Mapping[str, str]:
    """Return the variables that mark a command as one of an agent."""
    return {_AGENT: hashlib.sha256(scope.encode()).hexdigest()[:32]}


def recover_processes(records: Path, scope: str) -> list[str]:
    """Record the processes of an agent again that run without a record; return their rows, sorted."""
    mark = agent_mark(scope)[_AGENT]
    found = []
    for row, processes in ProcessTable.read().by_marker.items():
        # A variable is what anybody on the machine makes of it, and this one becomes a path.
        if fault_of_name(row) or (records / row).exists() or not _carries(processes, mark):
            continue
        if SupervisedProcess(records, uuid=row).find() is not None:
            found.append(row)
    return sorted(found)


def _carries(processes: Sequence[psutil.Process], mark: str) -> bool:
    for process in processes:
        with suppress(psutil.Error):
            if process.environ().get(_AGENT) == mark:
                return True
    return False
