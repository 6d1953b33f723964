"""Bounds on the size of function results: only hostile templates reach them."""

from typing import Final, Self

from hooks.values.dataclass import dataclass
from orchestrator.template.functions.base import LONGEST_TEXT, FunctionError

#: The most parts (items of lists and entries of maps) in the result of one function.
MOST_PARTS: Final = 250_000


def check_length(length: int) -> None:
    """Check that a text would have at most ``LONGEST_TEXT`` characters.

    Raises:
        FunctionError: it would be longer.
    """
    if length > LONGEST_TEXT:
        raise FunctionError(f"the text would have {length} characters; at most {LONGEST_TEXT} are allowed")


def check_parts(count: int, what: str) -> None:
    """Check that a list or a map would have at most ``MOST_PARTS`` parts; ``what`` is their name in the message.

    Raises:
        FunctionError: it would have more.
    """
    if count > MOST_PARTS:
        raise FunctionError(f"the result would have {count} {what}; at most {MOST_PARTS} are allowed")


@dataclass(frozen=True, slots=True)
class Extent:
    """The size of plain data."""

    #: The value itself, and the items and entries in it at any depth.
    parts: int
    #: The characters of all texts and keys.
    characters: int

    @classmethod
    def of(cls, value: object) -> Self:
        """Return the extent of ``value``."""
        parts = characters = 0
        waiting = [value]
        while waiting:
            part = waiting.pop()
            parts += 1
            if isinstance(part, str):
                characters += len(part)
            elif isinstance(part, dict):
                characters += sum(map(len, part))
                waiting += part.values()
            elif isinstance(part, list):
                waiting += part
        return cls(parts, characters)

    def __add__(self, other: "Extent") -> "Extent":
        return Extent(self.parts + other.parts, self.characters + other.characters)

    def __mul__(self, times: int) -> "Extent":
        return Extent(self.parts * times, self.characters * times)

    def check(self) -> None:
        """Check that a function may return data of this size.

        Raises:
            FunctionError: it is too large.
        """
        check_parts(self.parts, "items and entries")
        if self.characters > LONGEST_TEXT:
            raise FunctionError(
                f"the result would have {self.characters} characters; at most {LONGEST_TEXT} are allowed"
            )
