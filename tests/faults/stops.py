"""Stops: points between the instructions of a worker at which its process stands until a test lets it go on.

A process with the variable of :data:`VARIABLE` tells a socket whenever it comes to such a point, and waits there for
the connection to end; the test answers at once, unless it armed the point. So a test kills a process, or empties the
broker, exactly there, and no time matters.
"""

import functools
import json
import math
import os
import queue
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from orchestrator.store.nodes.batches import Ended
from orchestrator.store.nodes.runs import Run
from orchestrator.store.traversals.traversals import Traversals
from tests.waiting import PATIENCE_SECONDS
from workers.check import batch
from workers.check.batch import Batch
from workers.check.checker import Checker

#: Where the socket is.
VARIABLE: Final = "STOPS"
#: How many checks a batch or a run has at least at which a process stops.
LEAST: Final = 4

#: A batch is claimed, and no step taken.
CLAIMED: Final = "claimed"
#: Half of the steps of a batch are taken.
HALF: Final = "half"
#: All of them are, and none is recorded.
TAKEN: Final = "taken"
#: All are recorded, and what was made ready by that is not published.
ENDED: Final = "ended"
#: The last of a traversal is recorded, and the traversal is not complete.
LAST: Final = "last"
#: It is, and its end is not published.
COMPLETE: Final = "complete"
#: Of a run, some steps are taken.
RUN_HALF: Final = "half of a run"
#: All of them are, and none is recorded.
RUN_TAKEN: Final = "a run is taken"
#: All are recorded, and what was made ready is not published.
RUN_ENDED: Final = "a run is ended"

# -- in the processes ----------------------------------------------------------------------------------------------


def stop_at(point: str, size: int) -> None:
    """Stand here until the test lets this process go on; at once if there is no test any more."""
    with socket.socket(socket.AF_UNIX) as told:
        try:
            told.connect(os.environ[VARIABLE])
            told.sendall(json.dumps([point, size, os.getpid(), os.getppid()]).encode() + b"\n")
            told.recv(1)
        except OSError:
            return


def put_in(dropped: Callable[[str], object]) -> None:
    """Let this process stop at all points; the time that outcomes may wait to be recorded is not limited any more.

    ``dropped`` is told the first node of each run that could not be recorded.
    """
    # Else a busy machine would decide how many steps a batch or a run has.
    batch.DELAY_SECONDS = math.inf  # type: ignore[misc]

    def next_claim(self: Batch, proceed: Callable[[], Any]) -> Any:
        size, left = len(self._waiting) + len(self._ended), len(self._waiting)
        if size >= LEAST and left in (size, size // 2):
            stop_at(CLAIMED if left == size else HALF, size)
        return proceed()

    def record(_: Checker, proceed: Callable[[], Any], ended: Sequence[Ended], *__: Any) -> Any:
        return _around(proceed, TAKEN, ENDED, len(ended))

    def record_run(_: Checker, proceed: Callable[[], Any], run: Run, *__: Any) -> Any:
        found = _around(proceed, RUN_TAKEN, RUN_ENDED, len(run.ended))
        if found is None:
            dropped(run.ended[0][0].order.key)
        return found

    def add(self: Run, proceed: Callable[[], Any], *_: Any) -> Any:
        if len(self.ended) == LEAST:
            stop_at(RUN_HALF, len(self.ended))
        return proceed()

    def complete(_: Traversals, proceed: Callable[[], Any], *__: Any) -> Any:
        return _around(proceed, LAST, COMPLETE, LEAST)

    _wrap(Batch, "next", next_claim)
    _wrap(Checker, "_record", record)
    _wrap(Checker, "_record_run", record_run)
    _wrap(Run, "add", add)
    _wrap(Traversals, "complete", complete)


def _around(proceed: Callable[[], Any], before: str, after: str, size: int) -> Any:
    if size >= LEAST:
        stop_at(before, size)
    found = proceed()
    if size >= LEAST:
        stop_at(after, size)
    return found


def _wrap(owner: type, name: str, around: Callable[..., Any]) -> None:
    method = getattr(owner, name)

    @functools.wraps(method)
    def wrapped(self: Any, *arguments: Any) -> Any:
        return around(self, lambda: method(self, *arguments), *arguments)

    setattr(owner, name, wrapped)


# -- in the test ---------------------------------------------------------------------------------------------------


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


class Stops:
    """The test's side: which points are armed, and which processes stand there."""

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
        return self._standing.get(timeout=PATIENCE_SECONDS)

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
            point, size, pid, parent = json.loads(line)
            with self._lock:
                if point not in self._armed:
                    connection.close()
                    continue
                self._armed.remove(point)
            self._all.append(Stop(point, size, pid, parent, connection))
            self._standing.put(self._all[-1])
