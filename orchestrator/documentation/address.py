"""The names of pages and of places in them: letters, digits and hyphens, whatever a plugin is called."""

import hashlib
import re
from collections import Counter
from collections.abc import Collection
from typing import Final

_LONGEST: Final = 80


def slug(name: str) -> str:
    """Return a name that can be part of a file's name and of an address anywhere; not unique, and never empty."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:_LONGEST].strip("-") or "unnamed"


def page_names(names: Collection[str]) -> dict[str, str]:
    """Return a page's name for each name; those that would be the same are told apart by a digest."""
    counted = Counter(map(slug, names))
    return {
        name: slug(name) if counted[slug(name)] == 1 else f"{slug(name)}-{_digest(name)}" for name in names
    }


class Anchors:
    """Gives the places of one page their names, in the order in which they are asked for."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def give(self, name: str) -> str:
        """Return a name for a place that no other on the page has."""
        anchor, number = slug(name), 2
        while anchor in self._given:
            anchor, number = f"{slug(name)}-{number}", number + 1
        self._given.add(anchor)
        return anchor


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:8]
