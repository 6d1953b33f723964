"""What a cache counts."""

import threading
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counts:
    """What happened in a region, in this process.

    ``hits + misses`` is how often something was looked up; ``generated + refused`` how often the outside was asked.
    """

    #: Look-ups that needed no question of their own: found, or the answer to one that another asked just then.
    hits: int = 0
    #: Look-ups that had to ask.
    misses: int = 0
    #: Questions answered with a yes.
    generated: int = 0
    #: Questions answered with a no, or not at all.
    refused: int = 0
    #: Calls of the store that failed, or took too long.
    errors: int = 0
    #: Values found that nobody here wrote, or another version of this program.
    garbage: int = 0
    #: Answers that went for want of room, some of which may have been too old to be given.
    evicted: int = 0


class Counters:
    """Counts for many threads.

    Threads that add at once would lose some of it without the lock: ``+=`` is two steps.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = dict.fromkeys(Counts.__slots__, 0)

    def add(self, name: str, number: int = 1) -> None:
        """Count more of ``name``, a field of :class:`Counts`."""
        with self._lock:
            self._counts[name] += number

    def now(self) -> Counts:
        """Return what has been counted since the last :meth:`take`."""
        with self._lock:
            return Counts(**self._counts)

    def take(self) -> Counts:
        """Return what has been counted since the last call, and begin again at zero."""
        with self._lock:
            counts = Counts(**self._counts)
            self._counts = dict.fromkeys(self._counts, 0)
        return counts
