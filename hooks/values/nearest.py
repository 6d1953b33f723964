"""The nearest right name, for sentences about a wrong one."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?``, or which names there are, for a sentence's end; empty if there are none."""
    hint = nearest(name, known)
    return f"; {hint}" if hint else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the same as a hint that stands by itself."""
    names = sorted(known)
    near = get_close_matches(name, names, 1, 0.5)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"there are: {', '.join(names)}" if names else ""
