"""Durations as users write them: ``90s``, ``12h``, ``30d``."""

import re
from typing import Final

_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_SPAN: Final = r"(\d{1,9}(?:\.\d{1,9})?) ?([smhdw])"
#: A century; a longer duration is refused.
_LONGEST_SECONDS: Final = 100 * 366 * 86400


def span_seconds(text: str) -> float | None:
    """Return the seconds of a duration such as ``90s``, ``12h``, ``30d`` or ``2w``; None if it is malformed."""
    match = re.fullmatch(_SPAN, text.strip())
    if match is None:
        return None
    seconds = float(match[1]) * _SECONDS[match[2]]
    return seconds if seconds <= _LONGEST_SECONDS else None
