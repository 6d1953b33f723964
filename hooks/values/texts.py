"""Texts in a form that every database and log accepts."""

import re
from typing import Final

#: The length limit of a message.
MOST_CHARACTERS: Final = 2000
#: Characters that no database stores in a text: NUL, which PostgreSQL refuses, and halves of surrogate pairs.
_NO_CHARACTERS: Final = re.compile("[\x00\ud800-\udfff]")


def tellable(text: str, *, most: int = MOST_CHARACTERS) -> str:
    """Return a text that every database and log accepts: bounded, with a mark in place of what is no character."""
    return _NO_CHARACTERS.sub(lambda found: "\ufffd" if found.group() == "\0" else "?", _bounded(text, most))


def storable(text: str, *, most: int | None = None) -> str:
    """Return a text that every database accepts, with escapes in place of what is no character.

    Different texts stay different, as ids must. ``most`` bounds the characters.
    """
    escaped = _NO_CHARACTERS.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
    return escaped if most is None else _bounded(escaped, most)


def _bounded(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
