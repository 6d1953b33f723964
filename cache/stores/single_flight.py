"""Threads that want to know the same at the same time, of which one asks."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Generation = TypeVar("Generation")
Answer = TypeVar("Answer")


@dataclass(eq=False, slots=True)
class Flight(Generic[Generation, Answer]):
    """One question that is under way."""

    #: Of which generation of answers it is.
    generation: Generation
    #: That of its claim in the store, set before the question is asked; None if it has none, or not yet.
    token: bytes | None = None
    landing: "Future[Answer]" = field(default_factory=Future)


class Flights(Generic[Generation, Answer]):
    """What is being asked for just now in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[str, Flight[Generation, Answer]] = {}

    def under_way(self, key: str) -> Flight[Generation, Answer] | None:
        """Return the question that one could wait for."""
        return self._under_way.get(key)

    def join(
        self,
        key: str,
        mine: Flight[Generation, Answer],
        fits: Callable[[Flight[Generation, Answer]], bool],
        lead: Callable[[], Answer],
        patience_seconds: float,
    ) -> Answer:
        """Return an answer: what ``lead`` says, or said to another thread that asked for the same.

        Args:
            key: What is asked for.
            mine: What is under way if this thread leads.
            fits: Tells whether the answer to a question that is under way will do.
            lead: Asks; called if nobody does so already.
            patience_seconds: Whoever has waited this long for another asks too.

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
        """Let nobody join any more who asks for this from now on: something newer is known."""
        with self._lock:
            self._under_way.pop(key, None)

    def leave_all(self) -> None:
        """Let nobody join any more who asks for anything from now on."""
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
            # A thread that is stopped learns nothing: one of those who wait for it asks.
            self._land(key, mine)
            mine.landing.cancel()
            # Only this wakes them.
            mine.landing.set_running_or_notify_cancel()
            raise
        self._land(key, mine)
        mine.landing.set_result(answer)
        return answer

    def _land(self, key: str, mine: Flight[Generation, Answer]) -> None:
        with self._lock:
            if self._under_way.get(key) is mine:
                del self._under_way[key]
