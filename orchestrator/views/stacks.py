"""Views of stacks: frozen values with plain fields, each with ``to_dict`` for ``-f json``.

Times are seconds since the epoch by the database's clock, and ISO 8601 in what ``to_dict`` returns.
"""

from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass
from typing import Any

from hooks.values.dataclass import dataclass
from orchestrator.errors import Problem
from orchestrator.model.record import Record
from orchestrator.views.times import time_or_value


class View(Record):
    """Base of all views."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types; times are ISO 8601 in UTC."""
        return _fields(self)


def _fields(value: Any) -> dict[str, Any]:
    return {
        field.name: time_or_value(field.name, _plain(getattr(value, field.name))) for field in fields(value)
    }


def _plain(value: Any) -> Any:
    """Return a copy in plain types; keys of maps are never taken for fields: users may have put them in."""
    if is_dataclass(value):
        return _fields(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        copied = map(_plain, value)
        return list(copied) if isinstance(value, list) else tuple(copied)
    return value


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
    """One output; ``error`` is the reason of a missing value, and otherwise empty."""

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
    #: The user's tags, in their order.
    tags: tuple[str, ...] = ()
    created_at: float
    updated_at: float
    #: None for a stack that is not deleted.
    deleted_at: float | None = None
    traversal_id: str
    timeout_minutes: float
    #: Whether a failure of its last definition rolls it back.
    rollback: bool = False
    #: Whether an operator protects it against deletion.
    protected: bool = False
    #: The names of the resources that are not as its definition has them, or may not be, after an update with targets.
    partial: tuple[str, ...] = ()
    #: The parent stack; None if it is not nested.
    parent_id: str | None = None
    #: The outermost stack, and the depth of nesting.
    root_id: str = ""
    depth: int = 0
    #: Hidden ones are masked.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: Only for a single stack.
    outputs: tuple[OutputView, ...] = ()
    #: Whether all that its definition wants is made, though it may still be cleaned up; only for a single stack.
    in_service: bool | None = None
    #: The last annotations of lifecycle plugins, by plugin; only for a single stack.
    annotations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: Of a rollback: the operation that it takes back, and why; only for a single stack. Empty otherwise.
    rolled_back: str = ""
    #: Whether it, or a stack nested in it, has read a value of another stack's output that is outdated.
    stale: bool = False
    #: The stacks of the project whose values of its outputs are outdated; only for a single stack.
    stale_readers: tuple[str, ...] = ()
    #: Warnings about deprecated parts of its definition; only for a single stack, or as an operation begins.
    warnings: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceView(StatefulView):
    """One resource; ``requires`` has the names of its requirements."""

    name: str
    #: In lists with nested stacks: the resources that it is nested in, outermost first.
    within: tuple[str, ...] = ()
    type: str
    uuid: str
    physical_id: str | None
    action: str
    status: str
    reason: str = ""
    #: Whether an operator marked it so: the next update replaces it.
    unhealthy: bool = False
    #: Whether an operator protects it against deletion and replacement.
    protected: bool = False
    #: The hook at which it stands; None for none.
    hook: str | None = None
    requires: tuple[str, ...] = ()
    #: The properties that were applied last, parts that may be secrets masked; only for a single resource.
    properties: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    #: Why attributes could not be read, where they were read from the object.
    attribute_errors: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    #: The last annotations of lifecycle plugins, by plugin.
    annotations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    created_at: float
    updated_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotView(StatefulView):
    """One snapshot of a stack; action and status are its own: ``CREATE_COMPLETE`` once it is taken."""

    id: str
    #: May be empty.
    name: str
    action: str
    status: str
    reason: str
    created_at: float
    #: The name and type of each resource in it; only for a single snapshot.
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
    #: Why there is an event without a change of state: ``retry`` (a step failed, and is tried again) or ``lost`` (the
    #: lease of its worker expired, and another worker continues); otherwise empty.
    cause: str = ""
    #: The process of the engine whose attempt it records; empty for none.
    worker: str = ""
    #: The user who began the operation, or did to the resource what it records; empty for what the engine did.
    user: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraversalView(StatefulView):
    """One operation on a stack, in progress or finished; times are seconds since the epoch by the database's clock."""

    id: str
    stack: str
    stack_id: str
    action: str
    #: IN_PROGRESS, COMPLETE, FAILED or SUPERSEDED (by another operation, while it was in progress).
    status: str
    reason: str
    #: The user who began it; empty where the engine did, such as a rollback after a failure.
    user: str = ""
    #: Why the user began it; empty if the user did not say.
    comment: str = ""
    #: The definition that it gives the stack.
    template_id: str
    begun_at: float
    #: None while it is in progress, as is the duration.
    ended_at: float | None
    duration_seconds: float | None
    #: The number of resources that it made or adopted, changed in place (suspended and resumed ones included),
    #: replaced, and deleted, and of failed actions.
    made: int
    changed: int
    replaced: int = 0
    deleted: int
    failed: int
    #: The number of resources in each state, as in ``Progress``; only for a single operation. Empty once purged.
    nodes: Mapping[str, int] = field(default_factory=dict)
    #: The id of the saved plan that it applied, and the user who had made that; empty for none.
    plan: str = ""
    planned_by: str = ""
    #: The targets of an update, and the resources whose replacement was requested.
    targets: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    #: The calls of lifecycle plugins, in the order of ``pre_op``; only for a single operation.
    plugins: "tuple[PluginCallView, ...]" = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginCallView(View):
    """The calls of one lifecycle plugin about an operation."""

    plugin: str
    #: asking, agreed, refused or late (timed out) in ``pre_op``; telling or told in ``post_op``.
    state: str
    #: The error that ``post_op`` raised.
    error: str
    warnings: tuple[str, ...]
    #: How long ``pre_op`` and ``post_op`` took; None if not called.
    asked_seconds: float | None
    told_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookView(View):
    """A resource that stands at a hook; ``since`` in seconds since the epoch, by the database's clock."""

    #: Its name; in a nested stack, with those of the resources that it is nested in before it, separated by slashes.
    resource: str
    uuid: str
    #: ``pre-create`` and others.
    kind: str
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(View):
    """The progress of a stack's operation."""

    stack: StackView
    #: The number of resources in each of :data:`~orchestrator.views.vertex_states.STATES`, nested stacks included,
    #: without states that none is in.
    counts: Mapping[str, int]
    #: The names of at most ten active resources, running ones before waiting ones.
    running: tuple[str, ...]
    total: int
    done: int
    finished: bool
    #: The hooks at which resources stand.
    hooks: tuple[HookView, ...] = ()
    #: Why active resources are not done yet, if known.
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
    #: Those of the edges that are not in the template, but added by the type of the requirer.
    implied: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateView(View):
    """The contents of a valid template."""

    #: The template's version, by its date.
    version: str
    description: str
    #: For each: name, type, label, description, default, hidden, immutable, tags, constraints (in words), required
    #: (whether it has neither a value nor a default), value (hidden ones masked).
    parameters: tuple[Mapping[str, Any], ...]
    #: For each: label, description, parameters (names).
    parameter_groups: tuple[Mapping[str, Any], ...]
    #: The results by name; null if one depends on a parameter without a value.
    conditions: Mapping[str, bool | None]
    #: The name and type of each resource whose condition holds.
    resources: tuple[tuple[str, str], ...]
    #: The names of the resources whose condition does not hold.
    disabled: tuple[str, ...]
    outputs: tuple[str, ...]
    #: Warnings about deprecated parts.
    warnings: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcePreview(View):
    """One resource of a stack that would be created."""

    name: str
    #: The type in the template, and the one that the environment maps it to: a type, or a template's file.
    type: str
    actual_type: str
    #: CREATE, or ADOPT for an existing object.
    action: str
    #: Resolved, as far as possible before resources exist; unknown and secret values are described in words.
    properties: Mapping[str, Any]
    requires: tuple[str, ...]
    #: Those of ``requires`` that are not in the template, but added by the resource's type.
    implied: tuple[str, ...] = ()
    deletion_policy: str
    #: The resources of the template that is its type, if it is one.
    resources: "tuple[ResourcePreview, ...]" = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StackPreview(View):
    """The stack that a create would make."""

    name: str
    description: str
    tags: tuple[str, ...] = ()
    #: Hidden ones are masked.
    parameters: Mapping[str, Any]
    resources: tuple[ResourcePreview, ...]
    #: The names of the resources whose condition does not hold.
    disabled: tuple[str, ...]
    #: Resolved, as far as possible before resources exist; unknown and secret values are described in words.
    outputs: Mapping[str, Any]
    #: Warnings about deprecated parts of the template, and those of lifecycle plugins.
    warnings: tuple[Problem, ...] = ()
    #: The annotations of lifecycle plugins, by plugin, and by resource (those of the stack under "").
    annotations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartChange(View):
    """The change of one part of a property that is a map or a list; values as in :class:`PropertyChange`."""

    #: The path from the property's name: ``networks[0].port``.
    path: str
    #: None for a part that is not there.
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyChange(View):
    """The change of one property by an update."""

    name: str
    #: Parts that may be secret, or are known only during the update, are described in words.
    before: Any
    after: Any
    #: The effect of the change: UPDATE (in place), REPLACE or REFUSE.
    meaning: str
    #: Whether it changes for certain, or only if a requirement turns out to have changed.
    is_certain: bool
    #: Of a map or a list: the parts that change, or may; empty where it changes as a whole.
    parts: tuple[PartChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcePlan(View):
    """The effect of an update on one resource."""

    name: str
    type: str
    #: CREATE, UPDATE (in place), REPLACE, DELETE, UNCHANGED, DEPENDS (changes only if a requirement changes, or if the
    #: real object was changed), or REFUSE.
    action: str
    reason: str = ""
    changes: tuple[PropertyChange, ...] = ()
    #: The actions that may be taken instead of ``action``, once values are known; ``reason`` says why.
    may: tuple[str, ...] = ()
    #: The present name of a resource that is moved; empty for others.
    moved_from: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatePlan(View):
    """The effect of an update, as far as it is known beforehand."""

    name: str
    #: The present state.
    state: str
    #: The tags after the update.
    tags: tuple[str, ...] = ()
    #: The parameters after the update, hidden ones masked.
    parameters: Mapping[str, Any]
    #: The desired resources, each after its requirements; then those to be deleted. With targets, those that it visits.
    resources: tuple[ResourcePlan, ...]
    #: Its targets, and the resources whose replacement was requested.
    targets: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    #: The other resources that are not as the definition has them afterwards, or may not be.
    partial: tuple[str, ...] = ()
    #: Whether anything of the stack changes, or may: its resources, tags, parameters, description or outputs, or its
    #: state, where the last operation did not complete.
    has_changes: bool = True
    #: Warnings about deprecated parts of the new definition, and those of lifecycle plugins.
    warnings: tuple[Problem, ...] = ()
    #: The annotations of lifecycle plugins, by plugin, and by resource (those of the stack under "").
    annotations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
