"""Who is told of operations: lifecycle plugins before and after, event sinks after."""

from collections.abc import Sequence
from dataclasses import replace

from hooks.errors import LifecycleRefused
from hooks.events import Event, EventSink, dispatch
from hooks.lifecycle import LifecyclePlugin, Operation, run_post_ops, run_pre_ops
from orchestrator.errors import Conflict
from orchestrator.event_filter import EventFilter
from orchestrator.store.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.store.traversal_endings import Ending


class Listeners:
    """An operator's plugins and sinks."""

    def __init__(self, store: Store, plugins: Sequence[LifecyclePlugin], sinks: Sequence[EventSink]) -> None:
        self._store, self._plugins, self._sinks = store, plugins, sinks

    def operation(self, operation_id: str, action: str, stack: StackRow) -> Operation:
        """Return what plugins are told of an operation on a stack that is there."""
        return Operation(
            id=operation_id,
            action=action,
            stack_id=stack.id,
            stack_name=stack.name,
            project=stack.project,
            success=None,
            reason="",
            parameters={},
        )

    def begin(self, operation: Operation) -> None:
        """Ask every plugin whether an operation may begin.

        Raises:
            Conflict: one refused; those that had agreed were told that it is over.
        """
        try:
            run_pre_ops(self._plugins, operation)
        except LifecycleRefused as error:
            raise Conflict(str(error)) from error

    def end(self, operation: Operation, *, success: bool, reason: str) -> None:
        """Tell every plugin how an operation ended."""
        run_post_ops(self._plugins, replace(operation, success=success, reason=reason))

    def tell(self, ending: Ending) -> None:
        """Say a traversal's last words to plugins and event sinks; may be said more than once."""
        context = self._store.traversals.context(ending.traversal_id)
        hidden = set(context.get("hidden", ()))
        operation = Operation(
            id=ending.traversal_id,
            action=ending.action,
            stack_id=ending.stack_id,
            stack_name=ending.stack,
            project=ending.project,
            success=None,
            reason="",
            parameters={
                name: "******" if name in hidden else value for name, value in context["parameters"].items()
            },
        )
        self.end(operation, success=ending.status == "COMPLETE", reason=ending.reason)
        if self._sinks:
            mine = EventFilter(traversal_id=ending.traversal_id)
            rows = self._store.events.read(ending.stack_id, limit=1_000_000, wanted=mine)
            dispatch(
                self._sinks,
                [
                    Event(
                        id=row.id,
                        at=row.at,
                        stack_id=row.stack_id,
                        stack_name=ending.stack,
                        resource=row.resource,
                        type=row.type,
                        action=row.action,
                        status=row.status,
                        reason=row.reason,
                        physical_id=row.physical_id,
                    )
                    for row in rows
                ],
            )
