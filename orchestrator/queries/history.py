"""Events and operations for faces, from their rows."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from orchestrator.model.actions import CHECK
from orchestrator.views.stacks import EventView, PluginCallView, TraversalView

if TYPE_CHECKING:
    from orchestrator.store.history.events import EventRow
    from orchestrator.store.history.past import TraversalRow
    from orchestrator.store.stacks.stacks import StackRow
    from orchestrator.store.traversals.operation_rows import CallRow

#: The events that count as made, changed and deleted resources.
_MADE = ("CREATE_COMPLETE", "ADOPT_COMPLETE")
# Without RESTORE_COMPLETE: the same operation has made or updated a restored resource before.
_CHANGED = ("UPDATE_COMPLETE", "SUSPEND_COMPLETE", "RESUME_COMPLETE")
_DELETED = ("DELETE_COMPLETE",)


def _is_failure(happened: str, action: str) -> bool:
    """Return whether an event records a failure of its operation.

    Signals and health marks come at any time, and are not part of the operation in force.
    """
    if happened == "SIGNAL_FAILED" or (happened == "CHECK_FAILED" and action != CHECK):
        return False
    return happened.endswith("_FAILED")


def event_view(row: "EventRow", stack: "StackRow") -> EventView:
    """Return the view of an event of a stack."""
    return EventView.of(row, stack=stack.name, resource_uuid=row.resource_id)


def traversal_view(
    row: "TraversalRow",
    stack: "StackRow",
    nodes: Mapping[str, int] | None = None,
    calls: Sequence["CallRow"] = (),
) -> TraversalView:
    """Return the view of an operation on a stack.

    ``nodes`` are the counts of its resources by state, ``calls`` its calls of lifecycle plugins.
    """
    return TraversalView.of(
        row,
        stack=stack.name,
        stack_id=stack.id,
        begun_at=row.created_at,
        duration_seconds=None if row.ended_at is None else row.ended_at - row.created_at,
        # A replacement is one thing, not one resource made and another deleted.
        made=sum(row.counts.get(each, 0) for each in _MADE) - row.replaced,
        replaced=row.replaced,
        changed=sum(row.counts.get(each, 0) for each in _CHANGED),
        deleted=sum(row.counts.get(each, 0) for each in _DELETED) - row.replaced,
        failed=sum(count for each, count in row.counts.items() if _is_failure(each, row.action)),
        nodes=nodes or {},
        plugins=tuple(
            PluginCallView.of(call, warnings=tuple((call.annotations or {}).get("warnings", ())))
            for call in calls
        ),
    )
