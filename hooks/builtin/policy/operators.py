"""Operators: comparisons of one value in conditions."""

from collections.abc import Callable
from dataclasses import dataclass

from hooks.builtin.policy.truth import Truth, some
from hooks.builtin.policy.values import (
    NOTHING,
    PERHAPS,
    as_number,
    as_text,
    in_words,
    is_hidden,
    same,
)


@dataclass(frozen=True, slots=True, eq=False)
class Operator:
    """A comparison of a value; as text, the words that follow the value's path."""

    words: str
    #: Returns whether it holds for a value, NOTHING or PERHAPS.
    holds: Callable[[object], Truth]

    def __str__(self) -> str:
        return self.words


def exists(wanted: bool) -> Operator:
    """Return the operator for a value that is given, even if it is unknown; or, unless ``wanted``, for none."""
    return Operator(
        "is given" if wanted else "is not given",
        lambda value: None if value is PERHAPS else (value is not NOTHING) == wanted,
    )


def equals(wanted: object) -> Operator:
    """Return the operator for this value, however it is spelt."""
    return Operator(
        f"is {in_words(wanted)}", lambda value: False if value is NOTHING else same(wanted, value)
    )


def one_of(wanted: tuple[object, ...]) -> Operator:
    """Return the operator for each of these values."""

    def holds(value: object) -> Truth:
        # The common spellings are looked up in a set, instead of compared one by one.
        if value.__class__ is str and value in wanted:
            return True
        return False if value is NOTHING else some(same(each, value) for each in wanted)

    return Operator(f"is one of {', '.join(map(in_words, wanted))}", holds)


def contains(wanted: object) -> Operator:
    """Return the operator for a list with this item, a map with this key, and a text with this part."""

    def holds(value: object) -> Truth:
        if isinstance(value, list):
            return (wanted.__class__ is str and wanted in value) or some(same(wanted, each) for each in value)
        if isinstance(value, dict):
            return wanted in value if isinstance(wanted, str) else False
        if isinstance(value, str) and isinstance(wanted, str) and wanted in value:
            return True
        return None if is_hidden(value) else False

    return Operator(f"contains {in_words(wanted)}", holds)


def matches(pattern: str, fits: Callable[[bytes], bool]) -> Operator:
    """Return the operator for a value whose text matches as a whole; lists, maps and nothing do not."""

    def holds(value: object) -> Truth:
        if is_hidden(value):
            return None
        text = as_text(value)
        # Surrogates, which UTF-8 cannot encode, match no expression.
        return text is not None and fits(text.encode(errors="replace"))

    return Operator(f"matches {pattern!r}", holds)


def at_least(wanted: int | float) -> Operator:
    """Return the operator for a number that is at least this one."""
    return Operator(f"is at least {wanted}", lambda value: _compared(value, lambda number: number >= wanted))


def at_most(wanted: int | float) -> Operator:
    """Return the operator for a number that is at most this one."""
    return Operator(f"is at most {wanted}", lambda value: _compared(value, lambda number: number <= wanted))


def _compared(value: object, fits: Callable[[float], bool]) -> Truth:
    number = as_number(value)
    return (None if is_hidden(value) else False) if number is None else fits(number)
