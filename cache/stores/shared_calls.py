"""Shared calls: an outcome, a failure included, serves all who wait for it, and later callers for a while."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, Generic, TypeVar

from cache.stores.single_flight import Flight, Flights

Answer = TypeVar("Answer")

#: How long a caller waits for another's call before it makes one of its own: the other's thread may hang for ever.
PATIENCE_SECONDS: Final = 300.0


class SharedCalls(Generic[Answer]):
    """Calls by key, one at a time for each; thread-safe, and of one process.

    Args:
        seconds: How long an outcome serves later callers; 0: not at all.
        clock: Seconds on a monotonic clock.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._flights: Flights[None, Answer] = Flights()
        self._kept: dict[str, tuple[float, Future[Answer]]] = {}

    def call(self, key: str, make: Callable[[], Answer]) -> Answer:
        """Return what ``make`` returns here, or returned to another caller with this key.

        Raises:
            Exception: what ``make`` raised, here or for the other caller.
        """

        def lead() -> Answer:
            # An outcome is kept before its flight ends: a caller that finds neither of them is the first.
            if (late := self._outcome(key)) is not None:
                return _result(late)
            outcome: Future[Answer] = Future()
            try:
                outcome.set_result(make())
            except Exception as error:
                outcome.set_exception(error)
                raise
            finally:
                # A thread that is stopped has no outcome.
                if outcome.done():
                    self._kept[key] = self._clock(), outcome
            return outcome.result()

        if (kept := self._outcome(key)) is not None:
            return _result(kept)
        return self._flights.join(key, Flight(None), lambda _: True, lead, PATIENCE_SECONDS)

    def _outcome(self, key: str) -> "Future[Answer] | None":
        at, outcome = self._kept.get(key, (0.0, None))
        return outcome if outcome is not None and self._clock() - at < self._seconds else None


def _result(outcome: "Future[Answer]") -> Answer:
    error = outcome.exception()
    if error is not None:
        # Each raise would lengthen the traceback, and an outcome may serve thousands of callers.
        raise error.with_traceback(None)
    return outcome.result()
