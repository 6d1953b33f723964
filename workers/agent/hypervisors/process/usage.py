"""The resource usage of an instance's processes."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import psutil

from workers.agent.hypervisors.kernel import BYTES_PER_MIB


@dataclass(frozen=True, slots=True)
class Usage:
    """A sum over processes."""

    processes: int
    #: Resident memory; memory that several processes share counts for each of them.
    memory_mib: int
    #: Including that of ended children.
    cpu_seconds: float
    #: Whether there are processes, and all are stopped.
    still: bool


def usage_of(members: Iterable[psutil.Process]) -> Usage:
    """Return the sum over processes; those that end meanwhile are left out."""
    count, memory, seconds, moving = 0, 0, 0.0, False
    for process in members:
        with suppress(psutil.Error), process.oneshot():
            times, resident, state = process.cpu_times(), process.memory_info().rss, process.status()
            count += 1
            memory += resident
            seconds += times.user + times.system + times.children_user + times.children_system
            moving = moving or state != psutil.STATUS_STOPPED
    return Usage(count, memory // BYTES_PER_MIB, round(seconds, 2), still=count > 0 and not moving)
