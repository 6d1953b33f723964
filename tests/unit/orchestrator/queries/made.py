"""Facts made by hand, as the store would tell them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from orchestrator.views.facts import EventFact, Facts, NodeFact
from orchestrator.views.operations import OperationView

#: When the operation began, and when it is looked at.
BEGUN_AT, NOW = 1000.0, 1100.0

OPERATION = OperationView(
    stack="s",
    stack_id="stack-id",
    project="default",
    traversal_id="traversal-id",
    action="CREATE",
    status="IN_PROGRESS",
    reason="",
    begun_at=BEGUN_AT,
    ended_at=None,
    deadline=None,
    in_force=True,
    stack_state="CREATE_IN_PROGRESS",
)


def failed_at(at: float) -> OperationView:
    """Return an operation that failed."""
    return replace(OPERATION, status="FAILED", ended_at=at, stack_state="CREATE_FAILED")


def node(no: int, key: str = "", **fields: Any) -> NodeFact:
    """Return a node that is blocked, of a resource that has not begun, unless ``fields`` say otherwise."""
    key = key or f"r{no}"
    values: dict[str, Any] = {
        "phase": "converge",
        "action": "CREATE",
        "state": "blocked",
        "dependents": (),
        "quiet": False,
        "attempt": 0,
        "retries": 0,
        "due_at": None,
        "hook": None,
        "worker": None,
        "resource_id": f"id-{key}",
        "type": "Cloud::Object",
    }
    return NodeFact(no=no, key=key, **{**values, **fields})


def join(no: int, **fields: Any) -> NodeFact:
    """Return a point where edges meet."""
    values = {"phase": "join", "action": "", "resource_id": None, "type": "", **fields}
    return node(no, f"join-{no}", **values)


def end(no: int) -> NodeFact:
    """Return the node that ends a traversal."""
    return node(no, "", phase="end", action="", resource_id=None, type="")


def wired(nodes: Sequence[NodeFact], requires: Mapping[int, Sequence[int]]) -> tuple[NodeFact, ...]:
    """Return nodes with the dependents that they have if each requires others so."""
    return tuple(
        replace(each, dependents=tuple(sorted(no for no, others in requires.items() if each.no in others)))
        for each in nodes
    )


def event(no: int, at: float, resource: str, state: str, reason: str = "", **fields: Any) -> EventFact:
    """Return an event; ``state`` is as ``CREATE_FAILED``."""
    action, _, status = state.partition("_")
    values = {"resource_id": f"id-{resource}", "action": action, "status": status, "reason": reason, **fields}
    return EventFact(id=no, at=at, resource=resource, **values)


def facts(
    nodes: Sequence[NodeFact], events: Sequence[EventFact] = (), operation: OperationView = OPERATION
) -> Facts:
    """Return the facts of an operation as it is now."""
    return Facts(operation=operation, nodes=tuple(nodes), events=tuple(events), cursor=0, as_of=NOW)


@st.composite
def graphs(draw: st.DrawFn, most: int = 40) -> dict[int, tuple[int, ...]]:
    """Draw a graph without circles: for each number those that it requires, all of them lower."""
    count = draw(st.integers(1, most))
    return {
        no: tuple(sorted(draw(st.sets(st.integers(0, no - 1), max_size=4)))) if no else ()
        for no in range(count)
    }
