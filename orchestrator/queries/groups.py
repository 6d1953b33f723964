"""A graph of groups, for graphs too large to show whole: one box for all resources of one layer and one type."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from orchestrator.queries.layout import lay_out_layers
from orchestrator.views.operations import Group, Vertex
from orchestrator.views.vertex_states import FAILED, RESOURCE, STATES
from orchestrator.views.wiring import Wiring

#: The most resources that a group names.
_NAMED: Final = 5


def groups_of(
    vertices: Mapping[int, Vertex], wiring: Wiring
) -> tuple[tuple[Group, ...], tuple[tuple[str, str], ...]]:
    """Return all groups in the order of layers and types, and the edges between them, (requirer, required)."""
    members: dict[tuple[int, str], list[Vertex]] = {}
    for vertex in vertices.values():
        if vertex.kind == RESOURCE:
            members.setdefault((vertex.layer, vertex.type), []).append(vertex)
    keys = sorted(members)
    number = {key: index for index, key in enumerate(keys)}
    group_of = {vertex.no: number[key] for key, group in members.items() for vertex in group}
    edges = sorted(set(_edges(wiring, group_of)))
    # Layers that have only joins are left out.
    rows = {layer: row for row, layer in enumerate(sorted({layer for layer, _ in keys}))}
    places = lay_out_layers({number[key]: rows[key[0]] for key in keys}, edges).places
    groups = tuple(_group(key, members[key], places[number[key]]) for key in keys)
    return groups, tuple((groups[one].id, groups[other].id) for one, other in edges)


def _edges(wiring: Wiring, group_of: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the edges between groups, also those through joins; an edge may come several times."""
    #: The groups that are required through a join, by its number.
    through: dict[int, frozenset[int]] = {}
    for no in wiring.in_order:
        required: set[int] = set()
        for other in wiring.requirements[no]:
            if other in group_of:
                required.add(group_of[other])
            else:
                required |= through[other]
        if no in group_of:
            yield from ((group_of[no], other) for other in required)
        else:
            through[no] = frozenset(required)


def _group(key: tuple[int, str], members: Sequence[Vertex], place: tuple[float, float]) -> Group:
    layer, kind = key
    counts = Counter(vertex.state for vertex in members)
    first = sorted(members, key=lambda vertex: (vertex.state != FAILED, vertex.name, vertex.no))
    return Group(
        id=f"{layer}/{kind}",
        layer=layer,
        type=kind,
        counts={state: counts[state] for state in STATES},
        total=len(members),
        x=place[0],
        y=place[1],
        names=tuple(vertex.name for vertex in first[:_NAMED]),
    )
