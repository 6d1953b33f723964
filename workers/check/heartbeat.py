"""The heartbeat: extends the leases of this process's running steps, so that no other worker takes a slow step over."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from orchestrator.config.periodic import Periodic

#: What identifies a running attempt: traversal id, node number, attempt.
Beat = tuple[str, int, int]


class Heartbeat:
    """One thread for all running steps, started with the first of them."""

    def __init__(self, extend: Callable[[Iterable[Beat]], None], *, lease_seconds: float) -> None:
        self._extend = extend
        self._running: set[Beat] = set()
        pause = lease_seconds / 3
        self._thread = Periodic(
            "heartbeat",
            self._beat,
            every_seconds=pause,
            first_seconds=pause,
            complaint="could not extend leases",
        )

    @contextmanager
    def beating(self, beat: Beat) -> Iterator[None]:
        """Extend the attempt's lease while the block runs."""
        self._running.add(beat)
        self._thread.start()
        try:
            yield
        finally:
            self._running.discard(beat)

    def close(self) -> None:
        """Stop the thread."""
        self._thread.stop()

    def _beat(self) -> None:
        if running := list(self._running):
            self._extend(running)
