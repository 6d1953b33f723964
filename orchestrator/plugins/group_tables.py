"""Properties groups as tables: which properties may be given together."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Final

from orchestrator.plugins.groups import (
    Combination,
    Given,
    GivenPath,
    PropertiesGroup,
    VersionedProperties,
    holds,
    listed,
    loose_ends,
    series,
)

#: A table has no more lines than this; a group of more combinations is told in words alone.
_MOST_ROWS: Final = 16
#: Combinations of more properties than this are not looked at.
MOST_PATHS: Final = 10


def columns(group: PropertiesGroup, name: Callable[[GivenPath], str] = str) -> tuple[str, ...]:
    """Return the head of the table whose lines :func:`rows` returns."""
    if isinstance(group, VersionedProperties):
        return (listed(group.paths, name), f"API version of {group.client_plugin}", "allowed")
    return (*map(name, group.paths), "allowed")


def rows(group: PropertiesGroup) -> tuple[tuple[str, ...], ...]:
    """Return a table of what may be given together: the lines, one for each combination.

    A group with many combinations has only the allowed ones here, and all the others in a last line; one with many
    that are allowed has none.
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
    """Yield every combination of the group's paths that can be given.

    Those that are ``required`` always are, and one that is inside another only with that.
    """
    free = [path for path in group.paths if path not in required]
    for flags in product((False, True), repeat=len(free)):
        given = required.union(path for path, flag in zip(free, flags, strict=True) if flag)
        if all(above in given for path in given for above in free if above.is_above(path)):
            yield given


def is_fine(group: Combination, given: frozenset[GivenPath]) -> bool:
    """Tell whether a combination is allowed."""

    def is_given(path: GivenPath) -> Given:
        return Given.YES if path in given else Given.NO

    return bool(holds(group, is_given)) and next(loose_ends(group, is_given), None) is None
