"""Rows of the ledger: an operation with its state, and its calls of lifecycle plugins."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from hooks.values.dataclass import dataclass
from orchestrator.errors import Unavailable
from orchestrator.model.record import Record

#: The states of an operation: ``pre_op`` calls, in progress, ``post_op`` calls, over.
ENTERING: Final = "entering"
UNDER_WAY: Final = "under_way"
LEAVING: Final = "leaving"
OVER: Final = "over"

#: The states of a call: the first four of ``pre_op``, the others of ``post_op``.
ASKING: Final = "asking"
AGREED: Final = "agreed"
REFUSED: Final = "refused"
LATE: Final = "late"
TELLING: Final = "telling"
TOLD: Final = "told"


class TakenOver(Unavailable):
    """Another process holds the operation now; nothing of this process was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow(Record):
    """The calls of one lifecycle plugin about an operation."""

    position: int
    plugin: str
    state: str
    #: The annotations that ``pre_op`` returned; None for none.
    annotations: Mapping[str, Any] | None = None
    error: str = ""
    #: How long ``pre_op`` and ``post_op`` took; None if not called.
    asked_seconds: float | None = None
    told_seconds: float | None = None
    #: How many calls of ``pre_op`` and of ``post_op`` were lost, with their process.
    asked_lost: int = 0
    told_lost: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationRow(Record):
    """An operation, with its calls in the order of ``pre_op``."""

    id: str
    stack_id: str
    stack: str
    project: str
    action: str
    state: str
    outcome: str
    reason: str
    #: The stack as plugins saw it, as plain types; None if it can be read from the store.
    shown: Mapping[str, Any] | None
    attempt: int
    created_at: float
    ended_at: float | None
    calls: tuple[CallRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOperation:
    """An operation for which ``pre_op`` will be called."""

    id: str
    #: The job or traversal that it is for; a coordinator with the same cause continues the same operation.
    cause: str
    stack_id: str
    stack: str
    project: str
    action: str
    shown: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """An operation that every plugin has agreed to, as its traversal writes it at the start."""

    operation_id: str
    attempt: int
    #: The warnings of each plugin, and its annotations by resource (those of the stack under "").
    warnings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    annotations: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
