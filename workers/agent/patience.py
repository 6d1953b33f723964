"""Calls of backends that may hang: they time out, and a backend that hangs is not called again and again."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

#: The limit of hanging calls of one backend; beyond it, it is not called until one of them returns.
_MOST_HANGING: Final = 4


class Unanswered(Exception):
    """A call timed out; it may still return, and its answer is lost."""


class PendingCall(Generic[T]):
    """A call under way."""

    def __init__(self, future: "Future[T]", who: str, seconds: float) -> None:
        self._future, self._who, self._seconds = future, who, seconds
        self._deadline = time.monotonic() + seconds

    def answer(self) -> T:
        """Wait for its result, until the time-out.

        Raises:
            Unanswered: it timed out.
        """
        try:
            return self._future.result(timeout=max(0.0, self._deadline - time.monotonic()))
        except TimeoutError as error:
            if self._future.done():
                raise
            raise Unanswered(f"{self._who} did not answer within {self._seconds:g} s") from error


class Patience:
    """The time-out of one backend's calls; thread-safe."""

    def __init__(self, who: str, seconds: float) -> None:
        self._who, self._seconds = who, seconds
        self._lock = threading.Lock()
        #: The deadline of each call that has not returned yet.
        self._deadlines: dict[Future[Any], float] = {}

    def ask(self, call: Callable[[], T]) -> PendingCall[T]:
        """Begin a call in a daemon thread, which does not keep the process from ending.

        Raises:
            Unanswered: too many calls of this backend hang already.
        """
        future: Future[T] = Future()

        def run() -> None:
            try:
                result = call()
            except BaseException as error:  # noqa: BLE001  # raised again where the answer is waited for
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
        return PendingCall(future, self._who, self._seconds)

    def _ended(self, future: "Future[Any]") -> None:
        with self._lock:
            del self._deadlines[future]
