"""An operation's graph: all of it, the neighbourhood of one resource, or groups of resources.

Where its boxes are drawn is worked out by the pages.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from hooks.values.nearest import did_you_mean
from orchestrator.errors import InvalidInput, NotFound, Problem
from orchestrator.model.messages import CLEANUP
from orchestrator.queries.arrows import Arrows, TooManyArrows, layers_of, replaced_in
from orchestrator.queries.groups import groups_of
from orchestrator.views.facts import EventFact, Facts, NodeFact
from orchestrator.views.operations import GraphPicture, Vertex
from orchestrator.views.states import (
    events_by_node,
    is_under_way,
    own_events,
    phase_of,
    reason_of,
    state_of,
    tries_of,
)
from orchestrator.views.vertex_states import STATES
from orchestrator.views.wiring import Wiring, is_counter

#: The parts of a graph.
ALL, FOCUS, GROUPS = "all", "focus", "groups"
#: A graph of more vertices is shown in groups unless all of it is requested; a focus has at most so many.
MOST_VERTICES: Final = 2000
#: A graph with more arrows is shown in groups, too: hundreds of resources that each require hundreds of others.
MOST_ARROWS: Final = 50_000


@dataclass(frozen=True)
class ObservedOperation:
    """An operation's facts, with values for each node that are computed from them once, at the first use."""

    facts: Facts

    @cached_property
    def wiring(self) -> Wiring:
        """The nodes with a resource, those between them, and their edges."""
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
        """The state of each resource's node."""
        is_over = not is_under_way(self.facts.operation)
        return {
            node.no: state_of(node, self.events.get(node.no, ()), is_over=is_over) for node in self.resources
        }

    @cached_property
    def replaced(self) -> Mapping[int, int]:
        """The number of the node that replaces it, by the number of a deletion."""
        return replaced_in(self.wiring)

    @cached_property
    def vertices(self) -> Mapping[int, Vertex]:
        """Every resource's node, with its layer."""
        layers = layers_of(self.wiring)
        return {node.no: self._vertex(node, layers[node.no]) for node in self.resources}

    @cached_property
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
        if number is not None and number in self.vertices:
            return self.wiring.nodes[number]
        names = sorted({node.key for node in self.resources})
        hint = did_you_mean(str(resource), names)
        raise NotFound(f"the operation has no resource {resource!r}{hint}")

    def _vertex(self, node: NodeFact, layer: int) -> Vertex:
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
            replaced_by=self.replaced.get(node.no),
        )


def picture_of(
    facts: Facts,
    *,
    part: str | None = None,
    focus: str | int | None = None,
    depth: int = 1,
    most: int = MOST_VERTICES,
) -> GraphPicture:
    """Return an operation's graph.

    Args:
        facts: The operation.
        part: ``all`` or ``groups``; None for all, or for groups if there are more than ``most`` vertices. A graph of
            more than ``MOST_ARROWS`` arrows is returned in groups in any case.
        focus: The name of a resource, or its vertex's number, whose neighbourhood is returned, whatever ``part``.
        depth: The largest distance from the focus, in edges.
        most: From how many vertices on groups are returned unless ``part`` says otherwise.

    Raises:
        NotFound: the operation has no such resource; the nearest name is given.
        InvalidInput: there is no such part, or the depth is negative.
    """
    _refuse(part, depth)
    seen = ObservedOperation(facts)
    if part is None:
        part = ALL if len(seen.resources) <= most else GROUPS
    counts = seen.counts()
    picture = GraphPicture.of(facts, part=part, total=sum(counts.values()), counts=counts)
    if focus is not None:
        return _focused(picture, seen, seen.find(focus).no, depth)
    if part == ALL:
        try:
            return _drawn(picture, seen, seen.wiring.nodes.keys())
        except TooManyArrows:
            picture = replace(picture, part=GROUPS)
    groups, edges = groups_of(seen.vertices, seen.wiring, seen.replaced)
    return replace(picture, groups=groups, group_edges=edges)


def _refuse(part: str | None, depth: int) -> None:
    problems = []
    if part not in (None, ALL, GROUPS, FOCUS):
        problems.append(Problem(path="part", message=f"expected {ALL} or {GROUPS}, found {part!r}"))
    if depth < 0:
        problems.append(Problem(path="depth", message=f"expected 0 or more, found {depth}"))
    if problems:
        raise InvalidInput(problems)


def _focused(picture: GraphPicture, seen: ObservedOperation, focus: int, depth: int) -> GraphPicture:
    middle = seen.replaced.get(focus, focus)
    near = _with_what_they_replace(seen, tuple(seen.wiring.neighbourhood(middle, depth)))
    shown = near[:MOST_VERTICES]
    while True:
        resources = len(seen.vertices.keys() & near) - len(seen.vertices.keys() & shown)
        focused = replace(picture, part=FOCUS, focus=middle, depth=depth, omitted=resources)
        try:
            return _drawn(focused, seen, frozenset(shown))
        except TooManyArrows:
            # The nearest come first.
            shown = shown[: len(shown) // 2]


def _with_what_they_replace(seen: ObservedOperation, near: Sequence[int]) -> tuple[int, ...]:
    """Return these numbers, each resource followed by the deletions in its box, and no such deletion without it."""
    deletions: dict[int, list[int]] = {}
    for old, new in seen.replaced.items():
        deletions.setdefault(new, []).append(old)
    boxes = dict.fromkeys(seen.replaced.get(no, no) for no in near)
    return tuple(each for no in boxes for each in (no, *deletions.get(no, ())))


def _drawn(picture: GraphPicture, seen: ObservedOperation, shown: Set[int]) -> GraphPicture:
    vertices = tuple(vertex for no, vertex in seen.vertices.items() if no in shown)
    boxes = {vertex.no: vertex.no for vertex in vertices if vertex.replaced_by is None}
    edges = Arrows(seen.wiring, boxes, seen.replaced).among(shown, most=MOST_ARROWS)
    return replace(picture, vertices=vertices, edges=edges)
