"""The nearest right name, for hints; bounded, because a text may hold thousands of wrong names."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

#: Characters of a name times characters of another. Comparing takes up to 70 ns for each: a text full of mistakes gets
#: fewer hints, not more patience.
_MOST_WORK: Final = 20_000_000
#: What comparing two names costs besides their characters.
_WORK_PER_NAME: Final = 100
#: Longer names are compared by their beginnings.
_LONGEST: Final = 100


class Nearest:
    """Suggests names until it has compared enough; one serves one text."""

    def __init__(self, work: int = _MOST_WORK) -> None:
        self._left = work

    def hint(self, name: str, names: Iterable[str], otherwise: str = "") -> str:
        """Return ``did you mean 'x'?`` for the nearest of ``names``, else ``otherwise``."""
        near = self.among(name, names)
        return otherwise if near is None else f"did you mean {near!r}?"

    def among(self, name: str, names: Iterable[str]) -> str | None:
        """Return the nearest of ``names``; None if none is near, or there were too many to compare."""
        if self._left < 0:
            return None
        beginning, candidates = name[:_LONGEST], []
        for candidate in names:
            # Much longer ones are not compared at all.
            self._left -= len(beginning) * min(len(candidate), 2 * _LONGEST) + _WORK_PER_NAME
            if self._left < 0:
                return None
            candidates.append(candidate)
        near = get_close_matches(beginning, candidates, 1)
        return near[0] if near else None
