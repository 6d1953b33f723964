"""Events of one stack: append-only, read in the order of their ids."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from hooks.values.dataclass import dataclass
from orchestrator.errors import NotFound
from orchestrator.model.event_filter import ALL_EVENTS, EventFilter
from orchestrator.store import tables
from orchestrator.store.database import Database
from orchestrator.store.horizon import Horizon
from orchestrator.store.rows import Query, matches

#: How long a read waits for open transactions that may still write an event with a lower id.
_PATIENCE_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """An event's row."""

    id: int
    at: float
    stack_id: str
    traversal_id: str
    #: Empty for an event of the stack itself.
    resource: str
    resource_id: str | None
    type: str
    action: str
    status: str
    reason: str
    physical_id: str | None
    #: As in :class:`~orchestrator.views.facts.EventFact`.
    cause: str = ""
    worker: str = ""
    user: str = ""


def event_columns() -> Iterator[sa.ColumnElement[Any]]:
    """Yield the columns of an event's row."""
    event = tables.event
    for name in EventRow.__dataclass_fields__:
        yield event.c.user_name.label("user") if name == "user" else event.c[name]


class Events:
    """The event table's operations."""

    def __init__(self, database: Database, horizon: Horizon) -> None:
        self._db = database
        self._horizon = horizon

    def read(
        self,
        stack_id: str,
        *,
        after: int = 0,
        before: int | None = None,
        newest_first: bool = False,
        limit: int = 1000,
        wanted: EventFilter = ALL_EVENTS,
    ) -> list[EventRow]:
        """Return a stack's events with an id above ``after`` and below ``before``, oldest first, at most ``limit``.

        Ids are assigned before transactions commit. An event that an open transaction might still precede is held back,
        so that a client that reads again after its last id misses nothing.
        """
        event = tables.event
        sql = self._rows().where(event.c.stack_id == stack_id, event.c.id > after, *self._fits(wanted))
        if before is not None:
            sql = sql.where(event.c.id < before)
        if self._db.postgres:
            sql = sql.where(self._settled())
        order = event.c.id.desc() if newest_first else event.c.id
        rows = self._db.rows(sql.order_by(order).limit(limit))
        names = tuple(EventRow.__dataclass_fields__)
        return [EventRow(**dict(zip(names, row, strict=True))) for row in rows]

    def find(self, stack_id: str, event_id: int) -> EventRow:
        """Return one event.

        Raises:
            NotFound: the stack has none with this id.
        """
        event = tables.event
        sql = self._rows().where(event.c.id == event_id, event.c.stack_id == stack_id)
        row = self._db.first(sql)
        if row is None:
            raise NotFound(f"the stack has no event {event_id}; events are trimmed, oldest first")
        return EventRow(**row._mapping)

    @staticmethod
    def _rows() -> Query:
        return sa.select(*event_columns())

    def _fits(self, wanted: EventFilter) -> Iterator[sa.ColumnElement[bool]]:
        event = tables.event
        if wanted.resources:
            yield sa.or_(
                *(matches(event.c.resource, each, postgres=self._db.postgres) for each in wanted.resources)
            )
        if wanted.types:
            yield sa.or_(*(matches(event.c.type, each, postgres=self._db.postgres) for each in wanted.types))
        if wanted.actions:
            yield event.c.action.in_(wanted.actions)
        if wanted.statuses:
            yield event.c.status.in_(wanted.statuses)
        if wanted.since is not None:
            yield event.c.at >= wanted.since
        if wanted.traversal_id is not None:
            yield event.c.traversal_id == wanted.traversal_id

    def _settled(self) -> sa.ColumnElement[bool]:
        """Return the condition that no event can appear before an event any more."""
        return tables.event.c.id <= self._horizon.reach(_PATIENCE_SECONDS)
