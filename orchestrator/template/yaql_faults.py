"""Errors of YAQL expressions, shared by the process that evaluates them and its parent."""

from enum import StrEnum
from typing import Final


class Reason(StrEnum):
    """The kinds of :class:`~orchestrator.sandbox.child.Fault` that are specific to YAQL."""

    #: The detail is a list: the position in the expression, counted from 0, or null for its end; and the token there.
    SYNTAX = "syntax"
    #: The detail of these is a name, of the last a message; from the expression's text, or computed by it.
    NO_FUNCTION = "no function"
    NO_OVERLOAD = "no overload"
    NO_KEY = "no key"
    ASSERTION = "assertion"
    #: The detail describes the part of the result that is no plain data.
    NO_PLAIN_DATA = "no plain data"
    #: These have no detail.
    NO_ITEM = "no item"
    TOO_MANY = "many"
    TOO_LARGE = "large"


#: The limit of items in intermediate collections, and of values in the result.
MOST_VALUES: Final = 100_000
#: The limit of a single intermediate value, in bytes by the library's estimate.
LARGEST_VALUE: Final = 32 * 1024 * 1024
