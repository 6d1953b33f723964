"""What is over as the faces show it: events and operations, from their rows."""

from collections.abc import Mapping, Sequence

from orchestrator.model.actions import CHECK
from orchestrator.store.history.events import EventRow
from orchestrator.store.history.past import TraversalRow
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.traversals.operation_rows import CallRow
from orchestrator.views.stacks import EventView, PluginCallView, TraversalView

#: What people call that which happened to resources, by the events that tell of it.
_MADE = ("CREATE_COMPLETE", "ADOPT_COMPLETE")
# What is brought back to a snapshot was made or updated by the same operation before.
_CHANGED = ("UPDATE_COMPLETE", "SUSPEND_COMPLETE", "RESUME_COMPLETE")
_DELETED = ("DELETE_COMPLETE",)


def _is_failure(happened: str, action: str) -> bool:
    """Whether an event tells that an operation failed at something.

    Resources are marked as unhealthy, and signalled, at any time: the operation that happens to be in force has no part
    in it.
    """
    if happened == "SIGNAL_FAILED" or (happened == "CHECK_FAILED" and action != CHECK):
        return False
    return happened.endswith("_FAILED")


def event_view(row: EventRow, stack: StackRow) -> EventView:
    """Return an event of a stack."""
    return EventView(
        id=row.id,
        at=row.at,
        stack=stack.name,
        traversal_id=row.traversal_id,
        resource=row.resource,
        resource_uuid=row.resource_id,
        type=row.type,
        action=row.action,
        status=row.status,
        reason=row.reason,
        physical_id=row.physical_id,
        cause=row.cause,
        worker=row.worker,
    )


def traversal_view(
    row: TraversalRow,
    stack: StackRow,
    nodes: Mapping[str, int] | None = None,
    calls: Sequence[CallRow] = (),
) -> TraversalView:
    """Return an operation on a stack.

    ``nodes`` are its resources by their state, ``calls`` what lifecycle plugins were asked and told.
    """
    return TraversalView(
        id=row.id,
        stack=stack.name,
        stack_id=stack.id,
        action=row.action,
        status=row.status,
        reason=row.reason,
        template_id=row.template_id,
        begun_at=row.created_at,
        ended_at=row.ended_at,
        duration_seconds=None if row.ended_at is None else row.ended_at - row.created_at,
        made=sum(row.counts.get(each, 0) for each in _MADE),
        changed=sum(row.counts.get(each, 0) for each in _CHANGED),
        deleted=sum(row.counts.get(each, 0) for each in _DELETED),
        failed=sum(count for each, count in row.counts.items() if _is_failure(each, row.action)),
        nodes=nodes or {},
        plugins=tuple(
            PluginCallView(
                plugin=call.plugin,
                state=call.state,
                error=call.error,
                warnings=tuple((call.annotations or {}).get("warnings", ())),
                asked_seconds=call.asked_seconds,
                told_seconds=call.told_seconds,
            )
            for call in calls
        ),
    )
