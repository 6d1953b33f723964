"""Single flight: of several threads that need the same answer at the same time, one calls and all share it."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Generation = TypeVar("Generation")
Answer = TypeVar("Answer")


@dataclass(eq=False, slots=True)
class Flight(Generic[Generation, Answer]):
    """One question under way."""

    #: The generation of answers that it belongs to.
    generation: Generation
    #: The token of its fill lock, set before the call; None if it has none, or not yet.
    token: bytes | None = None
    landing: "Future[Answer]" = field(default_factory=Future)


class Flights(Generic[Generation, Answer]):
    """The questions under way in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[str, Flight[Generation, Answer]] = {}

    def under_way(self, key: str) -> Flight[Generation, Answer] | None:
        """Return the question under way for a key, which a caller could wait for."""
        return self._under_way.get(key)

    def join(
        self,
        key: str,
        mine: Flight[Generation, Answer],
        fits: Callable[[Flight[Generation, Answer]], bool],
        lead: Callable[[], Answer],
        patience_seconds: float,
    ) -> Answer:
        """Return the answer: what ``lead`` returns here, or returned to another thread with the same question.

        ``mine`` is the question under way if this thread leads; ``fits`` returns whether the answer to another will do.
        A caller that has waited for another for ``patience_seconds`` leads, too.

        Raises:
            Exception: what ``lead`` raised, here or in the other thread.
        """
        while True:
            with self._lock:
                other = self._under_way.get(key)
                if other is None or not fits(other):
                    self._under_way[key] = mine
                    break
            wait([other.landing], patience_seconds)
            if not other.landing.done():
                return lead()
            if not other.landing.cancelled():
                return other.landing.result()
        return self._lead(key, mine, lead)

    def leave(self, key: str) -> None:
        """Let no further caller join the question under way for ``key``: something newer is known."""
        with self._lock:
            self._under_way.pop(key, None)

    def leave_all(self) -> None:
        """Let no further caller join any question under way."""
        with self._lock:
            self._under_way.clear()

    def _lead(self, key: str, mine: Flight[Generation, Answer], lead: Callable[[], Answer]) -> Answer:
        try:
            answer = lead()
        except Exception as error:
            self._land(key, mine)
            mine.landing.set_exception(error)
            raise
        except BaseException:
            # A thread that is stopped has no answer: one of the waiting threads calls.
            self._land(key, mine)
            mine.landing.cancel()
            # Nothing else wakes the waiting threads.
            mine.landing.set_running_or_notify_cancel()
            raise
        self._land(key, mine)
        mine.landing.set_result(answer)
        return answer

    def _land(self, key: str, mine: Flight[Generation, Answer]) -> None:
        with self._lock:
            if self._under_way.get(key) is mine:
                del self._under_way[key]
