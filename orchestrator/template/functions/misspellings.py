"""Names that are nearly the name of a function."""

from collections.abc import Collection
from typing import Final

from hooks.values.nearest import Nearest

#: From this similarity on a name is taken for a misspelling: data has similar words, too.
_ALIKE: Final = 0.83


class Misspellings:
    """Finds the functions that misspelled names stand for; bounded, one instance serves one template."""

    def __init__(self) -> None:
        self._nearest = Nearest(alike=_ALIKE)
        self._found: dict[tuple[str, int], str | None] = {}

    def meant(self, name: str, functions: Collection[str]) -> str | None:
        """Return the function that ``name``, which is none of ``functions``, is nearly the name of; None if none."""
        key = (name, id(functions))
        if key not in self._found:
            self._found[key] = self._of(name, functions)
        return self._found[key]

    def _of(self, name: str, functions: Collection[str]) -> str | None:
        folded = name.casefold()
        same = next((each for each in functions if each.casefold() == folded), None)
        if same is not None:
            return same
        longest = max(map(len, functions), default=0)
        if len(name) > longest + 2:
            return None
        return self._nearest.among(name, [each for each in functions if _may_be(name, each)])


def _may_be(name: str, function: str) -> bool:
    """Whether a name may be a misspelling of a function's: words such as ``filters`` are not of ``filter``."""
    is_word = function.isalpha()
    return not (is_word and (name.startswith(function) or function.startswith(name)))
