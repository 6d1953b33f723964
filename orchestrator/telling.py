"""Event sinks: told of a traversal when it is over."""

from collections.abc import Sequence

import structlog

from hooks.events import Event, EventSink
from orchestrator.event_filter import EventFilter
from orchestrator.store.store import Store
from orchestrator.store.traversal_endings import Ending

log = structlog.get_logger()


class Listeners:
    """An operator's event sinks."""

    def __init__(self, store: Store, sinks: Sequence[EventSink]) -> None:
        self._store, self._sinks = store, sinks

    def tell(self, ending: Ending) -> None:
        """Hand a traversal's events to the sinks; may be done more than once."""
        if not self._sinks:
            return
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
