"""Stops: points between the instructions of a worker at which its process stands until a test lets it go on.

A process with the variable of :data:`VARIABLE` tells a socket whenever it comes to such a point, and waits there for
the connection to end (``standing.py`` is the test's side). So a test kills a process, or empties the broker, exactly
there, and no time matters.
"""

import functools
import json
import math
import os
import socket
from collections.abc import Callable, Sequence
from typing import Any, Final

from orchestrator.store.nodes.batches import Ended
from orchestrator.store.nodes.runs import Run
from orchestrator.store.traversals.traversals import Traversals
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


def stop_at(point: str, size: int) -> None:
    """Stand here until the test lets this process go on; at once if there is no test any more."""
    with socket.socket(socket.AF_UNIX) as told:
        try:
            told.connect(os.environ[VARIABLE])
            told.sendall(json.dumps([point, size, os.getpid(), os.getppid()]).encode() + b"\n")
            told.recv(1)
        except OSError:
            return


def put_in(note: Callable[[str, str], object]) -> None:
    """Let this process stop at all points; the time that outcomes may wait to be recorded is not limited any more.

    ``note`` is called with ``taken`` and the first node for each run whose steps were taken, and with ``recorded`` for
    each that was recorded.
    """
    # Else a busy machine would decide how many steps a batch or a run has.
    batch.DELAY_SECONDS = math.inf  # type: ignore[misc]

    def take_run(_: Checker, proceed: Callable[[], Any], *__: Any) -> Any:
        run = proceed()
        if run.passed:
            note("taken", run.ended[0][0].order.key)
        return run

    def record_run(_: Checker, proceed: Callable[[], Any], run: Run, *__: Any) -> Any:
        def recorded() -> Any:
            found = proceed()
            if found is not None:
                note("recorded", run.ended[0][0].order.key)
            return found

        return _around(recorded, RUN_TAKEN, RUN_ENDED, len(run.ended))

    _wrap(Batch, "next", _next)
    _wrap(Checker, "_record", _record)
    _wrap(Checker, "_run", take_run)
    _wrap(Checker, "_record_run", record_run)
    _wrap(Run, "add", _add)
    _wrap(Traversals, "complete", _complete)


def _next(waiting: Batch, proceed: Callable[[], Any]) -> Any:
    size, left = len(waiting._waiting) + len(waiting._ended), len(waiting._waiting)
    if size >= LEAST and left in (size, size // 2):
        stop_at(CLAIMED if left == size else HALF, size)
    return proceed()


def _record(_: Checker, proceed: Callable[[], Any], ended: Sequence[Ended], *__: Any) -> Any:
    return _around(proceed, TAKEN, ENDED, len(ended))


def _add(run: Run, proceed: Callable[[], Any], *_: Any) -> Any:
    if len(run.ended) == LEAST:
        stop_at(RUN_HALF, len(run.ended))
    return proceed()


def _complete(_: Traversals, proceed: Callable[[], Any], *__: Any) -> Any:
    return _around(proceed, LAST, COMPLETE, LEAST)


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
