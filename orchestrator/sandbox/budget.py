"""Evaluation budget of a template: seconds for the whole evaluation, characters and parts for each value.

Each function bounds the cost of one call. A template may have thousands of calls; the budget bounds them together. A
job, and a step of a worker, evaluate a template several times: :func:`shared_time` has those share one time limit.

Seconds are those of the processor in this thread, so that a busy machine refuses nothing; what a sandbox evaluates
counts as long as it takes there.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from hooks.values.dataclass import dataclass
from orchestrator.config.limits import DEEPEST, Limits
from orchestrator.errors import InvalidInput, Problem

#: The limit of the results of all calls in one value, in characters and parts; a part counts as several characters.
MOST_IN_A_VALUE: Final = 32 * 1024 * 1024
#: The limit of all values that are kept until the evaluation ends.
MOST_KEPT: Final = 64 * 1024 * 1024
#: The memory of a part besides its characters, in bytes: of a map or list, and of anything else.
_CONTAINER, _OTHER = 64, 8

#: Returns a problem with a message and a hint, at the place where the budget was exhausted.
Place = Callable[[str, str], Problem]


class TooMuch(ValueError):
    """A value exceeds the budget; the message is the predicate of a sentence about it."""


@dataclass(slots=True)
class Budget:
    """The remaining budget of one evaluation of a template."""

    seconds: float
    deadline: float
    #: For the value under way, and for those that are kept.
    left: int = MOST_IN_A_VALUE
    kept: int = MOST_KEPT
    #: Until when the thread cannot have used up its time, by the monotonic clock, which is quick to read.
    safe_until: float = 0.0

    def begin_value(self) -> None:
        """Begin another value, with its full budget."""
        self.left = MOST_IN_A_VALUE


@dataclass(slots=True)
class SharedTime:
    """The seconds that are left to several evaluations together."""

    left: float


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)
_shared: ContextVar[SharedTime | None] = ContextVar("shared_time", default=None)


@contextmanager
def shared_time(limits: Limits) -> Iterator[SharedTime]:
    """Have all evaluations of the body share one time limit, besides that of each; other work takes none of it.

    Yields what is left of it.

    Within another such body, the evaluations share the time of that.
    """
    outer = _shared.get()
    if outer is not None:
        yield outer
        return
    shared = SharedTime(limits.evaluation_seconds)
    token = _shared.set(shared)
    try:
        yield shared
    finally:
        _shared.reset(token)


@contextmanager
def evaluation(limits: Limits) -> Iterator[Budget]:
    """Evaluate within a budget: that of the evaluation under way, or a new one with these limits."""
    under_way = _current.get()
    if under_way is not None:
        yield under_way
        return
    shared, seconds = _shared.get(), limits.evaluation_seconds
    allowed = seconds if shared is None else min(seconds, shared.left)
    budget = Budget(seconds, time.thread_time() + allowed)
    token = _current.set(budget)
    try:
        yield budget
    finally:
        _current.reset(token)
        if shared is not None:
            shared.left -= allowed - (budget.deadline - time.thread_time())


@contextmanager
def outside() -> Iterator[None]:
    """Exclude the time of calls to other systems from the evaluation's time limit."""
    budget = _current.get()
    if budget is None:
        yield
        return
    # Nothing is evaluated meanwhile; nested uses count once.
    token, began = _current.set(None), time.thread_time()
    try:
        yield
    finally:
        _current.reset(token)
        budget.deadline += time.thread_time() - began


def seconds_left() -> float:
    """Return the time that is left to the evaluation under way, in seconds; infinite if there is none."""
    budget = _current.get()
    return math.inf if budget is None else budget.deadline - time.thread_time()


def take(seconds: float) -> None:
    """Count time that the evaluation under way has used in another process."""
    budget = _current.get()
    if budget is not None:
        budget.deadline -= seconds
        budget.safe_until = 0.0


def too_long(seconds: float) -> str:
    """Return the sentence about an evaluation that has used up its time."""
    return f"evaluating the template takes longer than {seconds:g} seconds"


def check_time(place: Place) -> None:
    """Check the time limit of the evaluation under way, if there is one.

    Raises:
        InvalidInput: it is exceeded.
    """
    budget = _current.get()
    if budget is None or (now := time.monotonic()) < budget.safe_until:
        return
    left = budget.deadline - time.thread_time()
    # A thread uses no more time than passes.
    budget.safe_until = now + left
    if left < 0:
        message = too_long(budget.seconds)
        raise InvalidInput([place(message, "make it simpler, or raise the setting evaluation_seconds")])


def spend(value: object) -> None:
    """Count plain data that became a part of the value under way.

    Raises:
        TooMuch: the value is too large, or nested too deep.
    """
    budget = _current.get()
    if budget is None:
        return
    budget.left -= weight_of(value)
    if budget.left < 0:
        raise TooMuch(f"gives more than {MOST_IN_A_VALUE} characters and parts")


def keep(value: object) -> None:
    """Count plain data, perhaps containing ``UNKNOWN``, that is kept until the evaluation under way ends.

    Raises:
        TooMuch: all kept data is too large, or this is nested too deep.
    """
    budget = _current.get()
    if budget is None:
        return
    budget.kept -= weight_of(value)
    if budget.kept < 0:
        raise TooMuch(f"has more than {MOST_KEPT} characters and parts, together with others before it")


def weight_of(value: object) -> int:
    """Return the approximate memory of plain data, in bytes.

    Raises:
        TooMuch: it is nested too deep for recursive functions.
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
                weight += sum(map(len, map(str, part))) + _CONTAINER
                below += part.values()
            elif isinstance(part, list):
                weight += _CONTAINER
                below += part
            else:
                weight += _OTHER
        level, depth = below, depth + 1
    return weight
