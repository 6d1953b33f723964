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
#: How alike two names are that one may be meant for the other; where there are few names, or long ones.
_ALIKE: Final = 0.6
SOMEWHAT_ALIKE: Final = 0.5


class Nearest:
    """Suggests names that are ``alike``, from 0 to 1, until it has compared enough; one serves one text."""

    def __init__(self, work: int = _MOST_WORK, *, alike: float = _ALIKE) -> None:
        self._left, self._alike = work, alike

    def hint(self, name: str, names: Iterable[str], otherwise: str = "") -> str:
        """Return ``did you mean 'x'?`` for the nearest of ``names``, else ``otherwise``."""
        near = self.among(name, names)
        return otherwise if near is None else f"did you mean {near!r}?"

    def among(self, name: str, names: Iterable[str]) -> str | None:
        """Return the nearest of ``names``; None if none is near, or there were too many to compare."""
        return next(iter(self.several(name, names, 1)), None)

    def several(self, name: str, names: Iterable[str], most: int) -> list[str]:
        """Return the nearest of ``names``, ``most`` at most; none if there were too many to compare."""
        if self._left < 0:
            return []
        beginning, candidates = name[:_LONGEST], []
        for candidate in names:
            # Much longer ones are not compared at all.
            self._left -= len(beginning) * min(len(candidate), 2 * _LONGEST) + _WORK_PER_NAME
            if self._left < 0:
                return []
            candidates.append(candidate)
        return get_close_matches(beginning, candidates, most, self._alike)


def did_you_mean(name: str, names: Iterable[str], otherwise: str = "", *, alike: float = _ALIKE) -> str:
    """Return ``; did you mean 'x'?`` or ``; otherwise``, for a sentence's end; empty where both are."""
    hint = Nearest(alike=alike).hint(name, names, otherwise)
    return f"; {hint}" if hint else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint that stands by itself: what is somewhat alike, or all names that there are."""
    names = sorted(known)
    return Nearest(alike=SOMEWHAT_ALIKE).hint(name, names, f"there are: {', '.join(names)}" if names else "")
