"""Operators: comparisons of one value in conditions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

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


class Operator(Protocol):
    """A comparison of a value; as text, the words that follow the value's path."""

    def holds(self, value: object) -> Truth:
        """Return whether it holds for a value, NOTHING or PERHAPS."""


@dataclass(frozen=True, slots=True)
class Exists:
    """A value is given, even if it is still unknown."""

    wanted: bool

    def holds(self, value: object) -> Truth:
        """Return whether it holds for a value, NOTHING or PERHAPS."""
        return None if value is PERHAPS else (value is not NOTHING) == self.wanted

    def __str__(self) -> str:
        return "is given" if self.wanted else "is not given"


@dataclass(frozen=True, slots=True)
class Equals:
    """The value equals this one, however it is spelt."""

    wanted: Any

    def holds(self, value: object) -> Truth:
        """Return whether it holds for a value, NOTHING or PERHAPS."""
        return False if value is NOTHING else same(self.wanted, value)

    def __str__(self) -> str:
        return f"is {in_words(self.wanted)}"


@dataclass(frozen=True, slots=True)
class OneOf:
    """The value is one of these."""

    wanted: tuple[Any, ...]

    def holds(self, value: object) -> Truth:
        """Return whether it holds for a value, NOTHING or PERHAPS."""
        # The common spellings are looked up in a set, instead of compared one by one.
        if value.__class__ is str and value in self.wanted:
            return True
        return False if value is NOTHING else some(same(each, value) for each in self.wanted)

    def __str__(self) -> str:
        return f"is one of {', '.join(map(in_words, self.wanted))}"


@dataclass(frozen=True, slots=True)
class Contains:
    """The value is a list with this item, a map with this key, or a text with this part."""

    wanted: Any

    def holds(self, value: object) -> Truth:
        """Return whether it holds for a value, NOTHING or PERHAPS."""
        if isinstance(value, list):
            return (self.wanted.__class__ is str and self.wanted in value) or some(
                same(self.wanted, each) for each in value
            )
        if isinstance(value, dict):
            return self.wanted in value if isinstance(self.wanted, str) else False
        if isinstance(value, str) and isinstance(self.wanted, str) and self.wanted in value:
            return True
        return None if is_hidden(value) else False

    def __str__(self) -> str:
        return f"contains {in_words(self.wanted)}"


@dataclass(frozen=True, slots=True)
class Matches:
    """The value's text matches a regular expression as a whole; lists, maps and nothing do not."""

    pattern: str
    fits: Callable[[bytes], bool]

    def holds(self, value: object) -> Truth:
        """Return whether it holds for a value, NOTHING or PERHAPS."""
        if is_hidden(value):
            return None
        text = as_text(value)
        # Surrogates, which UTF-8 cannot encode, match no expression.
        return text is not None and self.fits(text.encode(errors="replace"))

    def __str__(self) -> str:
        return f"matches {self.pattern!r}"


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The value is a number, and at least this one."""

    wanted: int | float

    def holds(self, value: object) -> Truth:
        """Return whether it holds for a value, NOTHING or PERHAPS."""
        number = as_number(value)
        return (None if is_hidden(value) else False) if number is None else number >= self.wanted

    def __str__(self) -> str:
        return f"is at least {self.wanted}"


@dataclass(frozen=True, slots=True)
class AtMost:
    """The value is a number, and at most this one."""

    wanted: int | float

    def holds(self, value: object) -> Truth:
        """Return whether it holds for a value, NOTHING or PERHAPS."""
        number = as_number(value)
        return (None if is_hidden(value) else False) if number is None else number <= self.wanted

    def __str__(self) -> str:
        return f"is at most {self.wanted}"
