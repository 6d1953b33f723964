"""Index of the entry points in groups of ours, made once a process.

``importlib.metadata`` parses what every installed package brings, at each call, and imports parsers of e-mails and
archives, which takes as long as some commands. Here, only a package is parsed that names a group of ours, and again
only once the import path or one of its directories has changed. Where a package may be elsewhere than in a directory of
the import path, such as in an archive, ``importlib.metadata`` is asked after all. Nothing is kept in a file, which
another process would have to trust.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

from hooks.loading.entry import Entry

#: What the names of our groups begin with.
PREFIX: Final = "isotherm."
_FILE: Final = "entry_points.txt"
_KINDS: Final = frozenset({"dist-info", "egg-info"})

#: The directories of the import path, each with the time of its last change.
_Places = tuple[tuple[str, int], ...]

#: Replaced as a whole, so that threads need no lock.
_made: tuple[_Places, Mapping[str, tuple[Entry, ...]]] | None = None


class _Elsewhere(Exception):
    """A package may be elsewhere than in a directory of the import path."""


def entry_points(*, group: str) -> tuple[Entry, ...]:
    """Return the entry points of installed packages in one group, as ``importlib.metadata.entry_points`` does."""
    return _index().get(group, ()) if group.startswith(PREFIX) else tuple(_by_library(group))


def groups() -> frozenset[str]:
    """Return the groups of ours that have entry points."""
    return frozenset(_index())


def version_of(package: str) -> str:
    """Return the version of an installed package, as ``importlib.metadata.version`` does.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    try:
        directory = next((path for name, path in _packages() if name == _normal(package)), "")
    except _Elsewhere:
        directory = ""
    if directory:
        text = _text(directory, "METADATA") or _text(directory, "PKG-INFO")
        for line in text.splitlines():
            if line.startswith("Version:"):
                return line.partition(":")[2].strip()
    from importlib.metadata import version

    return version(package)


def _index() -> Mapping[str, tuple[Entry, ...]]:
    global _made  # noqa: PLW0603  # one for the process
    places, made = _places(), _made
    if made is None or made[0] != places:
        made = _made = places, _ours()
    return made[1]


def _places() -> _Places:
    places = []
    for entry in sys.path:
        try:
            places.append((entry, Path(entry).stat().st_mtime_ns))
        except OSError:
            # Many import paths name an archive or a directory that does not exist.
            places.append((entry, 0))
    return tuple(places)


def _ours() -> Mapping[str, tuple[Entry, ...]]:
    try:
        found = [entry for _, path in _packages() for entry in _entries_of(path)]
    except _Elsewhere:
        found = [*_by_library()]
    by_group: dict[str, list[Entry]] = {}
    for entry in found:
        if entry.group.startswith(PREFIX):
            by_group.setdefault(entry.group, []).append(entry)
    return {group: tuple(entries) for group, entries in by_group.items()}


def _by_library(*wanted: str) -> Iterator[Entry]:
    import importlib.metadata

    found = importlib.metadata.entry_points()
    for group in wanted or found.groups:
        for each in found.select(group=group):
            yield Entry(each.name, each.value, each.group, each.dist)


def _packages() -> Iterator[tuple[str, str]]:
    """Yield the name of each installed package, as ``importlib.metadata`` compares it, and its metadata's directory.

    Raises:
        _Elsewhere: there may be further ones.
    """
    if any(hasattr(each, "find_distributions") and each is not PathFinder for each in sys.meta_path):
        raise _Elsewhere
    seen = set()
    for place in sys.path:
        if place.lower().endswith(".egg"):
            raise _Elsewhere
        try:
            children = os.listdir(place or ".")  # noqa: PTH208  # names, of which there are hundreds
        except NotADirectoryError:
            # An archive.
            raise _Elsewhere from None
        except OSError:
            continue
        for child in children:
            stem, _, kind = child.rpartition(".")
            name = _normal(stem.partition("-")[0])
            # Of a package that is there twice, the first one on the import path counts.
            if kind.lower() in _KINDS and name not in seen:
                seen.add(name)
                yield name, f"{place or '.'}/{child}"


def _normal(name: str) -> str:
    normal = name.lower().replace("-", "_").replace(".", "_")
    while "__" in normal:
        normal = normal.replace("__", "_")
    return normal


def _text(directory: str, file: str) -> str:
    try:
        return Path(directory, file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _entries_of(directory: str) -> Iterator[Entry]:
    """Yield the entry points in groups of ours that a package brings."""
    text = _text(directory, _FILE)
    if f"[{PREFIX}" not in text:
        return
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line.strip("[]")
        elif group.startswith(PREFIX) and "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield Entry(name.strip(), value.strip(), group, directory)
