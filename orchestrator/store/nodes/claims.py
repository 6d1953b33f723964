"""The values that pass between a check and the store: what was claimed, what came of it, what became ready."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from orchestrator.model.messages import CheckOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """How long things may take; seconds."""

    #: How long a claim is good for without heartbeat.
    lease_seconds: float = 60.0
    #: When a ready node is published again.
    redeliver_seconds: float = 10.0
    #: When a node looks again whether an older traversal let go of its resource, should no wake-up come.
    locked_seconds: float = 5.0
    #: How long after its process died a job has come again, if it ever does.
    job_seconds: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A node that this worker, and nobody else, may take one step further until the lease ends."""

    order: CheckOrder
    #: The fence: what is finished under an older attempt changes nothing.
    attempt: int
    #: Whose it is.
    worker: str = ""
    #: What is to be done: CREATE, DELETE ...
    action: str
    #: What the plan says, or what came of it: that may have to wait until something else is over.
    planned: str = ""
    #: The database's time of the claim, seconds since the epoch.
    now: float
    retries: int
    fragment: Mapping[str, Any]
    #: The attributes that others ask of this resource.
    wanted: Sequence[Sequence[str | int]]
    dependents: tuple[int, ...]
    requirements: tuple[int, ...]
    resource_id: str
    type: str
    physical_id: str | None
    #: The node that it is on; None for what is on none.
    on_node: str | None = None
    #: The properties last applied; None before there were any.
    properties: Mapping[str, Any] | None
    data: dict[str, Any]
    metadata: dict[str, Any] | None
    token: Any
    #: Whether a step of this action left something behind for the next one.
    started: bool
    #: When the action under way was first claimed.
    started_at: float
    #: Action and status that the resource had before.
    was: tuple[str, str] = ("INIT", "COMPLETE")
    #: The properties that the action under way is bringing about, where they are not among ``properties`` yet.
    in_flight: Mapping[str, Any] | None = None
    #: The node data on record from before this traversal, on the wire; None if there is none.
    recorded: Sequence[Any] | None = None
    #: Ids of the rows that the resource required before.
    requires: tuple[str, ...] = ()
    #: Whether something that it requires ended with other data than are on record from before this traversal.
    changed: bool = False
    #: The hooks at which the node is still to stop.
    hooks: frozenset[str] = frozenset()
    #: Whether it is to stop before the action: nothing is begun, the row is as it was, and the step only looks.
    looks: bool = False


class Ending(StrEnum):
    """How a step ended."""

    DONE = "done"
    FAILED = "failed"
    #: The action is under way outside: look again later.
    WAITING = "waiting"
    #: It went wrong, and trying again may help.
    RETRY = "retry"
    #: The action is complete, but was begun for another definition: the node goes on with an update.
    NEXT = "next"
    #: The resource cannot become what is wanted: the node goes on with a new one in its place.
    REPLACE = "replace"
    #: It went wrong, and nothing else stops for it: the traversal tells in the end.
    FAULT = "fault"
    #: The action is to begin once a hook is cleared.
    PAUSED = "paused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a step left behind."""

    ending: Ending
    reason: str = ""
    #: WAITING and RETRY: when to go on.
    seconds: float = 0.0
    physical_id: str | None = None
    #: The node that the resource is on; None: that on record stays.
    on_node: str | None = None
    reference_id: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    token: Any = None
    #: RETRY: the action itself is over, or goes on by itself, and the next try goes on from its token.
    is_over: bool = False
    #: RETRY: whether it is one of the tries of which there are only so many.
    counts: bool = True
    #: WAITING, and RETRY once the action is over: what an update is bringing about.
    in_flight: Mapping[str, Any] | None = None
    #: The definition as it was applied; None: that on record stays.
    properties: Mapping[str, Any] | None = None
    definition_hash: str | None = None
    #: [[path, value], ...].
    attributes: Sequence[Any] = ()
    metadata: Mapping[str, Any] | None = None
    #: The fingerprint of ``metadata``: if it is not that on record, they take the place of those on record, with all
    #: that signals made of them.
    metadata_hash: str | None = None
    #: Ids of the rows of the direct requirements.
    requires: Sequence[str] = ()
    #: What dependents are given: NodeData on the wire.
    node_data: Sequence[Any] | None = None
    #: Whether that is other than what is on record.
    changed: bool = True
    #: REPLACE: the id of the new row.
    new_id: str = ""
    #: NEXT: the action with which the node goes on; empty for that of the plan.
    then: str = ""
    #: What is left of a resource in a snapshot; None if nothing is.
    entry: Any = None
    #: FAILED and FAULT: nothing was done to the resource, which is in the state it was in before.
    untouched: bool = False
    #: PAUSED, DONE and NEXT: the hook at which the node stands now; empty for none.
    hook: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a finish changed."""

    #: False: a newer attempt or a newer traversal has taken over, and nothing was changed.
    accepted: bool
    #: Orders for the nodes that became ready, to be published.
    ready: tuple[CheckOrder, ...] = ()
