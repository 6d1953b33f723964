"""The collector of cyclic garbage, paused while much is built that stays.

A large template becomes some hundred thousand objects, none of which is garbage. The collector would look at all
of them again and again as they grow: reading ten times as much would take fifteen times as long.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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
