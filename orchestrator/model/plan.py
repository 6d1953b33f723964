"""The plan of a traversal: its nodes, which of them wait for which, and which may start at once.

Pure functions from definitions and rows to a plan, which the store writes in one transaction. Every traversal ends in
one node, the *end*, which waits for all others. Where very many nodes meet in one (the end of a wide stack, a resource
that requires all others), *joins* stand between them, each a counter for a part, so that finishes seldom wait for each
other's row lock.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain
from typing import Any

from hooks.values.dataclass import dataclass
from hooks.values.parts import parts_of
from orchestrator.definition import AttributePath, NodeData
from orchestrator.model.actions import RESUME, SUSPEND
from orchestrator.model.graph import Graph
from orchestrator.model.messages import CLEANUP, CONVERGE, END, JOIN, OPERATE

#: A node with more requirements than this gets joins.
FAN_IN = 64
#: The most joins that a node gets.
JOINS = 16
#: How many neighbours count in one join. Neighbours finish together, ``batch_size`` in one transaction: it updates few
#: joins, and others than those of the next neighbours, which another worker may finish at that moment.
NEIGHBOURS = 16
#: The mark, in a node's fragment, of a resource whose object is imported: it is recorded as it is observed.
IMPORTED = "imported"


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredResource:
    """The definition of one resource, before it is compared with the rows."""

    name: str
    type: str
    resource_id: str
    fragment: Mapping[str, Any]
    requires: frozenset[str]
    #: The attributes that others refer to.
    wanted: frozenset[AttributePath]
    #: The attributes of its requirements that it reads, each with the requirement's name; None for all that are
    #: collected.
    needs: frozenset[tuple[str, AttributePath]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The columns of a resource's row that planning needs."""

    id: str
    name: str
    type: str
    action: str
    status: str
    #: Ids of the rows this one depends on.
    requires: tuple[str, ...]
    #: The additional data for the row's cleanup.
    fragment: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The existing row for a desired resource."""

    #: The row that is updated; None if a new one is made.
    row: Row | None = None
    #: Whether the row has the definition already, unless a requirement changes.
    clean: bool = False
    #: Whether the row is visited only because attributes of it are needed that were not read before.
    read_only: bool = False
    #: Whether the definition has the same values as the row's by another text, such as by new names of others, unless a
    #: requirement changes.
    reworded: bool = False
    #: The row's node data, on the wire.
    node_data: Any = None
    #: Whether the template's metadata differ from those before.
    new_metadata: bool = False
    #: The data with which the row's object is adopted first; None if it is not adopted.
    adopting: Mapping[str, Any] | None = None
    #: Why the desired resource is refused once it is visited; empty if it is not.
    refusal: str = ""
    #: Additional data for the step: why the row is replaced in any case (``replace``), whether it is compared with the
    #: real object (``refresh``), or whether its attributes are read again (``reread``).
    step_data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class PlannedNode:
    """A node as it will be stored."""

    #: Its place in the plan.
    no: int = 0
    key: str
    phase: str
    resource_id: str | None = None
    action: str = ""
    #: Numbers of the nodes to be counted down when this one is done; for a node that is done from the start, of its
    #: dependents.
    dependents: list[int] = field(default_factory=list)
    #: The number of nodes that count this one down.
    remaining: int = 0
    #: Numbers of the nodes whose node data this one receives.
    requirements: tuple[int, ...] = ()
    #: For each requirement, the attributes that are sent here; None if those are all that are collected.
    needs: tuple[tuple[AttributePath, ...], ...] | None = None
    fragment: Mapping[str, Any] | None = None
    wanted: tuple[AttributePath, ...] = ()
    #: There is nothing to do unless a requirement changes.
    quiet: bool = False
    #: The node is done from the start, and exists only for its node data.
    done: bool = False
    #: The node data from before, on the wire.
    node_data: Any = None

    @property
    def state(self) -> str:
        """The first state: done from the start, blocked, or ready if it waits for no node."""
        if self.done:
            return "done"
        return "blocked" if self.remaining else "ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A planned traversal."""

    action: str
    nodes: tuple[PlannedNode, ...]

    @property
    def ready(self) -> tuple[PlannedNode, ...]:
        """The nodes that may start at once."""
        return tuple(node for node in self.nodes if node.state == "ready")


def plan_create(desired_resources: Sequence[DesiredResource], *, action: str = "CREATE") -> Plan:
    """Plan the creation of every desired resource (or its adoption), each after its requirements.

    Raises:
        CircularDependency: resources require each other in a circle.
    """
    by_name = {desired.name: desired for desired in desired_resources}
    weave = _Weave()
    for name in Graph({desired.name: desired.requires for desired in desired_resources}).in_order():
        desired = by_name[name]
        weave.add(
            name,
            PlannedNode(
                key=name,
                phase=CONVERGE,
                resource_id=desired.resource_id,
                action=action,
                fragment=desired.fragment,
                wanted=tuple(sorted(desired.wanted, key=repr)),
            ),
            desired.requires,
            data=True,
            needs=desired.needs,
        )
    return Plan(action=action, nodes=weave.finished())


