"""Tuning of Python's cyclic garbage collector: paused while templates are read, thresholds by kind of process.

A large template becomes some hundred thousand objects, none of which is garbage. The collector would traverse all of
them again and again as they grow: reading ten times as much would take fifteen times as long.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

#: The threshold of the youngest generation in a command. What it imports, and a small stack, make up to 160 000 lasting
#: objects: so it ends without a collection, and one that goes on has one whenever so many objects more are there.
YOUNGEST: Final = 200_000
#: So many collections of a generation, then one of the next: all objects after some two million new ones.
_OLDER: Final = 3

#: The thresholds of a long-running process, where few new objects last: everything made since its start is collected
#: after some 50 000 new objects, where a command would after two million.
_SETTLED: Final = (5_000, 2, 2)

_lock = threading.Lock()
_pauses = 0
#: Whether the end of the next pause exempts everything present from collection.
_keeps_all = False


@contextmanager
def paused_collection() -> Iterator[None]:
    """Pause the collector; it runs again when the last of all threads that paused it has left.

    A collector that was disabled elsewhere stays disabled. In a command, what is there at the end of the first pause is
    never collected: it is the plan of its operation, which lasts as long as the command.
    """
    global _pauses, _keeps_all  # noqa: PLW0603 - the collector is the process's, too
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
                if _keeps_all:
                    # Else the next object would have all of them traversed at once.
                    _keeps_all = False
                    gc.freeze()
                gc.enable()


def look_rarely() -> None:
    """Raise the threshold of the youngest generation, for a command, which ends before garbage grows."""
    global _keeps_all  # noqa: PLW0603 - as above
    _keeps_all = True
    gc.set_threshold(YOUNGEST, _OLDER, _OLDER)


def settle() -> None:
    """Exempt all present objects from collection, and lower the thresholds, for a long-running process.

    Imported modules last as long as the process. As part of the oldest generation they would make full collections
    expensive and rare: the interpreter runs one only when a quarter of all objects is new. Cyclic garbage would grow
    till then, and Celery makes some for every task event.
    """
    global _keeps_all  # noqa: PLW0603 - as above
    _keeps_all = False
    gc.collect()
    gc.freeze()
    # The interpreter compares new objects with those that the last full collection left, frozen ones included.
    gc.collect()
    gc.set_threshold(*_SETTLED)
