"""Views of the page about one resource: its present state, the attempts at its actions, and what steps reported."""

from dataclasses import dataclass
from typing import Any

from orchestrator.views.drift import DriftView
from orchestrator.views.operations import OperationView, ResourceDetails
from orchestrator.views.stacks import ResourceView, View


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView(View):
    """One attempt at an action on a resource, from its events."""

    #: The operation: its id, its action and status, and the user who began it; empty where it is purged.
    traversal_id: str
    operation: str = ""
    user: str = ""
    #: CREATE, UPDATE, DELETE ...
    action: str
    #: From 1, by operation and action.
    number: int
    #: The process that made it; empty if unknown.
    worker: str = ""
    #: When it began: for a retry when the attempt before it ended, with the pause between them. None if unknown.
    begun_at: float | None
    #: None while it lasts.
    ended_at: float | None
    #: complete, failed, retry (it failed, and was followed by another one), lost (the lease of its worker expired),
    #: replaced (another resource took its place), left (its operation ended before it), or empty while it lasts.
    outcome: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentOutput(View):
    """What a server reported of a software deployment."""

    status: str
    status_reason: str
    server_id: str
    updated_at: float | None
    #: (name, value), such as ``deploy_stdout``.
    outputs: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLineView(View):
    """A line that a step logged; its time is that of the worker's clock."""

    at: float
    level: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLogView(View):
    """The lines that one step of a resource logged, without secrets."""

    #: The operation's id.
    traversal_id: str
    action: str
    worker: str
    #: When they were recorded, at the end of the step.
    at: float
    lines: tuple[LogLineView, ...]
    #: The number of further lines, for which there was no room.
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcePage(View):
    """One resource as its page shows it."""

    #: The operation that is shown, and the user who began it.
    operation: OperationView
    user: str
    cursor: int
    as_of: float
    name: str
    type: str
    #: Its part in the operation; None if it has none.
    details: ResourceDetails | None
    #: Since when it is in its state; None if unknown.
    since: float | None
    #: Its row as ``isotherm stack resource show`` has it; None if it is gone, in past operations, and for visitors who
    #: see no values.
    resource: ResourceView | None
    shows_values: bool
    #: The address of its object in another system's console, by the setting ``console_links``; empty for none.
    console: str = ""
    #: Newest first; ``more`` is true if events that record earlier ones were not read.
    attempts: tuple[AttemptView, ...]
    more: bool
    deployment: DeploymentOutput | None = None
    #: How its object differs from what is recorded; empty where values are not shown.
    drift: tuple[DriftView, ...] = ()
    #: The newest step first; none for visitors who see no values.
    logs: tuple[StepLogView, ...] = ()
