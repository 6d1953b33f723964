"""Names with wildcards, as in file names: ``*``, ``?`` and ``[abc]``."""

from collections.abc import Iterable
from fnmatch import fnmatchcase


def is_pattern(text: str) -> bool:
    """Tell whether a text may stand for more than one name."""
    return any(mark in text for mark in "*?[")


def matches_any(name: str, patterns: Iterable[str]) -> bool:
    """Tell whether one of the patterns is a name, or stands for it."""
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)
