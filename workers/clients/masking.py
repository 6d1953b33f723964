"""The masking of secrets in messages."""

from collections.abc import Iterable
from typing import Final

#: Shorter values occur in any text by chance, and masking them would make it unreadable.
_SHORTEST_SECRET: Final = 4


def masked(text: str, values: Iterable[str]) -> str:
    """Return ``text`` without those of ``values`` that are four characters long or longer."""
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "******")
    return text
