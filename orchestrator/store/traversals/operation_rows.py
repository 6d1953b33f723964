"""What is on record of an operation: how far it is, and what each lifecycle plugin was asked and told about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from orchestrator.errors import Unavailable

#: The states of an operation.
ENTERING: Final = "entering"
UNDER_WAY: Final = "under_way"
LEAVING: Final = "leaving"
OVER: Final = "over"

#: The states of a call.
ASKING: Final = "asking"
AGREED: Final = "agreed"
REFUSED: Final = "refused"
LATE: Final = "late"
TELLING: Final = "telling"
TOLD: Final = "told"


class TakenOver(Unavailable):
    """Another process sees to an operation now; what this one wanted to write down was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    """What one plugin was asked and told."""

    position: int
    plugin: str
    state: str
    #: What it answered; None if nothing.
    annotations: Mapping[str, Any] | None = None
    error: str = ""
    #: How long it took to answer, and to be told; None if it did not come to that.
    asked_seconds: float | None = None
    told_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationRow:
    """An operation, with its calls in the order in which plugins were asked."""

    id: str
    stack_id: str
    stack: str
    project: str
    action: str
    state: str
    outcome: str
    reason: str
    #: The stack that was shown, as plain types; None where the store can tell it.
    shown: Mapping[str, Any] | None
    attempt: int
    created_at: float
    ended_at: float | None
    calls: tuple[CallRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOperation:
    """An operation that plugins are to be asked about."""

    id: str
    #: Whoever comes again for the same reason goes on with the same operation.
    cause: str
    stack_id: str
    stack: str
    project: str
    action: str
    shown: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """An operation that every plugin has agreed to: what its traversal writes as it begins."""

    operation_id: str
    attempt: int
    #: What each plugin answered that answered something: warnings, and values by resource (the stack's own under "").
    warnings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    annotations: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
