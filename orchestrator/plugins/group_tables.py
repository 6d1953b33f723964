"""Tables of properties groups: which properties may be given together."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Final

from orchestrator.plugins.groups import (
    Combination,
    GivenPath,
    Presence,
    PropertiesGroup,
    VersionedProperties,
    holds,
    listed,
    loose_ends,
    series,
)

#: The most rows of a table; groups with more combinations have no table.
_MOST_ROWS: Final = 16
#: The most properties of a group whose combinations are enumerated.
MOST_PATHS: Final = 10


def columns(group: PropertiesGroup, name: Callable[[GivenPath], str] = str) -> tuple[str, ...]:
    """Return the header of the table whose rows :func:`rows` returns."""
    if isinstance(group, VersionedProperties):
        return (listed(group.paths, name), f"API version of {group.client_plugin}", "allowed")
    return (*map(name, group.paths), "allowed")


def rows(group: PropertiesGroup) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a group's table, one for each combination of its properties.

    A group with many combinations has rows for the allowed ones only, and a last row for all others; a group with many
    allowed combinations has no table.
    """
    if isinstance(group, VersionedProperties):
        allowed = series(list(map(str, group.versions)), "or")
        return (("not given", "any", "yes"), ("given", allowed, "yes"), ("given", "any other", "no"))
    if len(group.paths) > MOST_PATHS:
        return ()
    lines = [(given, is_fine(group, given)) for given in combinations(group)]
    others: list[tuple[str, ...]] = []
    if len(lines) > _MOST_ROWS:
        lines = [line for line in lines if line[1]]
        others = [(*("any other" for _ in group.paths), "no")]
    if len(lines) > _MOST_ROWS:
        return ()
    table = [
        (*("given" if path in given else "" for path in group.paths), "yes" if fine else "no")
        for given, fine in lines
    ]
    return (*table, *others)


def combinations(
    group: Combination, required: frozenset[GivenPath] = frozenset()
) -> Iterator[frozenset[GivenPath]]:
    """Yield every possible combination of the group's paths.

    It includes all ``required`` paths, and a path inside another one only together with that one.
    """
    free = [path for path in group.paths if path not in required]
    for flags in product((False, True), repeat=len(free)):
        given = required.union(path for path, flag in zip(free, flags, strict=True) if flag)
        if all(above in given for path in given for above in free if above.is_above(path)):
            yield given


def is_fine(group: Combination, given: frozenset[GivenPath]) -> bool:
    """Return whether a combination is allowed."""

    def is_given(path: GivenPath) -> Presence:
        return Presence.YES if path in given else Presence.NO

    return bool(holds(group, is_given)) and next(loose_ends(group, is_given), None) is None
