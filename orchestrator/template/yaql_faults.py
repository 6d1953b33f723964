"""Why a YAQL expression has no value, in words that the process that evaluates it and its parent share."""

from enum import StrEnum
from typing import Final


class Reason(StrEnum):
    """The kinds of :class:`~orchestrator.sandbox.child.Fault` that evaluating alone can have."""

    #: The detail is a list: the place in the expression, counted from 0, or null for its end; and what stands there.
    SYNTAX = "syntax"
    #: The detail of these is a name, or for the last a sentence; the expression's own, or made by it.
    NO_FUNCTION = "no function"
    NO_OVERLOAD = "no overload"
    NO_KEY = "no key"
    ASSERTION = "assertion"
    #: The detail says what the result holds.
    NO_PLAIN_DATA = "no plain data"
    #: These have no detail.
    NO_ITEM = "no item"
    TOO_MANY = "many"
    TOO_LARGE = "large"


#: No collection on the way to the result has more items, and no result more values.
MOST_VALUES: Final = 100_000
#: In bytes, by the library's estimate, for a single value on the way to the result.
LARGEST_VALUE: Final = 32 * 1024 * 1024
