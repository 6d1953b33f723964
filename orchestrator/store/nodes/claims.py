"""The values that pass between a check and the store: claims, outcomes of steps, and results of finishes."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any

from hooks.values.dataclass import dataclass
from orchestrator.config.step_log import StepLines
from orchestrator.model.actions import CHECK
from orchestrator.model.messages import CheckOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A node that one worker alone may take one step further until the lease ends."""

    order: CheckOrder
    #: The fence: a finish under an older attempt changes nothing.
    attempt: int
    #: The name of the worker.
    worker: str = ""
    #: The action of this step: CREATE, DELETE ...
    action: str
    #: The action of the node, which may have to wait until that of this step is over.
    planned: str = ""
    #: The database's time of the claim, seconds since the epoch.
    now: float
    retries: int
    fragment: Mapping[str, Any]
    #: The attributes of this resource that others refer to.
    wanted: Sequence[Sequence[str | int]]
    dependents: tuple[int, ...]
    requirements: tuple[int, ...]
    #: For each of these, the attributes that this node receives, packed; None for all.
    needs: bytes | None = None
    resource_id: str
    type: str
    physical_id: str | None
    #: The machine that it is on; None if it is on none.
    on_node: str | None = None
    #: The properties last applied; None before the first.
    properties: Mapping[str, Any] | None
    data: dict[str, Any]
    metadata: dict[str, Any] | None
    token: Any
    #: Whether an earlier step of this action left a token.
    started: bool
    #: When the action under way was first claimed.
    started_at: float
    #: Action and status of the resource before the claim.
    was: tuple[str, str] = ("INIT", "COMPLETE")
    #: The properties that the action under way applies, if they are not in ``properties`` yet.
    in_flight: Mapping[str, Any] | None = None
    #: The node data on record from before this traversal, on the wire; None if there is none.
    recorded: Sequence[Any] | None = None
    #: Ids of the rows that the resource required before.
    requires: tuple[str, ...] = ()
    #: Whether a requirement ended with other node data than before this traversal.
    changed: bool = False
    #: The hooks at which the node will still stop.
    hooks: frozenset[str] = frozenset()
    #: The packed values on record that cannot be read, by column; they are None or empty above.
    unreadable: Mapping[str, bytes] = field(default_factory=dict)
    #: Why, of those that were stored for another row, or changed.
    misplaced: Sequence[str] = ()
    #: Whether it stops before the action: the row is unchanged, and the step only finds out whether there is a change.
    looks: bool = False


class Ending(StrEnum):
    """How a step ended."""

    DONE = "done"
    FAILED = "failed"
    #: The action is in progress outside: check again later.
    WAITING = "waiting"
    #: It failed, and will be tried again.
    RETRY = "retry"
    #: The action is complete, but was begun for another definition: the node continues with an update.
    NEXT = "next"
    #: The resource cannot be changed in place: the node continues with a replacement.
    REPLACE = "replace"
    #: It failed without failing the traversal at once; the traversal reports the fault at its end.
    FAULT = "fault"
    #: The action begins once a hook is cleared.
    PAUSED = "paused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a step."""

    ending: Ending
    reason: str = ""
    #: WAITING and RETRY: after how many seconds the next step is due.
    seconds: float = 0.0
    physical_id: str | None = None
    #: The machine that the resource is on; None leaves the stored one.
    on_node: str | None = None
    reference_id: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    token: Any = None
    #: RETRY: the action itself is over, or continues by itself, and the next try starts from its token.
    is_over: bool = False
    #: RETRY: whether it counts among the limited tries.
    counts: bool = True
    #: WAITING, and RETRY once the action is over: the properties that an update applies.
    in_flight: Mapping[str, Any] | None = None
    #: The definition as it was applied; None leaves the stored one.
    properties: Mapping[str, Any] | None = None
    definition_hash: str | None = None
    #: [[path, value], ...].
    attributes: Sequence[Any] = ()
    metadata: Mapping[str, Any] | None = None
    #: The fingerprint of ``metadata``. If it differs from the stored one, ``metadata`` replaces the stored metadata,
    #: changes by signals included.
    metadata_hash: str | None = None
    #: Ids of the rows of the direct requirements.
    requires: Sequence[str] = ()
    #: The node data for dependents, on the wire.
    node_data: Sequence[Any] | None = None
    #: Whether the node data differ from the stored ones.
    changed: bool = True
    #: REPLACE: the id of the new row.
    new_id: str = ""
    #: NEXT: the action with which the node continues; empty for that of the plan.
    then: str = ""
    #: The entry of the resource in a snapshot; None for none.
    entry: Any = None
    #: FAILED and FAULT: the resource was not changed, and keeps its action and status.
    untouched: bool = False
    #: PAUSED, DONE and NEXT: the hook at which the node stands now; empty for none.
    hook: str = ""
    #: The log lines of the step; None if it wrote none.
    log: StepLines | None = None


def failure_of(
    claim: Claim,
    reason: str,
    *,
    physical_id: str | None,
    requires: Sequence[str] = (),
    untouched: bool = False,
) -> Outcome:
    """Return the outcome of a claimed action that failed for good, with what else is on record as it is."""
    return Outcome(
        ending=Ending.FAULT if claim.action == CHECK else Ending.FAILED,
        reason=reason,
        physical_id=physical_id,
        data=claim.data,
        properties=claim.properties,
        requires=requires,
        untouched=untouched,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The result of a finish."""

    #: False if a newer attempt or a newer traversal has taken over; nothing was changed.
    accepted: bool
    #: Orders for the nodes that became ready, to be published.
    ready: tuple[CheckOrder, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The result of a claim of several nodes."""

    claims: Sequence[Claim] = ()
    #: Those of the orders that are to be claimed alone: of other types, or whose resource another traversal holds.
    left: Sequence[CheckOrder] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedBatch:
    """The result of a finish of several nodes, and the claim of what they made ready."""

    ready: tuple[CheckOrder, ...] = ()
    claims: Sequence[Claim] = ()
    #: What was not finished: to be finished alone, unless it is fenced off.
    left: Sequence[tuple[Claim, Outcome]] = ()
    #: How many nodes of a run were claimed and finished besides.
    passed: int = 0
