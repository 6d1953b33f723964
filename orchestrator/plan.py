"""Plan a traversal: which nodes there are, which wait for which, and which may start at once.

Pure: definitions and rows in, a plan out; the store writes it in one transaction. Every traversal ends in one
node, the *end*, that counts all others down. Where very many nodes meet in one (the end of a wide stack, a
resource that requires all others), *joins* stand between them, each a counter for a part: finishes then seldom
wait for each other's row.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.definition import AttributePath
from orchestrator.graph import Graph
from orchestrator.messages import CLEANUP, CONVERGE, END, JOIN

#: A node with more requirements than this is given joins.
FAN_IN = 64
#: How many joins it is given at most.
JOINS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the template wants of one resource."""

    name: str
    type: str
    resource_id: str
    fragment: Mapping[str, Any]
    requires: frozenset[str]
    #: What others ask of it.
    wanted: frozenset[AttributePath]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What planning needs to know of a resource's row."""

    id: str
    name: str
    type: str
    action: str
    status: str
    #: Ids of the rows this one depends on.
    requires: tuple[str, ...]
    #: What the cleanup must be told besides the row itself.
    fragment: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class PlannedNode:
    """A node as it will be stored."""

    no: int
    key: str
    phase: str
    resource_id: str | None = None
    action: str = ""
    #: Numbers of the nodes to be counted down when this one is done.
    dependents: list[int] = field(default_factory=list)
    #: How many nodes count this one down.
    remaining: int = 0
    #: Numbers of the nodes whose data this one is given.
    requirements: tuple[int, ...] = ()
    fragment: Mapping[str, Any] | None = None
    wanted: tuple[AttributePath, ...] = ()

    @property
    def state(self) -> str:
        """Blocked, or ready when nothing is required."""
        return "blocked" if self.remaining else "ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A traversal to be."""

    action: str
    nodes: tuple[PlannedNode, ...]

    @property
    def ready(self) -> tuple[PlannedNode, ...]:
        """The nodes that may start at once."""
        return tuple(node for node in self.nodes if node.state == "ready")


def plan_create(wishes: Sequence[Wish]) -> Plan:
    """Plan the creation of every wished resource, each after what it requires.

    Raises:
        CircularDependency: the wishes require each other in a circle.
    """
    by_name = {wish.name: wish for wish in wishes}
    weave = _Weave()
    for name in Graph({wish.name: wish.requires for wish in wishes}).in_order():
        wish = by_name[name]
        weave.add(
            name,
            PlannedNode(
                no=0,
                key=name,
                phase=CONVERGE,
                resource_id=wish.resource_id,
                action="CREATE",
                fragment=wish.fragment,
                wanted=tuple(sorted(wish.wanted, key=repr)),
            ),
            wish.requires,
            data=True,
        )
    return Plan(action="CREATE", nodes=weave.finished())


def plan_delete(rows: Sequence[Row]) -> Plan:
    """Plan the deletion of every row that is not gone yet, each after everything that required it.

    What a row required, by its last visit, orders the deletion; requirements that are gone count as done.
    """
    there = {row.id: row for row in rows if (row.action, row.status) != ("DELETE", "COMPLETE")}
    graph = Graph({row.id: frozenset(row.requires) & there.keys() for row in there.values()}).reversed()
    weave = _Weave()
    for row_id in graph.in_order():
        row = there[row_id]
        node = PlannedNode(
            no=0, key=row.name, phase=CLEANUP, resource_id=row.id, action="DELETE", fragment=row.fragment
        )
        weave.add(row_id, node, graph.requirements[row_id], data=False)
    return Plan(action="DELETE", nodes=weave.finished())


class _Weave:
    """Numbers nodes in the order they are added and ties each to what it requires."""

    def __init__(self) -> None:
        self._nodes: list[PlannedNode] = []
        self._numbers: dict[str, int] = {}
        self._joins: dict[frozenset[int], tuple[int, ...]] = {}

    def add(self, name: str, node: PlannedNode, requires: frozenset[str], *, data: bool) -> None:
        """Add a node after all that it requires; ``data``: it is given their data."""
        numbers = frozenset(self._numbers[other] for other in requires)
        counters = self._counters(numbers)
        if data:
            node.requirements = tuple(sorted(numbers))
        self._tie(node, counters)
        self._numbers[name] = node.no

    def finished(self) -> tuple[PlannedNode, ...]:
        """Add the end, which waits for every node that nothing else waits for, and return all nodes."""
        roots = frozenset(node.no for node in self._nodes if not node.dependents)
        self._tie(PlannedNode(no=0, key="", phase=END), self._counters(roots))
        return tuple(self._nodes)

    def _tie(self, node: PlannedNode, counters: Sequence[int]) -> None:
        node.no = len(self._nodes)
        node.remaining = len(counters)
        for number in counters:
            self._nodes[number].dependents.append(node.no)
        self._nodes.append(node)

    def _counters(self, numbers: frozenset[int]) -> tuple[int, ...]:
        """Return the nodes that count down for ``numbers``: themselves, or joins where they are many."""
        if len(numbers) <= FAN_IN:
            return tuple(sorted(numbers))
        if numbers not in self._joins:
            self._joins[numbers] = self._join(sorted(numbers))
        return self._joins[numbers]

    def _join(self, numbers: Sequence[int]) -> tuple[int, ...]:
        count = min(JOINS, math.ceil(len(numbers) / FAN_IN))
        joins = []
        for part in range(count):
            # Neighbours finish at about the same time, so they go to different joins.
            node = PlannedNode(no=0, key=f"join-{len(self._nodes)}", phase=JOIN)
            self._tie(node, numbers[part::count])
            joins.append(node.no)
        return tuple(joins)
