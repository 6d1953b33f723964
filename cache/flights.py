"""Threads that want to know the same at the same time, of which one asks."""

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait


class Flights:
    """What is being asked for just now in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[Hashable, Future[str]] = {}

    def join(self, key: Hashable, ask: Callable[[], str], patience_seconds: float) -> str:
        """Return an answer: what ``ask`` says, or said to another thread that called it for the same ``key``.

        Args:
            key: What is asked for.
            ask: Called if nobody does so already.
            patience_seconds: Whoever has waited this long for another asks too.

        Raises:
            Exception: what ``ask`` raised, here or in the other thread.
        """
        while True:
            with self._lock:
                flight = self._under_way.get(key)
                if flight is None:
                    mine = self._under_way[key] = Future()
                    break
            wait([flight], patience_seconds)
            if not flight.done():
                return ask()
            if not flight.cancelled():
                return flight.result()
        return self._lead(key, mine, ask)

    def _lead(self, key: Hashable, flight: "Future[str]", ask: Callable[[], str]) -> str:
        try:
            answer = ask()
        except Exception as error:
            self._land(key)
            flight.set_exception(error)
            raise
        except BaseException:
            # A thread that is stopped learns nothing: one of those who wait for it asks.
            self._land(key)
            flight.cancel()
            raise
        self._land(key)
        flight.set_result(answer)
        return answer

    def _land(self, key: Hashable) -> None:
        with self._lock:
            del self._under_way[key]
