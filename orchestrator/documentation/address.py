"""Names of pages and anchors: letters, digits and hyphens, whatever the plugin's name."""

import hashlib
import re
from collections import Counter
from collections.abc import Collection
from typing import Final

_LONGEST: Final = 80


def slug(name: str) -> str:
    """Return a name that can be part of a file's name and of a URL; it may not be unique, and is never empty."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:_LONGEST].strip("-") or "unnamed"


def page_names(names: Collection[str]) -> dict[str, str]:
    """Return a unique page name for each name; equal ones get a digest."""
    counted = Counter(map(slug, names))
    return {
        name: slug(name) if counted[slug(name)] == 1 else f"{slug(name)}-{_digest(name)}" for name in names
    }


class Anchors:
    """Generates unique anchors for one page."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def give(self, name: str) -> str:
        """Return an anchor that no other place on the page has."""
        anchor, number = slug(name), 2
        while anchor in self._given:
            anchor, number = f"{slug(name)}-{number}", number + 1
        self._given.add(anchor)
        return anchor


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:8]
