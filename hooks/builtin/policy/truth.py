"""What is true, false, or cannot be told yet (Kleene's logic)."""

from collections.abc import Iterable
from typing import TypeAlias

#: None: it cannot be told before resources exist, or because a value is hidden.
Truth: TypeAlias = bool | None


def opposite(truth: Truth) -> Truth:
    """Return what is true where this is false."""
    return None if truth is None else not truth


def every(truths: Iterable[Truth]) -> Truth:
    """Tell whether all are true: one that is false decides, whatever cannot be told."""
    told: Truth = True
    for truth in truths:
        if truth is False:
            return False
        if truth is None:
            told = None
    return told


def some(truths: Iterable[Truth]) -> Truth:
    """Tell whether at least one is true: one that is decides, whatever cannot be told."""
    told: Truth = False
    for truth in truths:
        if truth is True:
            return True
        if truth is None:
            told = None
    return told
