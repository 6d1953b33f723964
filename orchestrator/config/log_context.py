"""What every log line of a process tells of what it is at just then: the stack, the traversal, the node, the attempt.

A line names what it says of itself, too; what it says goes before this. Every check pays for it, so this is one
variable of the context for all of them: structlog's own take one each.
"""

from collections.abc import Mapping, MutableMapping
from contextvars import ContextVar, Token
from types import MappingProxyType
from typing import Any, Final

from orchestrator.model.messages import CheckOrder

_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})
_context: Final[ContextVar[Mapping[str, object]]] = ContextVar("isotherm_log_context", default=_NOTHING)


class _About:
    """Has lines tell something inside the block."""

    __slots__ = ("_ids", "_token")

    def __init__(self, ids: Mapping[str, object]) -> None:
        self._ids = ids
        self._token: Token[Mapping[str, object]] | None = None

    def __enter__(self) -> None:
        self._token = _context.set(self._ids)

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _context.reset(self._token)


def about_order(order: CheckOrder) -> _About:
    """Have lines tell, inside the block, which node of which traversal it is about."""
    ids = {"stack": order.stack, "stack_id": order.stack_id, "traversal_id": order.traversal_id}
    # A traversal's last words are about no resource.
    return _About({**ids, "resource": order.key, "node_no": order.no} if order.key else ids)


def about_attempt(attempt: int) -> _About:
    """Have lines tell, inside the block, which attempt at a node it is."""
    return _About({**_context.get(), "attempt": attempt})


def about_job(task: str, *, job_id: str, stack: str) -> _About:
    """Have lines tell, inside the block, what is begun, for which stack, and for which job."""
    return _About({"job": task, "job_id": job_id, "stack": stack})


def about_operation(stack: str, stack_id: str, traversal_id: str) -> _About:
    """Have lines tell, inside the block, which operation is begun.

    Of an operation on a stack in a stack, nothing is told of the node at which it is begun: it has nodes of its own.
    """
    outside = _context.get()
    kept = {name: outside[name] for name in ("job", "job_id") if name in outside}
    return _About({**kept, "stack": stack, "stack_id": stack_id, "traversal_id": traversal_id})


def merge_context(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Add to a line what it is about; a processor of structlog's."""
    for name, value in _context.get().items():
        event.setdefault(name, value)
    return event
