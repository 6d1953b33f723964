"""Threads that want to know the same at the same time, of which one asks."""

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait


class Flights:
    """What is being asked for just now in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[str, tuple[Hashable, Future[str]]] = {}

    def join(self, key: str, of: Hashable, ask: Callable[[], str], patience_seconds: float) -> str:
        """Return an answer: what ``ask`` says, or said to another thread that called it for the same.

        Args:
            key: What is asked for.
            of: Answers to the same ``key`` that differ in this are not shared.
            ask: Called if nobody does so already.
            patience_seconds: Whoever has waited this long for another asks too.

        Raises:
            Exception: what ``ask`` raised, here or in the other thread.
        """
        while True:
            with self._lock:
                under_way = self._under_way.get(key)
                if under_way is None or under_way[0] != of:
                    mine: Future[str] = Future()
                    self._under_way[key] = (of, mine)
                    break
            flight = under_way[1]
            wait([flight], patience_seconds)
            if not flight.done():
                return ask()
            if not flight.cancelled():
                return flight.result()
        return self._lead(key, mine, ask)

    def leave(self, key: str) -> None:
        """Let nobody join any more who asks for this from now on: something newer is known."""
        with self._lock:
            self._under_way.pop(key, None)

    def leave_all(self) -> None:
        """Let nobody join any more who asks for anything from now on."""
        with self._lock:
            self._under_way.clear()

    def _lead(self, key: str, flight: "Future[str]", ask: Callable[[], str]) -> str:
        try:
            answer = ask()
        except Exception as error:
            self._land(key, flight)
            flight.set_exception(error)
            raise
        except BaseException:
            # A thread that is stopped learns nothing: one of those who wait for it asks.
            self._land(key, flight)
            flight.cancel()
            # Only this wakes them.
            flight.set_running_or_notify_cancel()
            raise
        self._land(key, flight)
        flight.set_result(answer)
        return answer

    def _land(self, key: str, flight: "Future[str]") -> None:
        with self._lock:
            if key in self._under_way and self._under_way[key][1] is flight:
                del self._under_way[key]
