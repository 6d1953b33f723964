"""Whole numbers as arguments of functions; templates may also write them as text."""

import re
from typing import Final

#: More digits than any index or port has.
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,18}")


def as_whole(value: object) -> int | None:
    """Return a whole number, given as such or as text; None for anything else, including booleans."""
    if isinstance(value, str):
        text = value.strip()
        return int(text) if _WHOLE.fullmatch(text) else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
