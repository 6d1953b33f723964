"""Notification of ended processes, without polling."""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from workers.agent.commands.identity import is_alive
from workers.agent.hypervisors.file_watch import FileWatch


class ExitWatch:
    """A thread that calls ``ended(name)`` when a process has ended; once closed, it calls nothing more."""

    def __init__(self, ended: Callable[[str], None]) -> None:
        self._ended = ended
        #: The watched names, by file descriptor; an empty name: ignored.
        self._names: dict[int, str] = {}
        self._guard = threading.Lock()
        self._files = FileWatch("exits")

    def add(self, name: str, pid: int, mark: str) -> None:
        """Watch the process with this number and mark; one that has ended already is ignored."""
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            # Only now is it certain that the number was not given to another meanwhile.
            if not is_alive(pid, mark):
                os.close(descriptor)
                return
            with self._guard:
                self._names[descriptor] = name
            self._files.add(descriptor, partial(self._report, descriptor), partial(os.close, descriptor))

    def expect(self, name: str) -> None:
        """Ignore the end of processes of this name from now on: it is requested."""
        with self._guard:
            for descriptor, known in self._names.items():
                if known == name:
                    self._names[descriptor] = ""

    def close(self) -> None:
        """Stop watching, and wait until the last call is over."""
        self._files.close()

    def _report(self, descriptor: int) -> bool:
        with self._guard:
            name = self._names.pop(descriptor)
        if name:
            self._ended(name)
        return False
