"""A batch: claimed nodes that a worker takes one step of after the other, and outcomes that are recorded together."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from orchestrator.store.nodes.batches import Ended
from orchestrator.store.nodes.claims import Claim, Outcome

#: Claimed nodes that are not begun within this time are given back; the same is the longest time that an outcome waits.
PATIENCE_SECONDS: Final = 1.0
#: Outcomes that are older are recorded before the next step begins.
DELAY_SECONDS: Final = 0.05


class Batch:
    """The claims that are not begun, and the outcomes that are not recorded; thread-safe.

    The thread that carries the steps out takes from it, and so does one that finds that a step takes too long.
    """

    def __init__(
        self,
        claims: Sequence[Claim],
        *,
        patience_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._patience_seconds = PATIENCE_SECONDS if patience_seconds is None else patience_seconds
        self._lock = threading.Lock()
        self._waiting = deque(claims)
        self._ended: list[Ended] = []
        self._since = self._oldest = clock()

    def next(self) -> Claim | None:
        """Take the next claim; None if there is none, or if they have waited too long."""
        with self._lock:
            return self._waiting.popleft() if self._waiting and not self._is_late() else None

    def add(self, claim: Claim, outcome: Outcome) -> None:
        """Keep an outcome until it is recorded."""
        with self._lock:
            if not self._ended:
                self._oldest = self._clock()
            self._ended.append((claim, outcome))

    def due(self) -> Sequence[Ended]:
        """Take the outcomes that are to be recorded now: all, once one has waited for some time."""
        with self._lock:
            return () if self.may_wait() else self._take_ended()

    def may_wait(self) -> bool:
        """Return whether the oldest outcome may still wait for another step."""
        return self._clock() - self._oldest <= DELAY_SECONDS

    def rest(self) -> tuple[Sequence[Ended], Sequence[Claim]]:
        """Take all outcomes, and all claims that were not begun."""
        with self._lock:
            claims = tuple(self._waiting)
            self._waiting.clear()
            return self._take_ended(), claims

    def overdue(self) -> tuple[Sequence[Ended], Sequence[Claim]]:
        """As :meth:`rest` if they have waited too long; else nothing."""
        return self.rest() if self._is_late() else ((), ())

    def _is_late(self) -> bool:
        return self._clock() - self._since > self._patience_seconds

    def _take_ended(self) -> Sequence[Ended]:
        ended, self._ended = self._ended, []
        return ended
