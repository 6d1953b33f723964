"""The nearest right name, for hints; bounded, because a text may hold thousands of wrong names."""

from collections.abc import Iterable
from difflib import get_close_matches

#: Comparing two names takes some microseconds; a text full of mistakes gets fewer hints, not more patience.
_COMPARISONS = 50_000


class Nearest:
    """Suggests names until it has compared enough; one serves one text."""

    def __init__(self, comparisons: int = _COMPARISONS) -> None:
        self._left = comparisons

    def hint(self, name: str, names: Iterable[str], otherwise: str = "") -> str:
        """Return ``did you mean 'x'?`` for the nearest of ``names``, else ``otherwise``."""
        candidates = list(names)
        self._left -= len(candidates)
        near = get_close_matches(name[:255], candidates, 1) if self._left >= 0 else []
        return f"did you mean {near[0]!r}?" if near else otherwise
