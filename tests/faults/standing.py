"""The test's side of ``stops.py``: it arms points, and decides what becomes of a process that stands at one."""

import json
import os
import queue
import signal
import socket
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from tests.waiting import PATIENCE_SECONDS


@dataclass(frozen=True, slots=True)
class Stop:
    """A process that stands at a point, with so many checks in its hands."""

    point: str
    size: int
    pid: int
    #: The worker that the process belongs to.
    parent: int
    _connection: socket.socket

    def go_on(self) -> None:
        """Let the process go on; harmless if it is dead."""
        self._connection.close()

    def kill(self) -> None:
        """Kill the process, and return when it is dead."""
        os.kill(self.pid, signal.SIGKILL)
        self._connection.recv(1)
        self._connection.close()


class Points:
    """Which points are armed, and which processes stand there; at all others processes go on at once."""

    def __init__(self, path: Path) -> None:
        """Listen at a path; nothing is armed."""
        self._armed: list[str] = []
        self._lock = threading.Lock()
        self._standing: queue.SimpleQueue[Stop] = queue.SimpleQueue()
        self._all: list[Stop] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(64)
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def arm(self, *points: str) -> None:
        """Let one process stand at each of these points, the next that comes there."""
        with self._lock:
            self._armed += points

    def next(self) -> Stop:
        """Return the next process that stands at an armed point, once there is one."""
        try:
            return self._standing.get(timeout=PATIENCE_SECONDS)
        except queue.Empty:
            pytest.fail(f"no process came to any of these points: {self._armed}")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # The thread wakes up from what it waits for.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()
        for stop in self._all:
            stop.go_on()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection.makefile("rb") as lines:
                line = lines.readline()
            # Nothing is said by one that was killed just now.
            point, size, pid, parent = json.loads(line or "[null, 0, 0, 0]")
            with self._lock:
                if point not in self._armed:
                    connection.close()
                    continue
                self._armed.remove(point)
            self._all.append(Stop(point, size, pid, parent, connection))
            self._standing.put(self._all[-1])
