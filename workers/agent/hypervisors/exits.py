"""Hear of processes that end, without asking about them again and again."""

import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress

from workers.agent.commands.identity import is_alive


class ExitWatch:
    """A thread that calls ``ended(name)`` when a process has ended; closed, it calls nothing more."""

    def __init__(self, ended: Callable[[str], None]) -> None:
        self._ended = ended
        #: Who is heard of, by file; an empty name: nobody wants to know any more.
        self._names: dict[int, str] = {}
        self._poll = select.poll()
        self._woken, self._wake = os.pipe()
        self._poll.register(self._woken, select.POLLIN)
        self._guard = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="exits", daemon=True)
        self._thread.start()

    def add(self, name: str, pid: int, mark: str) -> None:
        """Hear of the process with this number and mark; one that has ended is not heard of."""
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            with self._guard:
                # Only now is it certain that the number was not given to another meanwhile.
                if self._closed or not is_alive(pid, mark):
                    os.close(descriptor)
                    return
                self._names[descriptor] = name
                self._poll.register(descriptor, select.POLLIN)
            # A poll under way does not see what is added to it.
            os.write(self._wake, b"\0")

    def expect(self, name: str) -> None:
        """Hear nothing of processes of this name that end from now on: it is known why."""
        with self._guard:
            for descriptor, known in self._names.items():
                if known == name:
                    self._names[descriptor] = ""

    def close(self) -> None:
        """Hear nothing more, and wait until the last call is over."""
        with self._guard:
            if self._closed:
                return
            self._closed = True
        os.write(self._wake, b"\0")
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while not self._closed:
            for descriptor, _ in self._poll.poll():
                if descriptor == self._woken:
                    os.read(self._woken, 4096)
                    continue
                with self._guard:
                    name = self._names.pop(descriptor)
                    self._poll.unregister(descriptor)
                    os.close(descriptor)
                if name and not self._closed:
                    self._ended(name)
        with self._guard:
            for descriptor in (*self._names, self._woken, self._wake):
                os.close(descriptor)
            self._names.clear()
