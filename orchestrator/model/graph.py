"""The dependency graph of a stack's resources: its order, its edges, and its cycles as errors."""

from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from hooks.values.dataclass import dataclass
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
        # graphlib's sorter looks for a circle in every graph before it begins, which takes longer than the order.
        missing: dict[str, int] = {}
        dependents: dict[str, list[str]] = {}
        for name, required in self.requirements.items():
            missing[name] = missing.get(name, 0) + len(required)
            for other in required:
                missing.setdefault(other, 0)
                dependents.setdefault(other, []).append(name)
        ready = [name for name, count in missing.items() if not count]
        order: list[str] = []
        while ready:
            order += ready
            ready = list(_released(ready, dependents, missing))
        if len(order) < len(missing):
            raise CircularDependency(self._cycle())
        return tuple(order)

    def _cycle(self) -> tuple[str, ...]:
        try:
            TopologicalSorter(self.requirements).prepare()
        except CycleError as error:
            # graphlib lists a circle along "is required by"; the error reads along "requires".
            return tuple(reversed(error.args[1]))
        raise AssertionError("a graph without an order has a circle")

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


def _released(
    done: Iterable[str], dependents: Mapping[str, list[str]], missing: dict[str, int]
) -> Iterator[str]:
    """Yield what requires nothing else after these, and count them off in ``missing``."""
    for name in done:
        for dependent in dependents.get(name, ()):
            missing[dependent] -= 1
            if not missing[dependent]:
                yield dependent
