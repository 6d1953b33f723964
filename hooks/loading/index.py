"""Index of the entry points in groups of ours, made once a process.

``importlib.metadata`` parses what every installed package brings, at each call, which takes as long as some commands.
Here, only a package is parsed that names a group of ours, and again only once the import path or one of its directories
has changed. Nothing is kept in a file, which another process would have to trust.
"""

import importlib.metadata
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, EntryPoint, EntryPoints
from pathlib import Path
from typing import Final

#: What the names of our groups begin with.
PREFIX: Final = "isotherm."
_SECTION: Final = re.compile(rf"^\s*\[\s*{re.escape(PREFIX)}", re.MULTILINE)
_NAME: Final = re.compile(r"^Name:\s*(\S+)\s*$", re.MULTILINE)
_FILE: Final = "entry_points.txt"

#: The directories of the import path, each with the time of its last change.
_Places = tuple[tuple[str, int], ...]

#: Replaced as a whole, so that threads need no lock.
_made: tuple[_Places, EntryPoints] | None = None


def entry_points(*, group: str) -> EntryPoints:
    """Return the entry points of installed packages in one group, as ``importlib.metadata.entry_points`` does."""
    global _made  # noqa: PLW0603  # one for the process
    if not group.startswith(PREFIX):
        return importlib.metadata.entry_points(group=group)
    places, made = _places(), _made
    if made is None or made[0] != places:
        made = _made = places, EntryPoints(_ours())
    return made[1].select(group=group)


def _places() -> _Places:
    places = []
    for entry in sys.path:
        try:
            places.append((entry, Path(entry).stat().st_mtime_ns))
        except OSError:
            # Many import paths name an archive or a directory that does not exist.
            places.append((entry, 0))
    return tuple(places)


def _ours() -> Iterator[EntryPoint]:
    seen = set()
    for each in importlib.metadata.distributions():
        text = each.read_text(_FILE)
        if text is None or not _SECTION.search(text):
            continue
        name = _name(each)
        # Of a package that is there twice, the first one on the import path counts.
        if name not in seen and importlib.metadata.distribution(name).read_text(_FILE) == text:
            seen.add(name)
            yield from each.entry_points


def _name(package: Distribution) -> str:
    """Return the name of a package; its ``name`` parses all metadata for it, which imports a parser of e-mails."""
    text = package.read_text("METADATA") or package.read_text("PKG-INFO") or ""
    found = _NAME.search(text)
    return found[1] if found else package.name
