"""The dependency graph of a stack's resources: its order, its edges, and its cycles as errors."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from orchestrator.errors import IsothermError


class CircularDependency(IsothermError):
    """Resources require each other in a circle, so none of them can be first."""

    def __init__(self, cycle: tuple[str, ...]) -> None:
        #: The names along the circle, each requiring the next; the first is also the last.
        self.cycle = cycle
        super().__init__(cycle)

    def __str__(self) -> str:
        return "resources require each other in a circle: " + " -> ".join(self.cycle)


@dataclass(frozen=True)
class Graph:
    """A dependency graph: for each name, the names that it requires."""

    requirements: Mapping[str, frozenset[str]]

    def in_order(self) -> tuple[str, ...]:
        """Return all names, each after everything it requires.

        Raises:
            CircularDependency: there is no such order.
        """
        try:
            return tuple(TopologicalSorter(self.requirements).static_order())
        except CycleError as error:
            # graphlib lists a circle along "is required by"; the error reads along "requires".
            raise CircularDependency(tuple(reversed(error.args[1]))) from None

    def edges(self) -> Iterator[tuple[str, str]]:
        """Yield each (requirer, required)."""
        for name, required in self.requirements.items():
            for other in sorted(required):
                yield name, other

    def reversed(self) -> "Graph":
        """Return the graph with every edge turned round: the order of deletion."""
        turned: dict[str, set[str]] = {name: set() for name in self.requirements}
        for name, required in self.requirements.items():
            for other in required:
                turned[other].add(name)
        return Graph({name: frozenset(others) for name, others in turned.items()})
