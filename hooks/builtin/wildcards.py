"""Names with wildcards, as in file names: ``*``, ``?`` and ``[abc]``."""

from collections.abc import Iterable
from fnmatch import fnmatchcase


def is_pattern(text: str) -> bool:
    """Return whether a text may match more than one name."""
    return any(mark in text for mark in "*?[")


def matches_any(name: str, patterns: Iterable[str]) -> bool:
    """Return whether a name equals or matches one of the patterns."""
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)
