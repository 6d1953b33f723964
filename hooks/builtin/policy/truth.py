"""Truth values of Kleene's three-valued logic: true, false, unknown."""

from collections.abc import Iterable
from typing import TypeAlias

#: None: unknown before resources exist, or because a value is hidden.
Truth: TypeAlias = bool | None


def opposite(truth: Truth) -> Truth:
    """Return the negation."""
    return None if truth is None else not truth


def every(truths: Iterable[Truth]) -> Truth:
    """Return the conjunction: one false value decides, unknown ones or not."""
    result: Truth = True
    for truth in truths:
        if truth is False:
            return False
        if truth is None:
            result = None
    return result


def some(truths: Iterable[Truth]) -> Truth:
    """Return the disjunction: one true value decides, unknown ones or not."""
    result: Truth = False
    for truth in truths:
        if truth is True:
            return True
        if truth is None:
            result = None
    return result
