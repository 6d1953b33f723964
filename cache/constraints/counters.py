"""Counters of one constraint cache in one process."""

import threading
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counts:
    """The counters of a region, in this process.

    ``hits + misses`` is the number of look-ups; ``generated + refused`` the number of calls of the external system.
    """

    #: Look-ups without a call of their own: found, or answered by another caller's that was under way.
    hits: int = 0
    #: Look-ups that had to call the external system.
    misses: int = 0
    #: Calls that found something.
    generated: int = 0
    #: Calls that found nothing, or failed.
    refused: int = 0
    #: Calls of the store that failed, or took too long.
    errors: int = 0
    #: Entries that another program wrote, or another version of this one.
    garbage: int = 0
    #: Answers evicted for want of room; some may have expired already.
    evicted: int = 0


class Counters:
    """Thread-safe counters.

    ``+=`` is two steps: without the lock, concurrent additions would be lost.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = dict.fromkeys(Counts.__slots__, 0)

    def add(self, name: str, number: int = 1) -> None:
        """Add ``number`` to ``name``, a field of :class:`Counts`."""
        with self._lock:
            self._counts[name] += number

    def now(self) -> Counts:
        """Return the counts since the last :meth:`take`."""
        with self._lock:
            return Counts(**self._counts)

    def take(self) -> Counts:
        """Return the counts since the last call, and reset them to zero."""
        with self._lock:
            counts = Counts(**self._counts)
            self._counts = dict.fromkeys(self._counts, 0)
        return counts
