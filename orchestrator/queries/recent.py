"""Recent facts: a short cache of operations' facts, for many clients that look at the same stack."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.views.facts import Facts


@dataclass(frozen=True, slots=True)
class _Read:
    facts: Facts
    at: float


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
        self._known: dict[tuple[str, str], _Read] = {}
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
        if known is not None and known.facts.cursor == self._newest():
            return known.facts
        # Before the read, so that the facts are not older.
        at = self._clock()
        facts = self._read(stack_id, traversal_id)
        with self._lock:
            self._known[key] = _Read(facts, at)
        return facts

    def _fresh(self) -> dict[tuple[str, str], _Read]:
        since = self._clock() - self._fresh_seconds
        with self._lock:
            self._known = {key: each for key, each in self._known.items() if each.at > since}
            return self._known
