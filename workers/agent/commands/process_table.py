"""A snapshot of all processes of the machine, searched by marker and by session."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

import psutil

from workers.agent.commands.launcher import MARKER


@dataclass(frozen=True, slots=True)
class ProcessTable:
    """All processes at one moment; one table serves a whole state request."""

    by_marker: Mapping[str, Sequence[psutil.Process]]
    by_session: Mapping[int, Sequence[psutil.Process]]

    @classmethod
    def read(cls) -> Self:
        """Read all processes; ended ones, and those hidden from this user, are left out."""
        by_marker: dict[str, list[psutil.Process]] = {}
        by_session: dict[int, list[psutil.Process]] = {}
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                # A zombie has no environment either, but has a session.
                if process.status() == psutil.STATUS_ZOMBIE:
                    continue
                by_session.setdefault(os.getsid(process.pid), []).append(process)
                if (marker := process.environ().get(MARKER)) is not None:
                    by_marker.setdefault(marker, []).append(process)
        return cls(by_marker, by_session)

    def members(self, marker: str, *, leader: int | None) -> list[psutil.Process]:
        """Return the processes of a command: those with its marker, or in the session that ``leader`` leads.

        ``leader`` is the command's own process, known to run; its session includes processes that have
        overwritten their environment, as many servers do to change their title.
        """
        found = {process.pid: process for process in self.by_marker.get(marker, ())}
        if leader is not None:
            found.update((process.pid, process) for process in self.by_session.get(leader, ()))
        return list(found.values())
