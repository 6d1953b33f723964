"""Recent facts: a short cache of operations' facts, for many clients that look at the same stack."""

import threading
import time
from collections.abc import Callable

from orchestrator.views.facts import Facts


class RecentFacts:
    """A cache of facts; threads may share it.

    Facts are read again after any new event of any stack, and after ``fresh_seconds`` in any case, because not every
    change is an event (a resource that becomes ready is none).

    ``read`` reads the facts of an operation, by its stack's id and its own; ``newest`` returns the id up to which no
    event is missing. Without ``fresh_seconds`` they are read each time.
    """

    def __init__(
        self,
        read: Callable[[str, str], Facts],
        newest: Callable[[], int],
        *,
        fresh_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read, self._newest, self._fresh_seconds, self._clock = read, newest, fresh_seconds, clock
        #: The facts by stack and operation, with the time of their read.
        self._known: dict[tuple[str, str], tuple[Facts, float]] = {}
        self._lock = threading.Lock()

    def __call__(self, stack_id: str, traversal_id: str) -> Facts:
        """Return the facts of an operation.

        Raises:
            NotFound: as ``read`` does.
        """
        if not self._fresh_seconds:
            return self._read(stack_id, traversal_id)
        key = stack_id, traversal_id
        known = self._fresh().get(key)
        if known is not None and known[0].cursor == self._newest():
            return known[0]
        # Before the read, so that the facts are not older.
        at = self._clock()
        facts = self._read(stack_id, traversal_id)
        with self._lock:
            self._known[key] = facts, at
        return facts

    def _fresh(self) -> dict[tuple[str, str], tuple[Facts, float]]:
        since = self._clock() - self._fresh_seconds
        with self._lock:
            self._known = {key: each for key, each in self._known.items() if each[1] > since}
            return self._known
