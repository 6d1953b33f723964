"""Calls of what may hang: they are given up in time, and what hangs is not asked again and again."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

#: So many calls of one backend may hang at once before it is not asked any more until one of them returns.
_MOST_HANGING: Final = 4


class Unanswered(Exception):
    """A call did not return in time; it may still do so, and its answer is lost."""


class Asked(Generic[T]):
    """A call that was begun."""

    def __init__(self, future: "Future[T]", who: str, seconds: float) -> None:
        self._future, self._who, self._seconds = future, who, seconds
        self._deadline = time.monotonic() + seconds

    def answer(self) -> T:
        """Wait for what it returns, as long as there is time.

        Raises:
            Unanswered: it has not returned.
        """
        try:
            return self._future.result(timeout=max(0.0, self._deadline - time.monotonic()))
        except TimeoutError as error:
            if self._future.done():
                raise
            raise Unanswered(f"{self._who} did not answer within {self._seconds:g} s") from error


class Patience:
    """The time that one backend has for each answer; safe for threads."""

    def __init__(self, who: str, seconds: float) -> None:
        self._who, self._seconds = who, seconds
        self._lock = threading.Lock()
        #: Until when each call that has not returned yet had time.
        self._deadlines: dict[Future[Any], float] = {}

    def ask(self, call: Callable[[], T]) -> Asked[T]:
        """Begin a call in a thread of its own, which holds up nobody who ends this process.

        Raises:
            Unanswered: too many calls of this backend hang already.
        """
        future: Future[T] = Future()

        def run() -> None:
            try:
                result = call()
            except BaseException as error:  # noqa: BLE001  # it is raised again where the answer is waited for
                self._ended(future)
                future.set_exception(error)
            else:
                self._ended(future)
                future.set_result(result)

        with self._lock:
            now = time.monotonic()
            hanging = sum(deadline < now for deadline in self._deadlines.values())
            if hanging >= _MOST_HANGING:
                raise Unanswered(f"{self._who} is not asked: {hanging} calls of it hang already")
            self._deadlines[future] = now + self._seconds
        threading.Thread(target=run, name=f"ask {self._who}", daemon=True).start()
        return Asked(future, self._who, self._seconds)

    def _ended(self, future: "Future[Any]") -> None:
        with self._lock:
            del self._deadlines[future]
