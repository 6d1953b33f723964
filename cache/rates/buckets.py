"""The contract of a place with token buckets, and the one in the memory of a process."""

import threading
import time
from collections.abc import Callable
from typing import Protocol

from cache.rates.bucket import Draw, drawn


class Buckets(Protocol):
    """A place with token buckets by key; thread-safe."""

    def take(self, key: str, draw: Draw) -> float:
        """Take a token from a bucket, in one atomic step for all who share the place.

        Returns for how many seconds the caller must wait before it sends its request. If that is longer than the
        patience of the draw, no token was taken.

        Raises:
            Exception: the place does not answer.
        """


class MemoryBuckets:
    """Buckets of this process alone."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._states: dict[str, float] = {}
        self._lock = threading.Lock()

    def take(self, key: str, draw: Draw) -> float:
        """Take a token, see :class:`Buckets`."""
        with self._lock:
            self._states[key], wait = drawn(self._states.get(key), draw, self._clock())
            return wait
