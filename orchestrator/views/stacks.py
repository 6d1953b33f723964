"""What the faces show of a stack: frozen values with plain fields, each with ``to_dict`` for ``-f json``."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from orchestrator.errors import Problem


class View:
    """Base of all views."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]  # every subclass is a dataclass


class StatefulView(View):
    """A view with an action and a status."""

    __slots__ = ()
    action: str
    status: str

    @property
    def state(self) -> str:
        """Action and status in Heat's spelling: ``CREATE_COMPLETE``."""
        return f"{self.action}_{self.status}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types, ``state`` among them."""
        return {**super().to_dict(), "state": self.state}


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputView(View):
    """One output; ``error`` says why there is no value, and is empty where there is one."""

    key: str
    description: str = ""
    value: Any = None
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StackView(StatefulView):
    """A stack; times are seconds since the epoch by the database's clock."""

    id: str
    name: str
    project: str
    action: str
    status: str
    reason: str = ""
    description: str = ""
    #: Words that people put on it, in their order.
    tags: tuple[str, ...] = ()
    created_at: float
    updated_at: float
    traversal_id: str
    timeout_minutes: float
    #: The stack that it is in; None if it is in none.
    parent_id: str | None = None
    #: The outermost stack that it is in, and how many it is in.
    root_id: str = ""
    depth: int = 0
    #: Hidden ones are masked.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: Filled only where one stack is asked for.
    outputs: tuple[OutputView, ...] = ()
    #: Whether all is there that its definition wants, though it may still be cleaned up after; as ``outputs``.
    in_service: bool | None = None
    #: What lifecycle plugins said of it last, by plugin; as ``outputs``.
    annotations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: What its definition uses that should not be used any more; as ``outputs``, and where it is being made or changed.
    warnings: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceView(StatefulView):
    """One resource; ``requires`` names what it depends on."""

    name: str
    #: In lists that look into stacks in stacks: the resources that it is in, outermost first.
    within: tuple[str, ...] = ()
    type: str
    uuid: str
    physical_id: str | None
    action: str
    status: str
    reason: str = ""
    #: Whether somebody said so: the next update replaces it.
    unhealthy: bool = False
    #: The hook at which it stands; None for none.
    hook: str | None = None
    requires: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    #: What lifecycle plugins said of it last, by plugin.
    annotations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    created_at: float
    updated_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotView(StatefulView):
    """One snapshot of a stack; action and status are its own: ``CREATE_COMPLETE`` once it is there."""

    id: str
    #: May be empty.
    name: str
    action: str
    status: str
    reason: str
    created_at: float
    #: Name and type of each resource of which it holds something; filled only where one snapshot is asked for.
    resources: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EventView(StatefulView):
    """One entry of the history; ``resource`` is empty for an event of the stack itself."""

    id: int
    at: float
    stack: str
    #: The traversal in which it happened.
    traversal_id: str
    resource: str
    #: The id of the resource's row; None for an event of the stack itself.
    resource_uuid: str | None
    type: str
    action: str
    status: str
    reason: str
    physical_id: str | None
    #: Why there is an event although the state did not change: ``retry`` (a step went wrong, and is tried again),
    #: ``lost`` (whoever was at it was not heard of any more, and others go on); else empty.
    cause: str = ""
    #: The process of the engine that was at it; empty where none was.
    worker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraversalView(StatefulView):
    """One operation on a stack, under way or over; times are seconds since the epoch by the database's clock."""

    id: str
    stack: str
    stack_id: str
    action: str
    #: IN_PROGRESS, COMPLETE, FAILED or SUPERSEDED (by another operation, while it was under way).
    status: str
    reason: str
    #: The definition that the stack was to have.
    template_id: str
    begun_at: float
    #: None while it is under way, as is the duration.
    ended_at: float | None
    duration_seconds: float | None
    #: How many resources were made or adopted, changed in place (suspended and resumed ones too), and deleted in it,
    #: and how many actions failed.
    made: int
    changed: int
    deleted: int
    failed: int
    #: How many resources are in each state, as of a progress; filled only where one is asked for. Empty once purged.
    nodes: Mapping[str, int] = field(default_factory=dict)
    #: In the order in which they were asked, what lifecycle plugins were asked and told; filled as the nodes are.
    plugins: "tuple[PluginCallView, ...]" = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginCallView(View):
    """What one lifecycle plugin was asked and told about an operation."""

    plugin: str
    #: asking, agreed, refused, late, telling or told.
    state: str
    #: What it raised when it was told.
    error: str
    warnings: tuple[str, ...]
    #: How long it took to answer, and to be told; None if it did not come to that.
    asked_seconds: float | None
    told_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookView(View):
    """A resource that stands at a hook; ``since`` in seconds since the epoch, by the database's clock."""

    #: Its name; in a stack in the stack, after those of the resources that it is in, with slashes between them.
    resource: str
    uuid: str
    #: ``pre-create`` and others.
    kind: str
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(View):
    """How far a traversal has come."""

    stack: StackView
    #: How many resources are in each of :data:`~orchestrator.views.operations.STATES`, those of the stacks in it among
    #: them; states in which none is are left out.
    counts: Mapping[str, int]
    #: Names of at most ten resources that are being worked on, running ones before waiting ones.
    running: tuple[str, ...]
    total: int
    done: int
    finished: bool
    #: Where resources stand until somebody lets them on.
    hooks: tuple[HookView, ...] = ()
    #: Of those that are being worked on, why they are not done yet, where that is known.
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode(View):
    """A resource in the graph, with its state (``INIT_COMPLETE`` before it was touched)."""

    name: str
    type: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphView(View):
    """The dependency graph; an edge is (requirer, required)."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateView(View):
    """What a valid template declares."""

    #: The template's version, by its date.
    version: str
    description: str
    #: Each: name, type, label, description, default, hidden, immutable, tags, constraints (in words), required (whether
    #: it has neither a value nor a default), value (as it would be, hidden ones masked).
    parameters: tuple[Mapping[str, Any], ...]
    #: Each: label, description, parameters (names).
    parameter_groups: tuple[Mapping[str, Any], ...]
    #: Name and verdict; null where that depends on a parameter without a value.
    conditions: Mapping[str, bool | None]
    #: Name and type of each resource that would be there.
    resources: tuple[tuple[str, str], ...]
    #: The names of the resources whose condition does not hold.
    disabled: tuple[str, ...]
    outputs: tuple[str, ...]
    #: What it uses that should not be used any more.
    warnings: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcePreview(View):
    """What would become of one resource."""

    name: str
    #: As the template says it, and what the environment makes of it: a type, or a template's file.
    type: str
    actual_type: str
    #: CREATE, or ADOPT for what exists already.
    action: str
    #: Resolved, as far as that is possible before anything exists; the rest, and what is secret, in words.
    properties: Mapping[str, Any]
    requires: tuple[str, ...]
    deletion_policy: str
    #: What the template is made of that the resource is made of.
    resources: "tuple[ResourcePreview, ...]" = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StackPreview(View):
    """What a create would make."""

    name: str
    description: str
    tags: tuple[str, ...] = ()
    #: Hidden ones are masked.
    parameters: Mapping[str, Any]
    resources: tuple[ResourcePreview, ...]
    #: The names of the resources whose condition does not hold.
    disabled: tuple[str, ...]
    #: Resolved, as far as that is possible before anything exists; the rest, and what is secret, in words.
    outputs: Mapping[str, Any]
    #: What the template uses that should not be used any more, and of what lifecycle plugins warn.
    warnings: tuple[Problem, ...] = ()
    #: What lifecycle plugins say of it, by plugin: of the stack, under "", and of resources, by their names.
    annotations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyChange(View):
    """How one property would change."""

    name: str
    #: What is secret, or known only during the update, is told in words.
    before: Any
    after: Any
    #: What the change means: UPDATE (in place), REPLACE or REFUSE.
    meaning: str
    #: Whether it changes for certain; else only if what it depends on turns out to have changed.
    is_certain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcePlan(View):
    """What an update would do with one resource."""

    name: str
    type: str
    #: CREATE, UPDATE (in place), REPLACE, DELETE, UNCHANGED, DEPENDS (only if what it depends on changes, or
    #: others changed it), or REFUSE.
    action: str
    reason: str = ""
    changes: tuple[PropertyChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatePlan(View):
    """What an update would do, as far as that can be told before."""

    name: str
    #: As it is now.
    state: str
    #: As they would be.
    tags: tuple[str, ...] = ()
    #: As they would be, hidden ones masked.
    parameters: Mapping[str, Any]
    #: What is to be there, each after what it requires; then what is to be deleted.
    resources: tuple[ResourcePlan, ...]
    #: What the new definition uses that should not be used any more, and of what lifecycle plugins warn.
    warnings: tuple[Problem, ...] = ()
    #: What lifecycle plugins say of it, by plugin: of the stack, under "", and of resources, by their names.
    annotations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
