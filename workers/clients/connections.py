"""A bounded number of connections to one server, each for one thread at a time."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, LifoQueue

import httpx


class Connections:
    """HTTP clients with one connection each, lent to one thread after the other.

    A client of httpx that threads share now and then closes a connection on which another thread has just begun: its
    pool takes an answer that has come for the end of a connection that nobody uses. What was asked is then asked
    again, or, where that may do harm, left in doubt.
    """

    def __init__(self, limit: int, make: Callable[[], httpx.Client]) -> None:
        """Prepare; ``make`` is called when all are lent and there are fewer than ``limit``."""
        self._limit = limit
        self._make = make
        self._made: list[httpx.Client] = []
        # The last one that was used is the next: it is the most likely to be open still.
        self._free: LifoQueue[httpx.Client] = LifoQueue()
        self._lock = threading.Lock()

    @contextmanager
    def one(self, *, patience_seconds: float) -> Iterator[httpx.Client]:
        """Lend a client; its answers must be closed when it is given back.

        Raises:
            PoolTimeout: all are lent for as long as this.
        """
        client = self._taken(patience_seconds)
        try:
            yield client
        finally:
            self._free.put(client)

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for client in self._made:
                client.close()

    def _taken(self, patience_seconds: float) -> httpx.Client:
        with suppress(Empty):
            return self._free.get_nowait()
        with self._lock:
            if len(self._made) < self._limit:
                self._made.append(self._make())
                return self._made[-1]
        try:
            return self._free.get(timeout=max(patience_seconds, 0))
        except Empty:
            raise httpx.PoolTimeout("all connections are in use") from None
