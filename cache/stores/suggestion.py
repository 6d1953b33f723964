"""The nearest right name, for sentences about a wrong one."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

#: Longer names are compared by their beginnings.
_LONGEST: Final = 100


def suggestion(name: str, names: Iterable[str], otherwise: str) -> str:
    """Return ``did you mean 'x'?`` for the nearest of ``names``, else ``otherwise``."""
    near = get_close_matches(name[:_LONGEST], list(names), 1)
    return f"did you mean {near[0]!r}?" if near else otherwise