def plan_update(
    desired_resources: Sequence[DesiredResource],
    matches: Mapping[str, Match],
    rows: Sequence[Row],
    *,
    action: str = "UPDATE",
    cleanup_data: Callable[[str], Mapping[str, Any]] | None = None,
    makes: str = "CREATE",
) -> Plan:
    """Plan the change from the existing rows to the desired resources, and the cleanup of other rows.

    The plan visits resources that are not clean, and all their direct and indirect dependents; a clean dependent is
    only updated if a requirement turns out to have changed. Every visited row may be replaced, so each has a cleanup
    node too, which waits for those of its dependents. ``cleanup_data`` returns, by the id of a
    row, the additional data for its cleanup in place of ``Row.fragment``; it is called for rows that are cleaned up.
    ``makes`` is the action for resources without a row.

    Raises:
        CircularDependency: resources require each other in a circle.
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
            # Until it is adopted, an object is compared with the definition of its adoption too.
            needs = None if match.adopting else desired.needs
            weave.add(name, _converging(desired, match, makes), desired.requires, data=True, needs=needs)
    desired_rows = {match.row.id: name for name, match in matches.items() if match.row}
    _plan_cleanup(weave, rows, desired_rows, visited, cleanup_data)
    return Plan(action=action, nodes=weave.finished())


def _converging(desired: DesiredResource, match: Match, makes: str) -> PlannedNode:
    fragment = dict(desired.fragment)
    if match.row:
        fragment |= {"old": True, **match.step_data}
    if match.adopting:
        fragment["adopting"] = match.adopting
    if match.refusal:
        fragment["refused"] = match.refusal
    return PlannedNode(
        key=desired.name,
        phase=CONVERGE,
        resource_id=match.row.id if match.row else desired.resource_id,
        action="UPDATE" if match.row else makes,
        fragment=fragment,
        wanted=tuple(sorted(desired.wanted, key=repr)),
        quiet=match.clean,
        node_data=match.node_data,
    )


def begins_no_update(desired: DesiredResource) -> DesiredResource:
    """Return a resource whose visit begins no update, whatever happens to the worker: as before a hook, it only looks.

    An update that has begun is applied again after its worker died.
    """
    hooks = sorted({*desired.fragment.get("hooks", ()), "pre-update"})
    return replace(desired, fragment={**desired.fragment, "hooks": hooks})


def is_imported(fragment: Mapping[str, Any]) -> bool:
    """Return whether a node imports its object, by its own operation or by the one that this took the place of."""
    return bool(fragment.get(IMPORTED) or (fragment.get("adopting") or {}).get(IMPORTED))


def _plan_cleanup(
    weave: "_Weave",
    rows: Sequence[Row],
    desired_rows: Mapping[str, str],
    visited: Collection[str],
    cleanup_data: Callable[[str], Mapping[str, Any]] | None,
) -> None:
    present = {
        row.id: row
        for row in rows
        if (row.action, row.status) != ("DELETE", "COMPLETE")
        and (row.id not in desired_rows or desired_rows[row.id] in visited)
    }
    graph = Graph({row.id: frozenset(row.requires) & present.keys() for row in present.values()}).reversed()
    for row_id in graph.in_order():
        row = present[row_id]
        node = PlannedNode(
            key=row.name,
            phase=CLEANUP,
            resource_id=row.id,
            action="DELETE",
            fragment={**(cleanup_data(row_id) if cleanup_data else row.fragment), "retried": True},
            quiet=row_id in desired_rows,
        )
        after = {_cleanup_of(other) for other in graph.requirements[row_id]}
        if row.name in visited:
            # A replacement is made before the old row is cleaned up.
            after.add(row.name)
        weave.add(_cleanup_of(row_id), node, frozenset(after), data=False)


def _cleanup_of(row_id: str) -> str:
    # No resource's name has a slash.
    return f"cleanup/{row_id}"


def plan_delete(rows: Sequence[Row]) -> Plan:
    """Plan the deletion of every row that is not deleted yet, each after its dependents.

    The order is that of the rows' stored requirements; deleted ones count as done.
    """
    present = [row for row in rows if (row.action, row.status) != ("DELETE", "COMPLETE")]
    return _plan_rows(present, CLEANUP, "DELETE", is_reversed=True)


def plan_operate(rows: Sequence[Row], *, action: str) -> Plan:
    """Plan an operation on each of these rows as it is, whatever the template says.

    SUSPEND visits each row after its dependents, RESUME after its requirements; other operations have no order. The
    nodes receive no node data, because the rows do not change.
    """
    is_ordered = action in (SUSPEND, RESUME)
    return _plan_rows(rows, OPERATE, action, is_reversed=action == SUSPEND, is_ordered=is_ordered)


def _plan_rows(
    rows: Sequence[Row], phase: str, action: str, *, is_reversed: bool, is_ordered: bool = True
) -> Plan:
    by_id = {row.id: row for row in rows}
    graph = Graph({row.id: frozenset(row.requires) & by_id.keys() for row in rows})
    graph = graph.reversed() if is_reversed else graph
    weave = _Weave()
    for row_id in graph.in_order():
        row = by_id[row_id]
        node = PlannedNode(
            key=row.name, phase=phase, resource_id=row.id, action=action, fragment=row.fragment
        )
        weave.add(row_id, node, graph.requirements[row_id] if is_ordered else frozenset(), data=False)
    return Plan(action=action, nodes=weave.finished())


class _Weave:
    """The nodes of a plan, numbered in the order in which they are added, with their edges."""

    def __init__(self) -> None:
        self._nodes: list[PlannedNode] = []
        self._numbers: dict[str, int] = {}
        self._joins: dict[frozenset[int], tuple[int, ...]] = {}
        self._collected: dict[int, frozenset[AttributePath]] = {}

    def add(
        self,
        name: str,
        node: PlannedNode,
        requires: frozenset[str],
        *,
        data: bool,
        needs: frozenset[tuple[str, AttributePath]] | None = None,
    ) -> None:
        """Add a node after all its requirements; with ``data``, it receives what it ``needs`` of their node data."""
        numbers = frozenset(self._numbers[other] for other in requires)
        counters = self._counters(frozenset(no for no in numbers if not self._nodes[no].done))
        if data:
            node.requirements = tuple(sorted(numbers))
            node.needs = None if needs is None else self._needs(node.requirements, needs)
        self._tie(node, counters)
        self._numbers[name] = node.no
        # Nodes that are done count nothing down, but a signal to one wakes its dependents.
        for number in numbers:
            if self._nodes[number].done:
                self._nodes[number].dependents.append(node.no)

    def _needs(
        self, numbers: Sequence[int], needs: frozenset[tuple[str, AttributePath]]
    ) -> tuple[tuple[AttributePath, ...], ...] | None:
        """Return the attributes that are needed of each of these nodes; None if they are all that are collected."""
        of_each: dict[str, set[AttributePath]] = {}
        for name, path in needs:
            of_each.setdefault(name, set()).add(path)
        needed = [of_each.get(self._nodes[no].key, set()) for no in numbers]
        if all(paths == self._collected_of(no) for no, paths in zip(numbers, needed, strict=True)):
            return None
        return tuple(tuple(sorted(paths, key=repr)) for paths in needed)

    def _collected_of(self, number: int) -> frozenset[AttributePath]:
        """Return the attributes that a node's data may have: those of this traversal, and those on record."""
        if number not in self._collected:
            node = self._nodes[number]
            before = NodeData.from_wire(node.node_data) if node.node_data is not None else None
            recorded = (*before.attributes, *before.unread) if before else ()
            self._collected[number] = frozenset((*node.wanted, *recorded))
        return self._collected[number]

    def add_done(self, name: str, desired: DesiredResource, match: Match) -> None:
        """Add a node that is done, for its node data."""
        node = PlannedNode(
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
        """Add the end, which waits for every node without dependents, and return all nodes."""
        roots = frozenset(node.no for node in self._nodes if not node.dependents and not node.done)
        self._tie(PlannedNode(key="", phase=END), self._counters(roots))
        return tuple(self._nodes)

    def _tie(self, node: PlannedNode, counters: Sequence[int]) -> None:
        node.no = len(self._nodes)
        node.remaining = len(counters)
        for number in counters:
            self._nodes[number].dependents.append(node.no)
        self._nodes.append(node)

    def _counters(self, numbers: frozenset[int]) -> tuple[int, ...]:
        """Return the nodes that count down for ``numbers``: these themselves, or joins if they are many."""
        if len(numbers) <= FAN_IN:
            return tuple(sorted(numbers))
        if numbers not in self._joins:
            self._joins[numbers] = self._join(sorted(numbers))
        return self._joins[numbers]

    def _join(self, numbers: Sequence[int]) -> tuple[int, ...]:
        count = min(JOINS, math.ceil(len(numbers) / FAN_IN))
        blocks = [*parts_of(numbers, NEIGHBOURS)]
        joins = []
        for part in range(count):
            node = PlannedNode(key=f"join-{len(self._nodes)}", phase=JOIN)
            self._tie(node, [*chain.from_iterable(blocks[part::count])])
            joins.append(node.no)
        return tuple(joins)
