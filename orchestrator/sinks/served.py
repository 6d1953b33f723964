"""A sink that is told, and what becomes of it when a call of it does not end in time."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from hooks.events import EventSink

T = TypeVar("T")


class Served:
    """Knows whether a call of a sink is going on.

    Nobody may call a sink twice at the same time, so one whose call hangs is left alone; but what it holds, such as the
    port where it listens, its successor cannot have. So it is closed as soon as that call ends.
    """

    def __init__(self) -> None:
        #: None until it is made.
        self.sink: EventSink | None = None
        self._lock = threading.Lock()
        self._is_busy = self._is_left = False

    def call(self, function: Callable[[], T]) -> T:
        """Return what a call of the sink returns, or raise what it raises; in the thread that it may hold for ever."""
        with self._lock:
            self._is_busy = True
        try:
            return function()
        finally:
            with self._lock:
                self._is_busy, is_left = False, self._is_left
            if is_left:
                self._close()

    def leave(self) -> None:
        """Have the sink closed when its call ends, should it ever; at once, in another thread, if none is going on."""
        with self._lock:
            self._is_left = True
            if self._is_busy:
                return
        threading.Thread(target=self._close, name="closing a sink", daemon=True).start()

    def _close(self) -> None:
        if self.sink is not None:
            # Nobody listens any more to what it says.
            with suppress(Exception):
                self.sink.close()
