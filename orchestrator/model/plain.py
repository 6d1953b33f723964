"""Plain values: text, numbers, booleans, null, and lists and maps of these, which are read again as they were stored.

A value of a plugin may be anything. One that is not plain breaks a store, a message or a reader later, often another
process than the one that made it.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

import msgpack

#: The whole numbers that can be stored and sent.
WHOLE_NUMBERS: Final = range(-(2**63), 2**64)
#: The limits by default: functions over data are recursive.
MOST_BYTES: Final = 32 * 1024 * 1024
DEEPEST: Final = 200
#: The weight of a part besides its characters: as much as a large number.
_PART: Final = 9
_HARMLESS: Final = frozenset({bool, type(None)})


class NotPlain(ValueError):
    """A value is not plain; the message has the reason, and the path to the part."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[str] = []

    def __str__(self) -> str:
        return f"{self.reason} (at {'.'.join(reversed(self.path))})" if self.path else self.reason


class _Walk:
    """One pass over a value, within a weight and a depth."""

    def __init__(self, most_bytes: int, deepest: int, *, binary: bool) -> None:
        self._most_bytes, self._deepest, self._binary = most_bytes, deepest, binary
        self._left = most_bytes

    def over(self, value: Any, depth: int = 0) -> None:
        self._left -= _PART
        kind = type(value)
        if kind is str:
            self._over_text(value)
        elif kind in _HARMLESS:
            pass
        elif isinstance(value, int):
            if value not in WHOLE_NUMBERS:
                raise NotPlain("a whole number that does not fit 64 bits")
        elif isinstance(value, float):
            if not math.isfinite(value):
                raise NotPlain("a number that is not finite")
        elif isinstance(value, str):
            self._over_text(value)
        else:
            self._over_parts(value, depth)
        if self._left < 0:
            raise NotPlain(f"more than {self._most_bytes} bytes; see the setting max_value_bytes")

    def _over_text(self, text: str) -> None:
        try:
            self._left -= len(text) if text.isascii() else len(text.encode())
        except UnicodeEncodeError as error:
            raise NotPlain("text with half of a surrogate pair, which is no character") from error

    def _over_parts(self, value: Any, depth: int) -> None:
        if depth >= self._deepest:
            raise NotPlain(f"deeper than {self._deepest} maps and lists; see the setting max_value_depth")
        parts: Any
        if isinstance(value, dict):
            parts = value.items()
            for key in value:
                if not isinstance(key, str):
                    raise NotPlain(f"a map with a key that is {type(key).__name__}, expected text")
                self._over_text(key)
        elif isinstance(value, (list, tuple)) and not isinstance(value, msgpack.ExtType):
            parts = enumerate(value)
        elif self._binary and isinstance(value, bytes):
            self._left -= len(value)
            return
        else:
            raise NotPlain(f"can not serialize {type(value).__name__!r} object")
        for step, part in parts:
            try:
                self.over(part, depth + 1)
            except NotPlain as error:
                error.path.append(str(step))
                raise


def _is_simple(value: Any, most_bytes: int) -> bool:
    """Return at once whether a value is one of the most frequent ones: a short name, or an empty map or list."""
    kind = type(value)
    if kind is str:
        return bool(value.isascii()) and len(value) + _PART <= most_bytes
    return (kind is dict or kind is list) and not value


def refuse_not_plain(
    value: object, *, most_bytes: int = MOST_BYTES, deepest: int = DEEPEST, binary: bool = False
) -> None:
    """Refuse a value that is not plain, or too large or too deep; ``binary`` accepts bytes as a part.

    Raises:
        NotPlain: it is.
    """
    if _is_simple(value, most_bytes):
        return
    try:
        _Walk(most_bytes, deepest, binary=binary).over(value)
    except NotPlain:
        raise
    except Exception as error:  # a class of the author's own, or changed by another thread meanwhile
        raise NotPlain(f"it cannot be read: {type(error).__name__}") from error


def refuse_no_map(
    value: object, *, most_bytes: int = MOST_BYTES, deepest: int = DEEPEST, binary: bool = False
) -> None:
    """Refuse what is no map, or not plain.

    Raises:
        NotPlain: it is.
    """
    if type(value) is not dict and not isinstance(value, Mapping):
        raise NotPlain(f"expected a map, found {type(value).__name__}")
    refuse_not_plain(value, most_bytes=most_bytes, deepest=deepest, binary=binary)
