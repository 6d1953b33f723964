"""The collector of cyclic garbage: paused while much is built that stays, settled in what serves for long.

A large template becomes some hundred thousand objects, none of which is garbage. The collector would look at all
of them again and again as they grow: reading ten times as much would take fifteen times as long.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

#: So many more objects may come than went before somebody looks for rings among the youngest: to import what a command
#: needs makes some hundred thousand that stay.
YOUNGEST: Final = 20_000

#: The same for a process that serves for long, where little of what comes stays, and how many looks at a generation
#: come before one at the next older: all that was made since it began is looked at after some 50 000 new objects, where
#: a command's would be after two million.
_SETTLED: Final = (5_000, 2, 2)

_lock = threading.Lock()
_pauses = 0


@contextmanager
def paused_collection() -> Iterator[None]:
    """Pause the collector; it runs again when the last of all threads that paused it has left.

    A collector that somebody else switched off stays off.
    """
    global _pauses  # noqa: PLW0603 - the collector is the process's, too
    with _lock:
        is_ours = _pauses > 0 or gc.isenabled()
        _pauses += is_ours
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _pauses -= is_ours
            if is_ours and _pauses == 0:
                gc.enable()


def look_rarely() -> None:
    """Have the collector look rarely: for a command, which is over before garbage could grow."""
    _, younger, oldest = gc.get_threshold()
    gc.set_threshold(YOUNGEST, younger, oldest)


def settle() -> None:
    """Have the collector leave alone what is there now, and look often at what comes: for what serves for long.

    All that has been imported stays as long as the process. As part of what is looked at it would make looks dear, and
    rare: the interpreter looks at everything only when a quarter of it is new. Garbage in rings would grow till then,
    and Celery makes such a ring of each task that an event tells of.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_SETTLED)
