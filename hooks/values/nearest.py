"""The nearest right name, for hints; bounded, because a text may hold thousands of wrong names."""

from collections.abc import Iterable
from typing import Final

#: The budget: characters of a name times characters of another. Comparing takes up to 70 ns each: a text full of
#: mistakes gets fewer hints, not more time.
_MOST_WORK: Final = 20_000_000
#: The constant cost of a comparison.
_WORK_PER_NAME: Final = 100
#: Longer names are compared by their beginnings.
_LONGEST: Final = 100
#: The similarity from which a name is suggested; the second where there are few names, or long ones.
_ALIKE: Final = 0.6
SOMEWHAT_ALIKE: Final = 0.5


class Nearest:
    """Suggests similar names (similarity 0 to 1) until its budget is used up; one instance serves one text."""

    def __init__(self, work: int = _MOST_WORK, *, alike: float = _ALIKE) -> None:
        self._left, self._alike = work, alike

    def hint(self, name: str, names: Iterable[str], otherwise: str = "") -> str:
        """Return ``did you mean 'x'?`` for the nearest of ``names``, else ``otherwise``."""
        near = self.among(name, names)
        return otherwise if near is None else f"did you mean {near!r}?"

    def among(self, name: str, names: Iterable[str]) -> str | None:
        """Return the nearest of ``names``; None if none is near, or the budget is used up."""
        return next(iter(self.several(name, names, 1)), None)

    def several(self, name: str, names: Iterable[str], most: int) -> list[str]:
        """Return the nearest of ``names``, at most ``most``; none if the budget is used up."""
        if self._left < 0:
            return []
        beginning, candidates = name[:_LONGEST], []
        for candidate in names:
            # Much longer names are not compared.
            self._left -= len(beginning) * min(len(candidate), 2 * _LONGEST) + _WORK_PER_NAME
            if self._left < 0:
                return []
            candidates.append(candidate)
        # Most names are right.
        from difflib import get_close_matches

        return get_close_matches(beginning, candidates, most, self._alike)


def did_you_mean(name: str, names: Iterable[str], otherwise: str = "", *, alike: float = _ALIKE) -> str:
    """Return ``; did you mean 'x'?`` or ``; otherwise``, to end a sentence; empty where both are."""
    hint = Nearest(alike=alike).hint(name, names, otherwise)
    return f"; {hint}" if hint else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint of its own: the similar name, or all known names."""
    names = sorted(known)
    return Nearest(alike=SOMEWHAT_ALIKE).hint(name, names, f"there are: {', '.join(names)}" if names else "")
