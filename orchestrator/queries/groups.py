"""A graph of groups, for graphs too large to show whole: one box for all resources of one layer and one type."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from orchestrator.queries.arrows import Arrows
from orchestrator.views.operations import Group, Vertex
from orchestrator.views.vertex_states import FAILED, STATES
from orchestrator.views.wiring import Wiring

#: The most resources that a group names.
_NAMED: Final = 5


def groups_of(
    vertices: Mapping[int, Vertex], wiring: Wiring, replaced: Mapping[int, int]
) -> tuple[tuple[Group, ...], tuple[tuple[str, str], ...]]:
    """Return all groups in the order of layers and types, and the edges between them, (requirer, required).

    What a resource replaces is in the resource's group.
    """
    members: dict[tuple[int, str], list[Vertex]] = {}
    for vertex in vertices.values():
        box = vertices[replaced.get(vertex.no, vertex.no)]
        members.setdefault((box.layer, box.type), []).append(vertex)
    keys = sorted(members)
    group_of = {
        vertex.no: number
        for number, key in enumerate(keys)
        for vertex in members[key]
        if vertex.no not in replaced
    }
    edges = Arrows(wiring, group_of, replaced).among(wiring.nodes.keys())
    groups = tuple(_group(key, members[key]) for key in keys)
    return groups, tuple((groups[one].id, groups[other].id) for one, other in edges)


def _group(key: tuple[int, str], members: Sequence[Vertex]) -> Group:
    layer, kind = key
    counts = Counter(vertex.state for vertex in members)
    first = sorted(members, key=lambda vertex: (vertex.state != FAILED, vertex.name, vertex.no))
    return Group(
        id=f"{layer}/{kind}",
        layer=layer,
        type=kind,
        counts={state: counts[state] for state in STATES},
        total=len(members),
        names=tuple(vertex.name for vertex in first[:_NAMED]),
    )
