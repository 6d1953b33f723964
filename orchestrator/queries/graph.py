"""An operation's graph with positions: all of it, the neighbourhood of one resource, or groups of resources."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from hooks.values.nearest import did_you_mean
from orchestrator.errors import InvalidInput, NotFound, Problem
from orchestrator.model.messages import CLEANUP
from orchestrator.queries.groups import groups_of
from orchestrator.queries.layout import lay_out
from orchestrator.views.facts import EventFact, Facts, NodeFact
from orchestrator.views.operations import GraphPicture, Vertex
from orchestrator.views.states import (
    counter_state,
    events_by_node,
    is_under_way,
    own_events,
    phase_of,
    reason_of,
    state_of,
    tries_of,
)
from orchestrator.views.vertex_states import JOIN, STATES
from orchestrator.views.wiring import Wiring, is_counter

#: The parts of a graph.
ALL, FOCUS, GROUPS = "all", "focus", "groups"
#: A graph of more vertices is shown in groups unless all of it is requested; a focus has at most so many.
MOST_VERTICES: Final = 2000


@dataclass(frozen=True)
class ObservedOperation:
    """An operation's facts, with values for each node that are computed from them once, at the first use."""

    facts: Facts

    @cached_property
    def wiring(self) -> Wiring:
        """The nodes that are drawn, with their edges."""
        return Wiring.of(self.facts.nodes)

    @cached_property
    def happened(self) -> Mapping[int, Sequence[EventFact]]:
        """The events of each node that has any."""
        return events_by_node(self.facts)

    @cached_property
    def events(self) -> Mapping[int, Sequence[EventFact]]:
        """The events of each node that record its own work."""
        nodes = self.wiring.nodes
        return {no: own_events(nodes[no], events) for no, events in self.happened.items() if no in nodes}

    @cached_property
    def states(self) -> Mapping[int, str]:
        """The state of each node that is drawn."""
        return {no: self._state(node) for no, node in self.wiring.nodes.items()}

    @cached_property
    def vertices(self) -> Mapping[int, Vertex]:
        """Every node that is drawn, with its layer but without a position."""
        layers = lay_out(tuple(self.wiring.nodes), self.wiring.edges).layers
        return {no: self._vertex(node, layers[no]) for no, node in self.wiring.nodes.items()}

    @property
    def resources(self) -> Sequence[NodeFact]:
        """The nodes with a resource."""
        return [node for node in self.wiring.nodes.values() if not is_counter(node)]

    def counts(self) -> dict[str, int]:
        """Return the number of resources in each state."""
        counts = Counter(self.states[node.no] for node in self.resources)
        return {state: counts[state] for state in STATES}

    def find(self, resource: str | int) -> NodeFact:
        """Return the node of a resource by its name, or by the node's number, which may be text.

        Among several of one name, it is the one that makes or changes the resource.

        Raises:
            NotFound: the operation has none; the nearest name is given.
        """
        named = [node for node in self.resources if node.key == resource]
        if named:
            return min(named, key=lambda node: (phase_of(node) == CLEANUP, node.no))
        number = int(resource) if str(resource).isdecimal() else None
        if number is not None and number in self.wiring.nodes:
            return self.wiring.nodes[number]
        names = sorted({node.key for node in self.resources})
        hint = did_you_mean(str(resource), names)
        raise NotFound(f"the operation has no resource {resource!r}{hint}")

    def _state(self, node: NodeFact) -> str:
        if is_counter(node):
            return counter_state(node, self.facts.operation)
        is_over = not is_under_way(self.facts.operation)
        return state_of(node, self.events.get(node.no, ()), is_over=is_over)

    def _vertex(self, node: NodeFact, layer: int) -> Vertex:
        if is_counter(node):
            state = self.states[node.no]
            return Vertex(
                no=node.no, kind=JOIN, name="", type="", phase=JOIN, action="", state=state, layer=layer
            )
        events, state = self.events.get(node.no, ()), self.states[node.no]
        return Vertex.of(
            node,
            name=node.key,
            phase=phase_of(node),
            state=state,
            attempt=tries_of(node, events),
            worker=node.worker or "",
            reason=reason_of(node, self.facts.operation, state, events),
            hook=node.hook or "",
            layer=layer,
        )


def picture_of(
    facts: Facts, *, part: str | None = None, focus: str | int | None = None, depth: int = 1
) -> GraphPicture:
    """Return an operation's graph with positions.

    Args:
        facts: The operation.
        part: ``all`` or ``groups``; None for all, or for groups if there are more than ``MOST_VERTICES``.
        focus: The name of a resource, or its vertex's number, whose neighbourhood is returned, whatever ``part``.
        depth: The largest distance from the focus, in edges.

    Raises:
        NotFound: the operation has no such resource; the nearest name is given.
        InvalidInput: there is no such part, or the depth is negative.
    """
    _refuse(part, depth)
    seen = ObservedOperation(facts)
    if part is None:
        part = ALL if len(seen.wiring.nodes) <= MOST_VERTICES else GROUPS
    counts = seen.counts()
    picture = GraphPicture.of(facts, part=part, total=sum(counts.values()), counts=counts)
    if focus is not None:
        return _focused(picture, seen, seen.find(focus).no, depth)
    if part == GROUPS:
        groups, edges = groups_of(seen.vertices, seen.wiring)
        return replace(picture, groups=groups, group_edges=edges)
    return _drawn(picture, seen, tuple(seen.wiring.nodes))


def _refuse(part: str | None, depth: int) -> None:
    problems = []
    if part not in (None, ALL, GROUPS, FOCUS):
        problems.append(Problem(path="part", message=f"expected {ALL} or {GROUPS}, found {part!r}"))
    if depth < 0:
        problems.append(Problem(path="depth", message=f"expected 0 or more, found {depth}"))
    if problems:
        raise InvalidInput(problems)


def _focused(picture: GraphPicture, seen: ObservedOperation, focus: int, depth: int) -> GraphPicture:
    near = tuple(seen.wiring.neighbourhood(focus, depth))
    shown = tuple(sorted(near[:MOST_VERTICES]))
    focused = replace(picture, part=FOCUS, focus=focus, depth=depth, omitted=len(near) - len(shown))
    return _drawn(focused, seen, shown)


def _drawn(picture: GraphPicture, seen: ObservedOperation, shown: Sequence[int]) -> GraphPicture:
    chosen = frozenset(shown)
    edges = seen.wiring.edges
    if len(chosen) < len(seen.wiring.nodes):
        edges = tuple((one, other) for one, other in edges if one in chosen and other in chosen)
    places = lay_out(tuple(shown), edges).places
    vertices = tuple(replace(seen.vertices[no], x=places[no][0], y=places[no][1]) for no in shown)
    return replace(picture, vertices=vertices, edges=edges)
