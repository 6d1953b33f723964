"""How much evaluating a template may still cost: seconds for all of it, characters and parts for any one value.

Each function bounds what one call of it costs. A template may hold thousands of calls; this bounds them together.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from orchestrator.errors import InvalidInput, Problem
from orchestrator.limits import Limits

#: What all calls in one value may give together, in characters and parts.
MOST_IN_A_VALUE: Final = 32 * 1024 * 1024

#: Makes a problem, of a message and a hint, with the place at which the budget ended.
Place = Callable[[str, str], Problem]


class Budget:
    """What is left; one serves one evaluation of a template."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._left = MOST_IN_A_VALUE

    def begin_value(self) -> None:
        """Count what another value costs."""
        self._left = MOST_IN_A_VALUE

    def spend(self, value: Any) -> bool:
        """Count plain data that became a part of the value; False once it is too much."""
        self._left -= _size(value)
        return self._left >= 0

    def check_time(self, place: Place) -> None:
        """Go on, or end the whole evaluation.

        Raises:
            InvalidInput: the time is up.
        """
        if time.monotonic() > self._deadline:
            message = f"evaluating the template takes longer than {self._seconds:g} seconds"
            raise InvalidInput([place(message, "make it simpler, or raise the setting evaluation_seconds")])


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def evaluation(limits: Limits) -> Iterator[Budget]:
    """Evaluate within a budget: that of the evaluation under way, or a new one of these limits."""
    under_way = _current.get()
    if under_way is not None:
        yield under_way
        return
    budget = Budget(limits.evaluation_seconds)
    token = _current.set(budget)
    try:
        yield budget
    finally:
        _current.reset(token)


def check_time(place: Place) -> None:
    """Go on, or end the whole evaluation, if one is under way.

    Raises:
        InvalidInput: the time is up.
    """
    budget = _current.get()
    if budget is not None:
        budget.check_time(place)


def spend(value: Any) -> bool:
    """Count plain data that became a part of the value under way; False once that is too much."""
    budget = _current.get()
    return budget is None or budget.spend(value)


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value) + 1
    if isinstance(value, dict):
        return sum(len(key) + 1 + _size(item) for key, item in value.items()) + 1
    if isinstance(value, list):
        return sum(map(_size, value)) + 1
    return 1
