"""Calls of third-party code with a time-out.

A thread cannot be stopped in Python. One that exceeds its time is abandoned: it does not keep the process from ending,
and its result is ignored. At most :data:`MOST_LEFT` abandoned calls of one hook run at a time.
"""

import contextvars
import threading
from collections import Counter
from collections.abc import Callable
from typing import Final, TypeVar

from hooks.errors import HookError

T = TypeVar("T")

#: The limit of abandoned calls of one hook; beyond it none is begun until one of them ends.
MOST_LEFT: Final = 8

_left: Counter[str] = Counter()
_counting = threading.Lock()


class TookTooLong(HookError):
    """A hook did not answer in time; its work may be done all the same, or be done later."""


class NotCalled(TookTooLong):
    """A hook is not called in this process, because too many abandoned calls of it still run."""


def call_within(call: Callable[[], T], *, seconds: float, name: str, most_left: int = MOST_LEFT) -> T:
    """Return what ``call`` returns, or raise what it raises.

    It is called in a thread of its own, with this thread's context variables.

    Raises:
        TookTooLong: it timed out.
        NotCalled: too many abandoned calls still run.
        HookError: it raised SystemExit or the like, which would end a process or a thread.
    """
    with _counting:
        if _left[name] >= most_left:
            earlier = (
                "an earlier call of it has" if most_left == 1 else f"{most_left} earlier calls of it have"
            )
            raise NotCalled(f"{earlier} not ended yet")
    answers: list[T] = []
    errors: list[BaseException] = []
    # The loser of this race sees that the other side was first.
    ended, given_up = threading.Event(), threading.Event()

    def run() -> None:
        try:
            answers.append(call())
        except BaseException as error:  # noqa: BLE001  # raised again in the waiting thread
            errors.append(error)
        with _counting:
            ended.set()
            if given_up.is_set():
                _left[name] -= 1
                if not _left[name]:
                    del _left[name]

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name=f"hook-{name}", daemon=True).start()
    if not ended.wait(seconds):
        with _counting:
            if not ended.is_set():
                given_up.set()
                _left[name] += 1
                raise TookTooLong(f"it has not answered within {seconds:g} s")
    if errors:
        (error,) = errors
        if isinstance(error, Exception):
            raise error
        # KeyboardInterrupt and the like of the call's thread must not pass for one of this thread.
        what = (
            "tried to end the process" if isinstance(error, SystemExit) else f"raised {type(error).__name__}"
        )
        raise HookError(f"it {what}") from error
    return answers[0]
