"""How much evaluating a template may still cost: seconds for all of it, characters and parts for any one value.

Each function bounds what one call of it costs. A template may hold thousands of calls; this bounds them together.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from orchestrator.config.limits import DEEPEST, Limits
from orchestrator.errors import InvalidInput, Problem

#: What all calls in one value may give together, in characters and parts; a part is worth several characters.
MOST_IN_A_VALUE: Final = 32 * 1024 * 1024
#: What all values together may have that are kept until the evaluation ends.
MOST_KEPT: Final = 64 * 1024 * 1024
#: What a part takes in memory besides its characters, in bytes: a map or list, and anything else.
_CONTAINER, _OTHER = 64, 8

#: Makes a problem, of a message and a hint, with the place at which the budget ended.
Place = Callable[[str, str], Problem]


class TooMuch(ValueError):
    """A value is more than may be spent; the text says so, as the end of a sentence about it."""


class Budget:
    """What is left; one serves one evaluation of a template."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._left, self._kept = MOST_IN_A_VALUE, MOST_KEPT

    def extend(self, seconds: float) -> None:
        """Give back time that went by without anything being evaluated."""
        self._deadline += seconds

    def begin_value(self) -> None:
        """Count what another value costs."""
        self._left = MOST_IN_A_VALUE

    def spend(self, value: Any) -> None:
        """Count plain data that became a part of the value.

        Raises:
            TooMuch: it is too much, or too deep.
        """
        self._left -= weight_of(value)
        if self._left < 0:
            raise TooMuch(f"gives more than {MOST_IN_A_VALUE} characters and parts")

    def keep(self, value: Any) -> None:
        """Count plain data, with ``UNKNOWN`` in it or not, that is kept until the evaluation ends.

        Raises:
            TooMuch: all that is kept is too much, or this is too deep.
        """
        self._kept -= weight_of(value)
        if self._kept < 0:
            raise TooMuch(f"has more than {MOST_KEPT} characters and parts, together with others before it")

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


@contextmanager
def outside() -> Iterator[None]:
    """Let others be asked meanwhile, whose time does not count as evaluation."""
    budget = _current.get()
    if budget is None:
        yield
        return
    # Within, nothing is evaluated; asking within asking counts once.
    token, began = _current.set(None), time.monotonic()
    try:
        yield
    finally:
        _current.reset(token)
        budget.extend(time.monotonic() - began)


def check_time(place: Place) -> None:
    """Go on, or end the whole evaluation, if one is under way.

    Raises:
        InvalidInput: the time is up.
    """
    budget = _current.get()
    if budget is not None:
        budget.check_time(place)


def spend(value: Any) -> None:
    """Count plain data that became a part of the value under way.

    Raises:
        TooMuch: it is too much, or too deep.
    """
    budget = _current.get()
    if budget is not None:
        budget.spend(value)


def keep(value: Any) -> None:
    """Count plain data, with ``UNKNOWN`` in it or not, that is kept until the evaluation under way ends.

    Raises:
        TooMuch: all that is kept is too much, or this is too deep.
    """
    budget = _current.get()
    if budget is not None:
        budget.keep(value)


def weight_of(value: Any) -> int:
    """Return what plain data takes in memory, roughly.

    Raises:
        TooMuch: it is nested too deep for functions that are recursive.
    """
    weight, depth, level = 0, 0, [value]
    while level:
        if depth > DEEPEST:
            raise TooMuch(f"is nested deeper than {DEEPEST} levels")
        below: list[Any] = []
        for part in level:
            if isinstance(part, str):
                weight += len(part) + _OTHER
            elif isinstance(part, dict):
                weight += sum(map(len, part)) + _CONTAINER
                below += part.values()
            elif isinstance(part, list):
                weight += _CONTAINER
                below += part
            else:
                weight += _OTHER
        level, depth = below, depth + 1
    return weight
