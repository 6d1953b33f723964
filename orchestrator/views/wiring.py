"""The wiring of an operation's graph: the nodes that are drawn, and the edges between them.

The store has, for each node, those that it counts down. These become edges between resources and joins; joins that lead
to no resource are left out.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from graphlib import TopologicalSorter

from hooks.values.dataclass import dataclass
from orchestrator.model.messages import CLEANUP, END, JOIN
from orchestrator.views.facts import NodeFact

#: (requirer, required), by the nodes' numbers.
Edge = tuple[int, int]


def is_counter(node: NodeFact) -> bool:
    """Return whether a node only counts others; a join with a resource is a cleanup that was held back.

    A cleanup that only a replacement would need counts as one until there is a replacement: then it is not quiet.
    """
    if node.phase == END or (node.phase == JOIN and node.resource_id is None):
        return True
    return node.phase in (CLEANUP, JOIN) and node.quiet and not node.attempt


@dataclass(frozen=True)
class Wiring:
    """The nodes that are drawn, with the requirements and dependents of each; by number, ascending."""

    nodes: Mapping[int, NodeFact]
    requirements: Mapping[int, Sequence[int]]
    dependents: Mapping[int, Sequence[int]]

    @classmethod
    def of(cls, nodes: Iterable[NodeFact]) -> "Wiring":
        """Return the wiring of an operation's nodes."""
        given = {node.no: node for node in sorted(nodes, key=lambda node: node.no)}
        drawn = _drawn(given)
        dependents = {
            no: tuple(sorted({each for each in given[no].dependents if each in drawn})) for no in drawn
        }
        requirements: dict[int, list[int]] = {no: [] for no in drawn}
        for no, others in dependents.items():
            for other in others:
                requirements[other].append(no)
        return cls({no: given[no] for no in drawn}, requirements, dependents)

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """All edges."""
        return tuple((no, other) for no, others in self.requirements.items() for other in others)

    @cached_property
    def in_order(self) -> tuple[int, ...]:
        """All numbers, each after its requirements."""
        return tuple(TopologicalSorter(self.requirements).static_order())

    def beyond_joins(self, no: int, ties: Mapping[int, Sequence[int]]) -> frozenset[int]:
        """Return the resources at the other ends of a node's ties, which are its requirements or its dependents."""
        reached = _reached(no, ties, passes=lambda other: is_counter(self.nodes[other]))
        return frozenset(other for other in reached - {no} if not is_counter(self.nodes[other]))

    def behind(self, no: int) -> frozenset[int]:
        """Return the direct and indirect dependents of a node, without the node itself."""
        return frozenset(_reached(no, self.dependents)) - {no}

    def neighbourhood(self, no: int, depth: int) -> dict[int, int]:
        """Return the requirements and dependents of a node within ``depth`` steps, with their distance, nearest first.

        Passing a join is no step; a join that leads to no other chosen node is left out.
        """
        found = {no: 0}
        for ties in (self.requirements, self.dependents):
            for other, steps in self._within(no, depth, ties).items():
                found.setdefault(other, steps)
        kept = ((other, steps) for other, steps in found.items() if other == no or self._ties(other, found))
        return dict(sorted(kept, key=lambda entry: (entry[1], entry[0])))

    def _ties(self, no: int, chosen: Collection[int]) -> bool:
        """Return whether a node is a resource, or a join between chosen ones."""
        if not is_counter(self.nodes[no]):
            return True
        return all(
            any(other in chosen for other in ties[no]) for ties in (self.requirements, self.dependents)
        )

    def _within(self, no: int, depth: int, ties: Mapping[int, Sequence[int]]) -> dict[int, int]:
        steps, following = {no: 0}, deque([no])
        while following:
            here = following.popleft()
            for other in ties[here]:
                free = is_counter(self.nodes[other])
                taken = steps[here] + (0 if free else 1)
                if taken > depth or steps.get(other, taken + 1) <= taken:
                    continue
                steps[other] = taken
                # Nearer nodes are visited first.
                (following.appendleft if free else following.append)(other)
        return steps


def _drawn(nodes: Mapping[int, NodeFact]) -> dict[int, None]:
    """Return the numbers of the nodes to draw: all resources, and the counters that a resource waits for."""
    drawn = {no for no, node in nodes.items() if not is_counter(node)}
    counters = [node for node in nodes.values() if is_counter(node) and node.phase != END]
    added = True
    while added:
        added = False
        for node in counters:
            if node.no not in drawn and not drawn.isdisjoint(node.dependents):
                drawn.add(node.no)
                added = True
    return dict.fromkeys(no for no in nodes if no in drawn)


def _reached(
    no: int, ties: Mapping[int, Sequence[int]], passes: Callable[[int], bool] = lambda _: True
) -> set[int]:
    seen, following = {no}, [no]
    while following:
        for other in ties[following.pop()]:
            if other not in seen:
                seen.add(other)
                if passes(other):
                    following.append(other)
    return seen
