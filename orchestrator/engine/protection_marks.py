"""Protection marks of stacks and resources, checked against the stack's state."""

from collections.abc import Sequence
from typing import Final

from orchestrator.engine.stack_actions import refuse_busy
from orchestrator.errors import Conflict
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store

#: How often a mark is tried while concurrent operations change the stack.
TRIES: Final = 10


def protect(
    store: Store, stack: StackRow, resources: Sequence[str] = (), *, protected: bool = True, reason: str = ""
) -> None:
    """Protect resources of a stack, or without ``resources`` the stack itself; or take that off.

    A resource of a nested stack is named by its path: the names of the resources that it is in, separated by slashes.

    Raises:
        NotFound: there is no such resource.
        Conflict: an operation is under way on the stack or on one that it is nested in, or a resource is being deleted.
    """
    for _ in range(TRIES):
        by_stack: dict[str, list[ResourceRow]] = {}
        for path in resources:
            row = _row_at(store, stack, path)
            if row.action == "DELETE":
                raise Conflict(f"resource {path!r} is {row.action}_{row.status}: there is nothing to protect")
            by_stack.setdefault(row.stack_id, []).append(row)
        marks = by_stack or {stack.id: []}
        done = [
            store.protections.mark(_enclosing(store, stack_id), rows, protected=protected, reason=reason)
            for stack_id, rows in marks.items()
        ]
        if all(done):
            return
    raise Conflict(f"stack {stack.name!r} is being changed by others; try again")


def _row_at(store: Store, stack: StackRow, path: str) -> ResourceRow:
    *outer, name = path.split("/")
    stack_id = stack.id
    for each in outer:
        # The id of a nested stack is that of its row.
        stack_id = store.stacks.resource(stack_id, each).id
    return store.stacks.resource(stack_id, name)


def _enclosing(store: Store, stack_id: str | None) -> list[StackRow]:
    """Return a stack and those that it is nested in, innermost first.

    Raises:
        Conflict: an operation is under way on one of them.
    """
    found = []
    while stack_id is not None and (stack := store.stacks.by_id(stack_id)) is not None:
        refuse_busy(store, stack, "protect")
        found.append(stack)
        stack_id = stack.parent_id
    return found
