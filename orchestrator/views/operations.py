"""What is shown of operations as they go: frozen values with plain fields, each with ``to_dict``.

Times are seconds since the epoch by the database's clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from orchestrator.views.stacks import View

#: The states of a vertex, in the order of its life. Those of a node in the store, told apart further: ``retrying`` and
#: ``held`` (at a hook) are waiting, ``unchanged`` is done; ``unreached`` is what was not done when all was over.
BLOCKED: Final = "blocked"
READY: Final = "ready"
RUNNING: Final = "running"
WAITING: Final = "waiting"
RETRYING: Final = "retrying"
HELD: Final = "held"
DONE: Final = "done"
UNCHANGED: Final = "unchanged"
FAILED: Final = "failed"
UNREACHED: Final = "unreached"
STATES: Final = (BLOCKED, READY, RUNNING, WAITING, RETRYING, HELD, DONE, UNCHANGED, FAILED, UNREACHED)
#: States in which nothing happens any more.
OVER: Final = frozenset({DONE, UNCHANGED, FAILED, UNREACHED})

#: States in which its action is under way, whoever began it.
BEGUN: Final = frozenset({RUNNING, WAITING, RETRYING})

#: What a vertex is: a resource, or a point where many edges meet and that stands for nothing itself.
RESOURCE, JOIN = "resource", "join"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationView(View):
    """One operation on a stack, as the head of every page about it tells it."""

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
    #: When it fails if it is not over by then.
    deadline: float | None
    #: Whether it is the one in force: the last.
    in_force: bool
    #: The stack's own state: ``CREATE_IN_PROGRESS``.
    stack_state: str
    #: The names and ids of the stacks that it is in, outermost first.
    within: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Vertex(View):
    """One node of an operation's graph, where it is drawn, and how far it is."""

    #: The node's number in its traversal; the same for as long as the traversal is kept.
    no: int
    kind: str = RESOURCE
    name: str
    type: str
    #: converge, cleanup, operate, or join.
    phase: str
    #: CREATE, UPDATE, DELETE ...
    action: str
    #: One of ``STATES``.
    state: str
    resource_id: str | None = None
    #: How often an action was begun (to look again at what is under way is none), and retries used up.
    attempt: int = 0
    retries: int = 0
    #: Which process works on it, or did last; empty if none has.
    worker: str = ""
    #: Why it is in this state, where that is known.
    reason: str = ""
    #: The hook at which it stands; empty for none.
    hook: str = ""
    physical_id: str | None = None
    #: The id of the stack that this resource is; None if it is none.
    nested_stack_id: str | None = None
    #: How many edges it is away at most from what requires nothing.
    layer: int = 0
    #: The middle of where it is drawn, left to right in widths of a box, and top to bottom in heights of one. Layers go
    #: down; a box is best ``layout.BOX_SHAPE`` times as wide as high.
    x: float = 0.0
    y: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(View):
    """All vertices of one layer and one type."""

    #: ``LAYER/TYPE``.
    id: str
    layer: int
    type: str
    #: How many are in each state.
    counts: Mapping[str, int]
    total: int
    x: float
    y: float
    #: The first few of them by name; those that failed come first.
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPicture(View):
    """An operation's graph with positions; an edge is (requirer, required), by ``no`` or by a group's ``id``."""

    operation: OperationView
    #: Which part of it: all, focus or groups.
    part: str
    #: The id of the last event that what is told here has in it; later ones may be in it, too.
    cursor: int
    #: When the facts were read.
    as_of: float
    #: Of the whole operation, whatever part is told: how many resources, and how many of them in each of ``STATES``.
    total: int
    counts: Mapping[str, int]
    #: Where ``part`` is all or focus.
    vertices: tuple[Vertex, ...] = ()
    edges: tuple[tuple[int, int], ...] = ()
    #: Where ``part`` is groups.
    groups: tuple[Group, ...] = ()
    group_edges: tuple[tuple[str, str], ...] = ()
    #: Of a focus: the vertex in its middle, and how many edges away others may be.
    focus: int | None = None
    depth: int | None = None
    #: Of a focus: how many vertices that near are left out, because nobody could look at so many.
    omitted: int = 0


