"""Facts that were read a moment ago, for whoever asks for the same: many look at one stack at once."""

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
    """Reads facts, or returns those that are still true; safe for threads.

    Facts are read anew once anything happened to any stack, and after a while in any case: that a resource is ready is
    no event. Nothing is kept for longer than that.

    Args:
        read: Reads the facts of an operation, by its stack's id and its own.
        newest: Returns the id up to which no event is missing.
        fresh_seconds: For how long facts are fresh if nothing happens; 0 reads them each time.
        clock: Tells seconds that only pass.
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
        # Taken before: what is read is no older.
        at = self._clock()
        facts = self._read(stack_id, traversal_id)
        with self._lock:
            self._known[key] = _Read(facts, at)
        return facts

    def _fresh(self) -> dict[tuple[str, str], _Read]:
        """Forget what is not fresh any more, and return the rest."""
        since = self._clock() - self._fresh_seconds
        with self._lock:
            self._known = {key: each for key, each in self._known.items() if each.at > since}
            return self._known
