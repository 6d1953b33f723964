"""Sink object in use: knows whether a call of it is running, and closes it after a call that exceeded its time."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from hooks.events import EventSink

T = TypeVar("T")


class GuardedSink:
    """One sink object, whose calls do not overlap.

    A sink whose call hangs is replaced, but holds its resources, such as a port, which its successor cannot have. So it
    is closed as soon as that call ends.
    """

    def __init__(self) -> None:
        #: None until it is made.
        self.sink: EventSink | None = None
        self._lock = threading.Lock()
        self._is_busy = self._is_left = False

    def call(self, function: Callable[[], T]) -> T:
        """Return or raise the result of a call of the sink; runs in a thread that the call may block for ever."""
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
        """Close the sink when its running call ends; without one, at once in another thread."""
        with self._lock:
            self._is_left = True
            if self._is_busy:
                return
        threading.Thread(target=self._close, name="closing a sink", daemon=True).start()

    def _close(self) -> None:
        if self.sink is not None:
            # The sink is given up: its errors do not matter.
            with suppress(Exception):
                self.sink.close()
