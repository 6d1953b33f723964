"""Extends the leases of the steps that this process is taking, so that a slow step is not given to another worker."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import structlog

log = structlog.get_logger()

#: What identifies a running attempt: traversal id, node number, attempt.
Beat = tuple[str, int, int]


class Heartbeat:
    """One thread, started with the first step that needs it, that speaks for all running steps at once."""

    def __init__(self, extend: Callable[[Iterable[Beat]], None], *, lease_seconds: float) -> None:
        self._extend = extend
        self._pause_seconds = lease_seconds / 3
        self._running: set[Beat] = set()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    @contextmanager
    def beating(self, beat: Beat) -> Iterator[None]:
        """Keep the attempt's lease alive inside the block."""
        self._running.add(beat)
        if self._thread is None:
            self._start()
        try:
            yield
        finally:
            self._running.discard(beat)

    def beat(self) -> None:
        """Extend all leases now. A database that does not answer is tried again at the next beat."""
        running = list(self._running)
        if not running:
            return
        try:
            self._extend(running)
        except Exception as error:  # noqa: BLE001  # the thread must outlive any fault of the database
            log.warning("could not extend leases", attempts=len(running), error=str(error))

    def close(self) -> None:
        """Stop the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(self._pause_seconds):
            self.beat()
