"""Plan a traversal: which nodes there are, which wait for which, and which may start at once.

Pure: definitions and rows in, a plan out; the store writes it in one transaction. Every traversal ends in one
node, the *end*, that counts all others down. Where very many nodes meet in one (the end of a wide stack, a
resource that requires all others), *joins* stand between them, each a counter for a part: finishes then seldom
wait for each other's row.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.definition import AttributePath
from orchestrator.model.actions import RESUME, SUSPEND
from orchestrator.model.graph import Graph
from orchestrator.model.messages import CLEANUP, CONVERGE, END, JOIN, OPERATE

#: A node with more requirements than this is given joins.
FAN_IN = 64
#: How many joins it is given at most.
JOINS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredResource:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """What is there already of what is wished under one name."""

    #: The row that is to become what is wished; None: a new one is made.
    row: Row | None = None
    #: Whether the row is that already, as long as what it depends on stays as it is.
    clean: bool = False
    #: The row's node data, on the wire.
    node_data: Any = None
    #: Whether the template says other metadata than it did.
    new_metadata: bool = False
    #: What the row's object is to be adopted as first; None if it is not to be adopted.
    adopting: Mapping[str, Any] | None = None
    #: What the step must be told besides: why another takes the row's place whatever it looks like (``replace``), or
    #: that it compares with what is really there (``refresh``), or that its attributes are read anew (``reread``).
    told: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class PlannedNode:
    """A node as it will be stored."""

    no: int
    key: str
    phase: str
    resource_id: str | None = None
    action: str = ""
    #: Numbers of the nodes to be counted down when this one is done; of one that is done from the start, of those that
    #: depend on it.
    dependents: list[int] = field(default_factory=list)
    #: How many nodes count this one down.
    remaining: int = 0
    #: Numbers of the nodes whose data this one is given.
    requirements: tuple[int, ...] = ()
    fragment: Mapping[str, Any] | None = None
    wanted: tuple[AttributePath, ...] = ()
    #: There is nothing to do unless something changes.
    quiet: bool = False
    #: Nothing is done at all: the node is there for its data alone.
    done: bool = False
    #: The data on record from before, on the wire.
    node_data: Any = None

    @property
    def state(self) -> str:
        """Done before it began; blocked, or ready when nothing is required."""
        if self.done:
            return "done"
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


def plan_create(desired_resources: Sequence[DesiredResource], *, action: str = "CREATE") -> Plan:
    """Plan the creation of every wished resource (or its adoption), each after what it requires.

    Raises:
        CircularDependency: the wishes require each other in a circle.
    """
    by_name = {desired.name: desired for desired in desired_resources}
    weave = _Weave()
    for name in Graph({desired.name: desired.requires for desired in desired_resources}).in_order():
        desired = by_name[name]
        weave.add(
            name,
            PlannedNode(
                no=0,
                key=name,
                phase=CONVERGE,
                resource_id=desired.resource_id,
                action=action,
                fragment=desired.fragment,
                wanted=tuple(sorted(desired.wanted, key=repr)),
            ),
            desired.requires,
            data=True,
        )
    return Plan(action=action, nodes=weave.finished())


def plan_update(
    desired_resources: Sequence[DesiredResource],
    matches: Mapping[str, Match],
    rows: Sequence[Row],
    *,
    action: str = "UPDATE",
    told: Callable[[str], Mapping[str, Any]] | None = None,
) -> Plan:
    """Plan to make what is there into what is wished, and to clean up what is not wished any more.

    Visited is what is not clean, and what depends on it by whatever many steps; of the latter, the clean ones only if
    what they depend on turns out to have changed. Every visited row may be replaced, so each has a cleanup node too,
    which waits for those of its dependents: they have moved over by then. ``told`` gives what the cleanup of a row
    must be told, by its id, where the rows themselves do not say it; it is asked of those that are cleaned up.

    Raises:
        CircularDependency: the wishes require each other in a circle.
    """
    by_name = {desired.name: desired for desired in desired_resources}
    order = Graph({desired.name: desired.requires for desired in desired_resources}).in_order()
    visited: set[str] = set()
    for name in order:
        if not matches[name].clean or not visited.isdisjoint(by_name[name].requires):
            visited.add(name)
    given = {other for name in visited for other in by_name[name].requires} - visited
    weave = _Weave()
    for name in order:
        desired, match = by_name[name], matches[name]
        if name in given:
            weave.add_done(name, desired, match)
        elif name in visited:
            weave.add(name, _converging(desired, match), desired.requires, data=True)
    desired_rows = {match.row.id: name for name, match in matches.items() if match.row}
    _plan_cleanup(weave, rows, desired_rows, visited, told)
    return Plan(action=action, nodes=weave.finished())


def _converging(desired: DesiredResource, match: Match) -> PlannedNode:
    fragment = dict(desired.fragment)
    if match.row:
        fragment |= {"old": True, **match.told}
    if match.adopting:
        fragment["adopting"] = match.adopting
    return PlannedNode(
        no=0,
        key=desired.name,
        phase=CONVERGE,
        resource_id=match.row.id if match.row else desired.resource_id,
        action="UPDATE" if match.row else "CREATE",
        fragment=fragment,
        wanted=tuple(sorted(desired.wanted, key=repr)),
        quiet=match.clean,
        node_data=match.node_data,
    )


def _plan_cleanup(
    weave: "_Weave",
    rows: Sequence[Row],
    desired_rows: Mapping[str, str],
    visited: Collection[str],
    told: Callable[[str], Mapping[str, Any]] | None,
) -> None:
    """Add the cleanup of rows that nobody wishes for, and of those that may be replaced."""
    there = {
        row.id: row
        for row in rows
        if (row.action, row.status) != ("DELETE", "COMPLETE")
        and (row.id not in desired_rows or desired_rows[row.id] in visited)
    }
    graph = Graph({row.id: frozenset(row.requires) & there.keys() for row in there.values()}).reversed()
    for row_id in graph.in_order():
        row = there[row_id]
        node = PlannedNode(
            no=0,
            key=row.name,
            phase=CLEANUP,
            resource_id=row.id,
            action="DELETE",
            fragment={**(told(row_id) if told else row.fragment), "retried": True},
            quiet=row_id in desired_rows,
        )
        after = {_cleanup_of(other) for other in graph.requirements[row_id]}
        if row.name in visited:
            # Whatever takes the row's place is there first.
            after.add(row.name)
        weave.add(_cleanup_of(row_id), node, frozenset(after), data=False)


def _cleanup_of(row_id: str) -> str:
    # No resource's name has a slash.
    return f"cleanup/{row_id}"


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


def plan_operate(rows: Sequence[Row], *, action: str) -> Plan:
    """Plan to do something with each of these rows as it is, whatever the template says.

    SUSPEND takes each after everything that requires it, RESUME after everything that it requires; everything else is
    done side by side. No node is given data: what a row is stays what it is.
    """
    there = {row.id: row for row in rows}
    graph = Graph({row.id: frozenset(row.requires) & there.keys() for row in rows})
    graph = graph.reversed() if action == SUSPEND else graph
    is_ordered = action in (SUSPEND, RESUME)
    weave = _Weave()
    for row_id in graph.in_order():
        row = there[row_id]
        node = PlannedNode(
            no=0, key=row.name, phase=OPERATE, resource_id=row.id, action=action, fragment=row.fragment
        )
        requires = graph.requirements[row_id] if is_ordered else frozenset()
        weave.add(row_id, node, requires, data=False)
    return Plan(action=action, nodes=weave.finished())


class _Weave:
    """Numbers nodes in the order they are added and ties each to what it requires."""

    def __init__(self) -> None:
        self._nodes: list[PlannedNode] = []
        self._numbers: dict[str, int] = {}
        self._joins: dict[frozenset[int], tuple[int, ...]] = {}

    def add(self, name: str, node: PlannedNode, requires: frozenset[str], *, data: bool) -> None:
        """Add a node after all that it requires; ``data``: it is given their data."""
        numbers = frozenset(self._numbers[other] for other in requires)
        counters = self._counters(frozenset(no for no in numbers if not self._nodes[no].done))
        if data:
            node.requirements = tuple(sorted(numbers))
        self._tie(node, counters)
        self._numbers[name] = node.no
        # They count nobody down, but a signal to them is for those who are given their data.
        for number in numbers:
            if self._nodes[number].done:
                self._nodes[number].dependents.append(node.no)

    def add_done(self, name: str, desired: DesiredResource, match: Match) -> None:
        """Add a node for its data alone."""
        node = PlannedNode(
            no=0,
            key=name,
            phase=CONVERGE,
            resource_id=match.row.id if match.row else None,
            wanted=tuple(sorted(desired.wanted, key=repr)),
            done=True,
            node_data=match.node_data,
        )
        self._tie(node, ())
        self._numbers[name] = node.no

    def finished(self) -> tuple[PlannedNode, ...]:
        """Add the end, which waits for every node that nothing else waits for, and return all nodes."""
        roots = frozenset(node.no for node in self._nodes if not node.dependents and not node.done)
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
