"""What the store tells of one operation, as pictures are made of it: frozen, without any value of a resource."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.views.operations import OperationView

#: Why an event was written down, where nothing changed its state: a step went wrong and is taken again, or the worker
#: that took it was not heard of any more.
RETRY, LOST = "retry", "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFact:
    """One node of a traversal, with what is known of its resource."""

    no: int
    key: str
    #: converge, cleanup, operate, join or end.
    phase: str
    action: str
    #: blocked, ready, running, waiting, done or failed; or superseded: a later operation took over before it was done.
    state: str
    #: Numbers of the nodes that are counted down when this one is done.
    dependents: tuple[int, ...]
    quiet: bool
    attempt: int
    retries: int
    due_at: float | None
    hook: str | None
    #: Who works on it, or did last.
    worker: str | None
    resource_id: str | None = None
    type: str = ""
    #: Action and status of the resource now.
    resource_action: str = ""
    resource_status: str = ""
    reason: str = ""
    physical_id: str | None = None
    nested_stack_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFact:
    """One event of the traversal about a resource."""

    id: int
    at: float
    resource: str
    resource_id: str | None
    action: str
    status: str
    reason: str
    #: RETRY, LOST, or empty: its state changed.
    cause: str = ""
    #: Whose attempt it tells of; empty where nobody knows.
    worker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One operation as it was at one moment; events in the order of their ids."""

    operation: OperationView
    nodes: Sequence[NodeFact]
    events: Sequence[EventFact]
    #: No event with an id up to this one is missing. It was taken before the rest was read.
    cursor: int
    as_of: float
    #: Whether events of the operation, or its nodes, have been removed.
    trimmed: bool = False
