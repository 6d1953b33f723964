"""Operator health marks of resources (``mark-unhealthy``), checked against the stack's state."""

from typing import Final

from orchestrator.engine.ownership import is_external
from orchestrator.engine.stack_actions import refuse_busy, refuse_suspended
from orchestrator.errors import Conflict
from orchestrator.model.actions import CHECK, SNAPSHOT, is_suspended
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store

#: How often a mark is tried while concurrent operations change the resource.
TRIES: Final = 10
#: How many characters of a reason are kept.
KEPT: Final = 1000


def mark_unhealthy(store: Store, stack: StackRow, resource: str, *, reason: str, reset: bool = False) -> None:
    """Mark a resource unhealthy: it becomes CHECK_FAILED, and the next update replaces it.

    The resources of its enclosing stacks become CHECK_FAILED too, so that an update of the root stack reaches it.
    With ``reset``, a CHECK_FAILED resource becomes CHECK_COMPLETE; one that is COMPLETE is not changed.

    Raises:
        NotFound: there is no such resource.
        Conflict: its stack is busy or suspended, or the resource is in no state for it.
    """
    mark = "marked healthy" if reset else "marked unhealthy"
    recorded = f"{mark}: {reason}" if reason else mark
    for _ in range(TRIES):
        enclosing = _enclosing(store, stack)
        row = store.stacks.resource(stack.id, resource)
        if reset and row.status == "COMPLETE" and row.action not in ("INIT", "DELETE"):
            return
        refuse_unfit(row, is_external=is_external(store, row.stack_id, row.id), unhealthy=not reset)
        if store.health.mark(row, enclosing, unhealthy=not reset, reason=recorded[:KEPT]):
            return
    raise Conflict(f"resource {resource!r} is being changed by others; try again")


def _enclosing(store: Store, stack: StackRow) -> list[tuple[StackRow, str | None]]:
    """Return a stack and its enclosing stacks, innermost first, each with the row of the stack inside it."""
    enclosing: list[tuple[StackRow, str | None]] = []
    stack_id: str | None = stack.id
    leads_inwards: str | None = None
    while stack_id is not None:
        found = store.stacks.by_id(stack_id)
        if found is None:
            break
        refuse_busy(store, found, "mark resources of")
        refuse_suspended(found)
        enclosing.append((found, leads_inwards))
        stack_id, leads_inwards = found.parent_id, found.parent_resource
    return enclosing


def refuse_unfit(row: ResourceRow, *, is_external: bool, unhealthy: bool) -> None:
    """Refuse to mark a resource that no update would replace, or that every update replaces anyway.

    Raises:
        Conflict: it cannot be marked in its state.
    """
    state = f"resource {row.name!r} is {row.action}_{row.status}"
    if row.action in ("INIT", "DELETE"):
        raise Conflict(f"{state}: there is nothing to mark")
    if row.status == "IN_PROGRESS":
        raise Conflict(f"{state}: update the stack, so that this comes to its end")
    if is_suspended(row.action, row.status):
        raise Conflict(f"{state}: resume the stack first")
    if row.status == "FAILED" and row.action not in (CHECK, SNAPSHOT):
        raise Conflict(f"{state}: the next update replaces it anyway")
    if unhealthy and is_external:
        raise Conflict(
            f"resource {row.name!r} stands for something that is not ours: no update can replace it"
        )
