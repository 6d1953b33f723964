"""Who is told of operations: lifecycle plugins before and after, event sinks after."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from hooks.errors import LifecycleRefused
from hooks.events import Event, EventSink
from hooks.frozen import frozen
from hooks.lifecycle import COMPLETE, FAILED, REFUSED, SUPERSEDED, LifecycleContext, LifecyclePlugin
from hooks.ordering import in_order
from hooks.stack import FrozenStack
from orchestrator.errors import Conflict
from orchestrator.event_filter import EventFilter
from orchestrator.store.store import Store
from orchestrator.store.traversal_endings import Ending

log = structlog.get_logger()

#: How an operation ended, by the status of its traversal.
_OUTCOMES = {"COMPLETE": COMPLETE, "FAILED": FAILED, "SUPERSEDED": SUPERSEDED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation that lifecycle plugins are asked about."""

    id: str
    action: str
    stack: FrozenStack


class Listeners:
    """An operator's plugins and sinks."""

    def __init__(self, store: Store, plugins: Sequence[LifecyclePlugin], sinks: Sequence[EventSink]) -> None:
        self._store, self._plugins, self._sinks = store, plugins, sinks

    @staticmethod
    def operation(
        operation_id: str,
        action: str,
        *,
        name: str,
        stack_id: str,
        project: str,
        parameters: Mapping[str, Any],
    ) -> Operation:
        """Return what plugins are shown of an operation."""
        stack = FrozenStack(name=name, id=stack_id, project=project, parameters=frozen(parameters))
        return Operation(id=operation_id, action=action, stack=stack)

    def begin(self, operation: Operation) -> None:
        """Ask every plugin whether an operation may begin.

        Raises:
            Conflict: one refused; those that had agreed were told that it is over.
        """
        context = LifecycleContext(operation_id=operation.id, project=operation.stack.project)
        agreed: list[LifecyclePlugin] = []
        for plugin in in_order(self._plugins):
            try:
                plugin.do_pre_op(context, operation.stack, None, operation.action)
            except Exception as error:
                refusal = LifecycleRefused(plugin.name, str(error) or type(error).__name__)
                self._tell(agreed, operation, outcome=REFUSED, reason=str(refusal))
                raise Conflict(str(refusal)) from error
            agreed.append(plugin)

    def end(self, operation: Operation, *, outcome: str = REFUSED, reason: str) -> None:
        """Tell every plugin how an operation ended."""
        self._tell(in_order(self._plugins), operation, outcome=outcome, reason=reason)

    @staticmethod
    def _tell(plugins: Sequence[LifecyclePlugin], operation: Operation, *, outcome: str, reason: str) -> None:
        context = LifecycleContext(operation_id=operation.id, project=operation.stack.project)
        context = replace(context, outcome=outcome, reason=reason)
        for plugin in reversed(plugins):
            try:
                plugin.do_post_op(context, operation.stack, None, operation.action, outcome != COMPLETE)
            except Exception as error:
                log.error(
                    "lifecycle plugin failed after the operation",
                    plugin=plugin.name,
                    operation=operation.id,
                    stack=operation.stack.name,
                    action=operation.action,
                    exc_info=error,
                )

    def tell(self, ending: Ending) -> None:
        """Say a traversal's last words to plugins and event sinks; may be said more than once."""
        context = self._store.traversals.context(ending.traversal_id)
        hidden = set(context.get("hidden", ()))
        operation = self.operation(
            ending.traversal_id,
            ending.action,
            name=ending.stack,
            stack_id=ending.stack_id,
            project=ending.project,
            parameters={
                name: "******" if name in hidden else value for name, value in context["parameters"].items()
            },
        )
        self.end(operation, outcome=_OUTCOMES[ending.status], reason=ending.reason)
        if self._sinks:
            mine = EventFilter(traversal_id=ending.traversal_id)
            rows = self._store.events.read(ending.stack_id, limit=1_000_000, wanted=mine)
            events = [
                Event(
                    id=row.id,
                    at=row.at,
                    stack_id=row.stack_id,
                    stack_name=ending.stack,
                    project=ending.project,
                    operation_id=row.traversal_id,
                    resource=row.resource,
                    resource_id=row.resource_id or "",
                    type=row.type,
                    action=row.action,
                    status=row.status,
                    reason=row.reason,
                    physical_id=row.physical_id,
                )
                for row in rows
            ]
            for sink in self._sinks:
                try:
                    sink.consume(events)
                except Exception as error:
                    log.error("event sink failed", sink=sink.name, exc_info=error)
