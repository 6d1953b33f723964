"""Log context: the stack, traversal, node and attempt that every log line of a process has.

Fields of the line itself win. All fields are in one context variable, because every check sets them: structlog's own
functions use a variable for each.
"""

from collections.abc import Mapping, MutableMapping
from contextvars import ContextVar, Token
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from orchestrator.model.messages import CheckOrder

_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})
_context: Final[ContextVar[Mapping[str, object]]] = ContextVar("isotherm_log_context", default=_NOTHING)


class _About:
    __slots__ = ("_ids", "_token")

    def __init__(self, ids: Mapping[str, object]) -> None:
        self._ids = ids
        self._token: Token[Mapping[str, object]] | None = None

    def __enter__(self) -> None:
        self._token = _context.set(self._ids)

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _context.reset(self._token)


def about_order(order: "CheckOrder") -> _About:
    """Set the stack, traversal and node of log lines inside the block."""
    return _About(_ids_of(order))


def about_attempt(order: "CheckOrder", attempt: int) -> _About:
    """Set the stack, traversal, node and attempt of log lines inside the block."""
    ids = _ids_of(order)
    ids["attempt"] = attempt
    return _About(ids)


def _ids_of(order: "CheckOrder") -> dict[str, object]:
    ids: dict[str, object] = {
        "stack": order.stack,
        "stack_id": order.stack_id,
        "traversal_id": order.traversal_id,
    }
    # The end of a traversal has no resource.
    if order.key:
        ids |= {"resource": order.key, "node_no": order.no}
    return ids


def about_job(task: str, *, job_id: str, stack: str) -> _About:
    """Set the task, job and stack of log lines inside the block."""
    return _About({"job": task, "job_id": job_id, "stack": stack})


def about_operation(stack: str, stack_id: str, traversal_id: str) -> _About:
    """Set the stack and traversal of log lines inside the block; the job is kept.

    The node at which an operation on a nested stack is begun is left out: that stack has nodes of its own.
    """
    outer = _context.get()
    kept = {name: outer[name] for name in ("job", "job_id") if name in outer}
    return _About({**kept, "stack": stack, "stack_id": stack_id, "traversal_id": traversal_id})


def current_traversal() -> str:
    """Return the id of the operation that this thread works on; empty for none."""
    return str(_context.get().get("traversal_id", ""))


def merge_context(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Add the context to a log line; a structlog processor."""
    for name, value in _context.get().items():
        event.setdefault(name, value)
    return event
