"""Facts of one operation as the store reads them, from which views are made; without values of resources."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hooks.values.dataclass import dataclass
from orchestrator.model.record import Record

if TYPE_CHECKING:
    from orchestrator.views.operations import OperationView

#: The causes of events that do not change a state: a step failed and is tried again, or the lease of its worker
#: expired.
RETRY, LOST = "retry", "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFact(Record):
    """One node of a traversal, with columns of its resource."""

    no: int
    key: str
    #: converge, cleanup, operate, join or end.
    phase: str
    action: str
    #: blocked, ready, running, waiting, done or failed; or superseded: a later operation took over before it was done.
    state: str
    #: Numbers of the nodes that this one counts down when it is done.
    dependents: tuple[int, ...]
    quiet: bool
    attempt: int
    retries: int
    due_at: float | None
    hook: str | None
    #: The process that works on it, or worked on it last.
    worker: str | None
    resource_id: str | None = None
    type: str = ""
    #: The resource's present action and status.
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
    #: RETRY, LOST, or empty if the state changed.
    cause: str = ""
    #: The process whose attempt it records; empty if unknown.
    worker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One operation at one moment, with its nodes, and its events in the order of their ids."""

    operation: "OperationView"
    nodes: Sequence[NodeFact]
    events: Sequence[EventFact]
    #: The id up to which no event is missing, read before the rest.
    cursor: int
    as_of: float
    #: Whether events or nodes of the operation are purged.
    trimmed: bool = False
