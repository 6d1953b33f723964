"""The nearest right name, at the end of a sentence about a wrong one."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?``, or which names there are; empty if there are none."""
    names = sorted(known)
    near = get_close_matches(name, names, 1, 0.5)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; there are: {', '.join(names)}" if names else ""