#: What a span of a timeline tells: it waited for what it requires; was ready and in the queue; a worker was at work,
#: or the action was under way outside; after a failure it was being tried again; it stood at a hook.
SPAN_WAITING, SPAN_QUEUED, SPAN_RUNNING, SPAN_RETRYING, SPAN_HELD = (
    "waiting",
    "queued",
    "running",
    "retrying",
    "held",
)
SPANS: Final = (SPAN_WAITING, SPAN_QUEUED, SPAN_RUNNING, SPAN_RETRYING, SPAN_HELD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span(View):
    """A part of a bar."""

    #: One of ``SPANS``.
    kind: str
    start: float
    #: None: it goes on.
    end: float | None
    #: The attempt, from 1, that this is of; 0 before there is one.
    attempt: int = 0
    #: Why it ended, where that is known: what the attempt failed with.
    reason: str = ""
    worker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar(View):
    """One resource's part in an operation, from its beginning to its end; spans follow each other without gaps."""

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
    #: Whether it lies on the critical path: the chain of resources, each begun when the one before was done, that
    #: decided how long it all took.
    critical: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline(View):
    """When what was done in an operation; bars in the order in which they were begun, those not begun last."""

    operation: OperationView
    cursor: int
    as_of: float
    bars: tuple[Bar, ...]
    #: Numbers of the bars of the critical path, first to last, and how much of its time each kind of span took.
    critical: tuple[int, ...] = ()
    critical_seconds: Mapping[str, float] = field(default_factory=dict)
    #: Whether events of the operation have been removed: then spans are missing.
    trimmed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedView(View):
    """One failure."""

    no: int
    name: str
    type: str
    action: str
    reason: str
    #: When it failed; None if its event is gone.
    at: float | None
    attempts: int
    worker: str = ""
    physical_id: str | None = None
    #: The id of the stack that failed in its place; None if it is none.
    nested_stack_id: str | None = None
    #: How many resources were never begun because of it, and the names of the first of them.
    blocks: int = 0
    blocked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureView(View):
    """Why an operation failed: what failed while all that it required was done, the likely root first.

    The likely root is the one that failed first; of those at the same time, the one that blocks most.
    """

    operation: OperationView
    cursor: int
    as_of: float
    roots: tuple[FailedView, ...] = ()
    #: Other failures: of steps that were under way when the operation had failed already, and of what required a root.
    later: tuple[FailedView, ...] = ()
    #: How many resources were never begun.
    unreached: int = 0
    #: The chain of stacks in stacks down to where the likely root is: names of resources, outermost first, the last
    #: being that which failed by itself; the id of the stack that it is in, and how it failed. Empty if it is in this
    #: stack itself.
    path: tuple[str, ...] = ()
    path_stack_id: str | None = None
    innermost: FailedView | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StackSummary(View):
    """A stack as a list tells it."""

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
    #: How many of its resources are in each of ``STATES``; those in which none is are left out. Empty once purged.
    counts: Mapping[str, int]
    total: int
    done: int
    #: When something happened to it last, and how many retries its operation has used up.
    last_event_at: float | None
    retries: int
    parent_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StackPage(View):
    """One page of the list of stacks."""

    rows: tuple[StackSummary, ...]
    #: How many there are on all pages.
    total: int
    #: By state, of all that are not deleted: how many.
    states: Mapping[str, int]
    cursor: int
    as_of: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceDetails(View):
    """All that is shown of one resource in an operation; no value that a template hides."""

    operation: OperationView
    cursor: int
    as_of: float
    vertex: Vertex
    #: As the template has them, with functions in place of what they result in.
    properties: Mapping[str, object]
    requires: tuple[str, ...]
    required_by: tuple[str, ...]
    spans: tuple[Span, ...]
    #: The last few events about it, newest first: (id, at, state, reason).
    events: tuple[tuple[int, float, str, str], ...]
    #: When it is tried again, or looked at again at the latest; None where it does not wait for that.
    due_at: float | None = None
    created_at: float | None = None
    updated_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesView(View):
    """What one operation's definition changed of the one before it."""

    operation: OperationView
    #: The operation whose definition it is compared with; None for the first.
    before_id: str | None
    #: A unified diff of the templates, line by line; empty if they are the same.
    template: tuple[str, ...]
    #: (name, before, after); hidden ones are masked, and told as changed all the same.
    parameters: tuple[tuple[str, str, str], ...]
    #: (file, unified diff).
    files: tuple[tuple[str, tuple[str, ...]], ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessView(View):
    """A process of the engine that works, or did; as it said itself, and as its leases tell."""

    #: As leases name it.
    name: str
    #: worker, coordinator or embedded.
    kind: str
    host: str
    pid: int
    #: What Celery's tools call the worker that it belongs to; empty in embedded mode.
    celery_name: str
    version: str
    queues: tuple[str, ...]
    started_at: float
    #: When it said last that it is there, and how long ago that is.
    seen_at: float
    seen_seconds: float
    #: present, silent (not heard of for longer than a lease), or stopped (it said so).
    state: str
    #: What it works on now: (stack, stack id, resource, action, since when, when the lease ends).
    works_on: tuple[tuple[str, str, str, str, float | None, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StuckView(View):
    """Work that nobody does though somebody should, and why."""

    stack: str
    stack_id: str
    resource: str
    action: str
    #: lost (its lease is over), undelivered (nobody claims it), or overdue (it was to be looked at again).
    why: str
    #: For how long.
    seconds: float
    worker: str = ""
