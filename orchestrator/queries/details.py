"""The details of one resource in an operation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.errors import NotFound
from orchestrator.queries.graph import ObservedOperation
from orchestrator.queries.timeline import Moments
from orchestrator.queries.usual import usual_of
from orchestrator.views.facts import Facts, NodeFact
from orchestrator.views.operations import ResourceDetails
from orchestrator.views.vertex_states import BLOCKED, DONE, RETRYING, UNCHANGED, WAITING
from orchestrator.views.wiring import Wiring, is_counter

#: The most events that are shown.
_EVENTS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The stored data of a resource besides the facts of its operation."""

    #: The fragment of the template that is or was to be applied; None if unknown.
    fragment: Mapping[str, Any] | None = None
    created_at: float | None = None
    updated_at: float | None = None
    #: How many seconds the same action on it took in earlier operations, newest first.
    taken: Sequence[float] = ()


def node_of(facts: Facts, no: int) -> NodeFact:
    """Return the node of a resource.

    Raises:
        NotFound: the operation has no resource under this number.
    """
    for node in facts.nodes:
        if node.no == no and not is_counter(node):
            return node
    raise NotFound(f"the operation has no resource number {no}; its graph has the numbers of its resources")


def details_of(facts: Facts, no: int, recorded: Recorded) -> ResourceDetails:
    """Return the details of the resource with this number, which the operation must have (:func:`node_of`)."""
    seen = ObservedOperation(facts)
    wiring = seen.wiring
    happened = seen.happened.get(no, ())
    state = seen.vertices[no].state
    is_due = state in (WAITING, RETRYING)
    return ResourceDetails.of(
        facts,
        vertex=seen.vertices[no],
        properties=_properties(recorded.fragment),
        requires=_names(wiring, no, wiring.requirements),
        implied=tuple(_definition(recorded.fragment).get("i", ())),
        required_by=_names(wiring, no, wiring.dependents),
        spans=tuple(Moments(seen).spans.get(no, ())),
        waits_for=_left(seen, no) if state == BLOCKED else (),
        events=tuple(
            (event.id, event.at, f"{event.action}_{event.status}", event.reason)
            for event in reversed(happened[-_EVENTS:])
        ),
        due_at=node_of(facts, no).due_at if is_due and facts.operation.in_force else None,
        created_at=recorded.created_at,
        updated_at=recorded.updated_at,
        usual=usual_of(recorded.taken),
    )


def _definition(fragment: Mapping[str, Any] | None) -> Mapping[str, Any]:
    definition: Mapping[str, Any] = (fragment or {}).get("definition", {})
    return definition


def _properties(fragment: Mapping[str, Any] | None) -> Mapping[str, object]:
    """Return the properties as in the template, with unresolved functions."""
    properties = _definition(fragment).get("p", {})
    # A template may give all properties by one function.
    return properties if isinstance(properties, Mapping) else {"properties": properties}


def _names(wiring: Wiring, no: int, ties: Mapping[int, Sequence[int]]) -> tuple[str, ...]:
    """Return the names of other resources; the deletion of what a resource replaces is a part of that one."""
    names = {wiring.nodes[other].key for other in wiring.beyond_joins(no, ties)}
    return tuple(sorted(names - {wiring.nodes[no].key}))


def _left(seen: ObservedOperation, no: int) -> tuple[str, ...]:
    """Return the names of the requirements of a resource that are not done."""
    wiring, states = seen.wiring, seen.states
    required = wiring.beyond_joins(no, wiring.requirements)
    names = {wiring.nodes[each].key for each in required if states[each] not in (DONE, UNCHANGED)}
    return tuple(sorted(names - {wiring.nodes[no].key}))
