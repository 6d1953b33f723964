"""A call of somebody else's code that takes no longer than it may.

A thread cannot be stopped in Python. One that goes on after its time is left behind: it keeps nobody from ending, and
what it returns at last is heard by nobody. Of one hook no more than :data:`MOST_LEFT` are left behind at a time.
"""

import contextvars
import threading
from collections import Counter
from collections.abc import Callable
from typing import Final, TypeVar

from hooks.errors import HookError

T = TypeVar("T")

#: So many calls of one hook may go on after their time; then none is begun until one of them ends.
MOST_LEFT: Final = 8

_left: Counter[str] = Counter()
_counting = threading.Lock()


class TookTooLong(HookError):
    """A hook did not answer in time; what it was asked for may be done all the same, or be done later."""


def call_within(call: Callable[[], T], *, seconds: float, name: str, most_left: int = MOST_LEFT) -> T:
    """Return what ``call`` does, or raise what it raises.

    Args:
        call: What is to be called, in a thread of its own with this one's context variables.
        seconds: How long it may take.
        name: The hook's name.
        most_left: So many earlier calls of it may be going on after their time.

    Raises:
        TookTooLong: it has not ended in time, or too many earlier calls have not ended yet.
        HookError: it raised what is no error, but ends a process or a thread.
    """
    with _counting:
        if _left[name] >= most_left:
            earlier = (
                "an earlier call of it has" if most_left == 1 else f"{most_left} earlier calls of it have"
            )
            raise TookTooLong(f"{earlier} not ended yet")
    answers: list[T] = []
    errors: list[BaseException] = []
    # Whoever comes second to it knows that the other has been there.
    ended, given_up = threading.Event(), threading.Event()

    def run() -> None:
        try:
            answers.append(call())
        except BaseException as error:  # noqa: BLE001  # it is raised where somebody waits for it
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
        # Whoever waits here has not been interrupted: nothing of it is this thread's end.
        what = (
            "tried to end the process" if isinstance(error, SystemExit) else f"raised {type(error).__name__}"
        )
        raise HookError(f"it {what}") from error
    return answers[0]
