"""Who requires whom in an operation, as it is drawn.

The store keeps for each node whom it counts down. Here that is turned into edges between resources, and the points
where many edges meet; what stands for nothing itself, and leads to no resource, is left out.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from orchestrator.model.messages import CLEANUP, END, JOIN
from orchestrator.views.facts import NodeFact

#: (requirer, required), by the nodes' numbers.
Edge = tuple[int, int]


def is_counter(node: NodeFact) -> bool:
    """Whether a node only counts others as one. A cleanup that was held back became a join, and has its resource.

    A cleanup that only a replacement would call for stands for nothing until there is one: then it is not quiet any
    more.
    """
    if node.phase == END or (node.phase == JOIN and node.resource_id is None):
        return True
    return node.phase in (CLEANUP, JOIN) and node.quiet and not node.attempt


@dataclass(frozen=True)
class Wiring:
    """The nodes that are drawn, and whom each of them requires and is required by; all by numbers, ascending."""

    nodes: Mapping[int, NodeFact]
    requirements: Mapping[int, Sequence[int]]
    dependents: Mapping[int, Sequence[int]]

    @classmethod
    def of(cls, nodes: Iterable[NodeFact]) -> "Wiring":
        """Tie an operation's nodes to each other."""
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
        """All numbers, each after those that it requires."""
        missing = {no: len(others) for no, others in self.requirements.items()}
        following = deque(no for no, count in missing.items() if not count)
        order = []
        while following:
            no = following.popleft()
            order.append(no)
            for other in self.dependents[no]:
                missing[other] -= 1
                if not missing[other]:
                    following.append(other)
        return tuple(order)

    def behind(self, no: int) -> frozenset[int]:
        """Return whatever requires a node, by however many steps; not the node itself."""
        return frozenset(_reached(no, self.dependents)) - {no}

    def around(self, no: int, depth: int) -> dict[int, int]:
        """Return what a node requires, and what requires it, by at most ``depth`` steps, nearest first.

        With the number of steps. To pass a point where edges meet is no step; one that leads no further is left out.
        """
        found = {no: 0}
        for ties in (self.requirements, self.dependents):
            for other, steps in self._within(no, depth, ties).items():
                found.setdefault(other, steps)
        kept = ((other, steps) for other, steps in found.items() if other == no or self._ties(other, found))
        return dict(sorted(kept, key=lambda entry: (entry[1], entry[0])))

    def _ties(self, no: int, chosen: Collection[int]) -> bool:
        """Whether a node is a resource, or ties chosen ones to each other."""
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
                # Whatever is nearer is looked at first.
                (following.appendleft if free else following.append)(other)
        return steps


def _drawn(nodes: Mapping[int, NodeFact]) -> dict[int, None]:
    """Return the numbers of what is drawn: all resources, and the counters that some resource waits for."""
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


def _reached(no: int, ties: Mapping[int, Sequence[int]]) -> set[int]:
    seen, following = {no}, [no]
    while following:
        for other in ties[following.pop()]:
            if other not in seen:
                seen.add(other)
                following.append(other)
    return seen
