"""Periodic threads: a daemon thread that calls a function again and again, such as to extend leases."""

import threading
from collections.abc import Callable
from typing import TypeVar

from orchestrator.config.logger import get_logger
from orchestrator.errors import IsothermError

T = TypeVar("T")

log = get_logger()


class Periodic:
    """A daemon thread that calls ``act`` from :meth:`start` until :meth:`stop`; make it after a fork, not before.

    An exception of ``act`` is logged, and ``act`` is called again.

    Args:
        name: The thread's name.
        act: Returns the seconds until it is called again; None: ``every_seconds``.
        every_seconds: The seconds until the next call after an exception.
        first_seconds: The seconds until the first call.
        least_seconds: The least seconds between two calls after :meth:`wake`; None if it cannot be woken.
        last: Called before the thread ends.
        complaint: The log event of an exception.
    """

    def __init__(
        self,
        name: str,
        act: Callable[[], float | None],
        *,
        every_seconds: float,
        first_seconds: float = 0.0,
        least_seconds: float | None = None,
        last: Callable[["Periodic"], object] = lambda _: None,
        complaint: str = "",
    ) -> None:
        self._name, self._act, self._last = name, act, last
        self._complaint = complaint or f"{name} failed; it is tried again"
        self._every_seconds, self._first_seconds = every_seconds, first_seconds
        self._least_seconds = least_seconds
        self._woken, self._stopping = threading.Event(), threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, unless it was started or stopped."""
        if self._thread is None:
            with self._starting:
                if self._thread is None and not self._stopping.is_set():
                    self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                    self._thread.start()

    def wake(self) -> None:
        """Have ``act`` called soon; cheap."""
        self._woken.set()

    def rest(self, seconds: float) -> None:
        """Wait until :meth:`wake` is called, for so long at most; for use in ``last``."""
        self._woken.wait(seconds)
        self._woken.clear()

    def stop(self, seconds: float | None = None) -> None:
        """Stop the calls, and wait until the thread ends, for so long at most; ``act`` may call it too."""
        with self._starting:
            self._stopping.set()
        self.wake()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def _run(self) -> None:
        pause = self._first_seconds
        while not self._is_stopped_within(pause):
            # Cleared before the call: a wake-up during it leads to another one.
            self._woken.clear()
            again = self._tried(self._act)
            pause = self._every_seconds if again is None else again
        self._tried(lambda: self._last(self))

    def _is_stopped_within(self, seconds: float) -> bool:
        least = seconds if self._least_seconds is None else min(seconds, self._least_seconds)
        if not self._stopping.wait(least):
            self._woken.wait(seconds - least)
        return self._stopping.is_set()

    def _tried(self, act: Callable[[], T]) -> T | None:
        try:
            return act()
        except IsothermError as error:
            log.warning(self._complaint, thread=self._name, error=str(error))
        except Exception:
            log.exception(self._complaint, thread=self._name)
        return None
