"""Views of operations: graphs, timelines, failures, changes, lists of stacks, and processes.

Times are seconds since the epoch by the database's clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.views.stacks import View
from orchestrator.views.times import iso
from orchestrator.views.usual import UsualView


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationView(View):
    """One operation on a stack, as in the head of every page about it."""

    stack: str
    stack_id: str
    project: str
    traversal_id: str
    action: str
    #: IN_PROGRESS, COMPLETE, FAILED or SUPERSEDED.
    status: str
    reason: str
    begun_at: float
    #: None while it is under way.
    ended_at: float | None
    #: When it times out.
    deadline: float | None
    #: The user who began it, and why, if the user said so; empty where the engine did.
    user: str = ""
    comment: str = ""
    #: Whether it is the stack's operation in force, the last one.
    in_force: bool
    #: The stack's own state: ``CREATE_IN_PROGRESS``.
    stack_state: str
    #: The names and ids of the stacks that the stack is nested in, outermost first.
    within: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Vertex(View):
    """One resource in an operation's graph, with its state."""

    #: The node's number in its traversal, which does not change.
    no: int
    name: str
    type: str
    #: converge, cleanup or operate.
    phase: str
    #: CREATE, UPDATE, DELETE ...
    action: str
    #: One of ``STATES``.
    state: str
    resource_id: str | None = None
    #: How often an action was begun (checks of an action under way do not count), and the retries used.
    attempt: int = 0
    retries: int = 0
    #: The process that works on it, or worked on it last; empty for none.
    worker: str = ""
    #: Why it is in this state, where that is known.
    reason: str = ""
    #: The hook at which it stands; empty for none.
    hook: str = ""
    physical_id: str | None = None
    #: The id of the resource's nested stack; None for none.
    nested_stack_id: str | None = None
    #: The greatest number of resources one after the other that it waits for.
    layer: int = 0
    #: The number of the vertex that replaces it, if this is the deletion of what is replaced: both are one box.
    replaced_by: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(View):
    """All vertices of one layer and one type."""

    #: ``LAYER/TYPE``.
    id: str
    layer: int
    type: str
    #: The number in each state.
    counts: Mapping[str, int]
    total: int
    #: The first few names; failed ones come first.
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPicture(View):
    """An operation's graph; an edge is (requirer, required), by ``no`` or by a group's ``id``.

    What is replaced has no edge of its own: it is deleted last, when nothing requires it any more.
    """

    operation: OperationView
    #: The part of the graph: all, focus or groups.
    part: str
    #: The id of the last event that is surely considered here; later ones may be as well.
    cursor: int
    #: When the facts were read.
    as_of: float
    #: The number of resources of the whole operation, and of those in each of ``STATES``, whatever the part.
    total: int
    counts: Mapping[str, int]
    #: For the parts all and focus.
    vertices: tuple[Vertex, ...] = ()
    edges: tuple[tuple[int, int], ...] = ()
    #: For the part groups.
    groups: tuple[Group, ...] = ()
    group_edges: tuple[tuple[str, str], ...] = ()
    #: For a focus: the central vertex, and the largest distance of others in edges.
    focus: int | None = None
    depth: int | None = None
    #: For a focus: the number of vertices within that distance that are left out, because they are too many to show.
    omitted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Span(View):
    """A part of a bar."""

    #: One of ``SPANS``.
    kind: str
    start: float
    #: None while it lasts.
    end: float | None
    #: The number of its attempt, from 1; 0 before the first.
    attempt: int = 0
    #: Why it ended, if known: the error of the attempt.
    reason: str = ""
    worker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar(View):
    """One resource in a timeline; its spans follow each other without gaps."""

    no: int
    name: str
    type: str
    phase: str
    action: str
    state: str
    reason: str = ""
    attempts: int = 0
    worker: str = ""
    spans: tuple[Span, ...] = ()
    #: Whether it is on the critical path: the chain of resources, each begun when the one before was done, that
    #: determined the duration of the operation.
    critical: bool = False
    #: As in ``Vertex``: the bar of what is replaced belongs to the one that replaces it.
    replaced_by: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline(View):
    """The timeline of an operation; bars in the order in which they were begun, those not begun last."""

    operation: OperationView
    cursor: int
    as_of: float
    bars: tuple[Bar, ...]
    #: The numbers of the bars on the critical path, first to last, and its seconds by kind of span.
    critical: tuple[int, ...] = ()
    critical_seconds: Mapping[str, float] = field(default_factory=dict)
    #: Whether events of the operation are purged, so that spans are missing.
    trimmed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedView(View):
    """One failure."""

    no: int
    name: str
    type: str
    action: str
    reason: str
    #: When it failed; None if its event is purged.
    at: float | None
    attempts: int
    worker: str = ""
    physical_id: str | None = None
    #: The id of its nested stack, which failed; None for none.
    nested_stack_id: str | None = None
    #: The number of resources that were never begun because of it, and the first of their names.
    blocks: int = 0
    blocked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureView(View):
    """Why an operation failed: the failures of resources whose requirements were done, the likely root first.

    The likely root is the first failure; among simultaneous ones, the one that blocks most resources.
    """

    operation: OperationView
    cursor: int
    as_of: float
    roots: tuple[FailedView, ...] = ()
    #: Other failures: of steps under way when the operation had failed already, and of dependents of a root.
    later: tuple[FailedView, ...] = ()
    #: The number of resources that were never begun.
    unreached: int = 0
    #: The path through nested stacks to the likely root: names of resources, outermost first, the last one being the
    #: root itself; the id of its stack, and its failure. Empty if the root is in this stack itself.
    path: tuple[str, ...] = ()
    path_stack_id: str | None = None
    innermost: FailedView | None = None
    #: Of a rollback: the failure of the operation that it takes back, without roots if that was cancelled. None for
    #: other operations, and once that operation is purged.
    rolled_back: "FailureView | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StackSummary(View):
    """A stack in a list."""

    id: str
    name: str
    project: str
    state: str
    action: str
    status: str
    reason: str
    tags: tuple[str, ...]
    created_at: float
    updated_at: float
    deleted_at: float | None
    traversal_id: str
    #: When the operation in force began and ended; None while it is under way.
    begun_at: float
    ended_at: float | None
    #: Who began it, and why, in the user's words; empty where the engine did, and where the user did not say.
    user: str = ""
    comment: str = ""
    #: The number of its resources in each of ``STATES``, without states that none is in. Empty once purged.
    counts: Mapping[str, int]
    total: int
    done: int
    #: The time of its last event, and the retries that its operation has used.
    last_event_at: float | None
    retries: int
    parent_id: str | None = None
    #: Whether it, or something in it, is protected against deletion.
    protected: bool = False
    #: The number of its resources that are not as defined, or may not be, after an update with targets.
    left: int = 0
    #: How long its operation usually takes; None once that is over, and while too few like it are known.
    usual_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StackPage(View):
    """One page of the list of stacks."""

    rows: tuple[StackSummary, ...]
    #: The number of stacks on all pages.
    total: int
    #: The number of stacks that are not deleted, by state.
    states: Mapping[str, int]
    cursor: int
    as_of: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceDetails(View):
    """The details of one resource in an operation, without hidden values."""

    operation: OperationView
    cursor: int
    as_of: float
    vertex: Vertex
    #: As in the template, with unresolved functions.
    properties: Mapping[str, object]
    requires: tuple[str, ...]
    #: Those of ``requires`` that are not in the template, but added by the resource's type.
    implied: tuple[str, ...]
    required_by: tuple[str, ...]
    spans: tuple[Span, ...]
    #: While it is blocked: those of ``requires`` that are not done.
    waits_for: tuple[str, ...] = ()
    #: The last few events about it, newest first: (id, at, state, reason).
    events: tuple[tuple[int, float, str, str], ...]
    #: When it is tried again, or checked again at the latest; None if it waits for neither.
    due_at: float | None = None
    created_at: float | None = None
    updated_at: float | None = None
    #: How long the action usually takes on this resource; None while too little is known, and of past operations.
    usual: UsualView | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types; times are ISO 8601 in UTC."""
        events = tuple((id_, iso(at), state, reason) for id_, at, state, reason in self.events)
        return {**View.to_dict(self), "events": events}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesView(View):
    """The differences between an operation's definition and the one before it."""

    operation: OperationView
    #: The operation whose definition it is compared with; None for the first.
    before_id: str | None
    #: A unified diff of the templates, line by line; empty if they are the same.
    template: tuple[str, ...]
    #: (name, before, after) of changed parameters; hidden values are masked.
    parameters: tuple[tuple[str, str, str], ...]
    #: (file, unified diff).
    files: tuple[tuple[str, tuple[str, ...]], ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessView(View):
    """A process of the engine or of the API, by its own report and its leases."""

    #: The unique name, as in leases.
    name: str
    #: worker, coordinator, embedded or api.
    kind: str
    host: str
    pid: int
    #: The name of its Celery worker in Celery's tools; empty in embedded mode.
    celery_name: str
    version: str
    queues: tuple[str, ...]
    started_at: float
    #: When it last reported, and how long ago that is.
    seen_at: float
    seen_seconds: float
    #: present, silent (no report for longer than a lease), or stopped (in good order).
    state: str
    #: Its present work: (stack, stack id, resource, action, since when, end of the lease).
    works_on: tuple[tuple[str, str, str, str, float | None, float], ...] = ()
    #: Of the API: where it is reached, and a line for each of its last errors, the newest first.
    address: str = ""
    errors: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types; times are ISO 8601 in UTC."""
        works_on = tuple(
            (*names, None if since is None else iso(since), iso(until))
            for *names, since, until in self.works_on
        )
        return {**View.to_dict(self), "works_on": works_on}


@dataclass(frozen=True, slots=True, kw_only=True)
class StuckView(View):
    """Stuck work: a node that is lost, undelivered or overdue."""

    stack: str
    stack_id: str
    resource: str
    action: str
    #: lost (its lease has expired), undelivered (no worker claims it), or overdue (its next check is late).
    why: str
    #: How long it has been stuck.
    seconds: float
    worker: str = ""
