"""Moves: resources that an environment gives another name, without a change of their objects."""

from collections.abc import Iterable

from hooks.values.dataclass import dataclass
from orchestrator.template.given import Given


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """An entry of the section ``moved`` of an environment: the names before and after, both with their positions."""

    source: Given
    target: Given

    @property
    def has_paths(self) -> bool:
        """Whether a nested stack takes part in it."""
        return "/" in self.source.value or "/" in self.target.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """The name that a chain of entries ends with."""

    name: str
    #: The names that lead to it, the latest first.
    sources: tuple[str, ...]
    #: The entry that leads to it.
    last: Move

    @property
    def has_paths(self) -> bool:
        """Whether a nested stack takes part in it."""
        return any("/" in each for each in (self.name, *self.sources))


def destinations_of(moves: Iterable[Move]) -> list[Destination]:
    """Return the destinations of entries of which no two have one source or one target, and none is in a circle."""
    by_target = {move.target.value: move for move in moves}
    followed = {move.source.value for move in by_target.values()}
    found = []
    for target, move in by_target.items():
        if target in followed:
            continue
        names, before = [], by_target.get(target)
        while before is not None:
            names.append(before.source.value)
            before = by_target.get(before.source.value)
        found.append(Destination(name=target, sources=tuple(names), last=move))
    return found
