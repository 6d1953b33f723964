"""Events of one stack: append-only, read in the order of their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hooks.values.dataclass import dataclass
from orchestrator.errors import NotFound
from orchestrator.model.event_filter import ALL_EVENTS, EventFilter
from orchestrator.store import tables
from orchestrator.store.lists import is_like, patterns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orchestrator.store.alchemy import sa
    from orchestrator.store.database import Database
    from orchestrator.store.horizon import Horizon
    from orchestrator.store.rows import AnyRow

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


#: The same, for textual statements.
_COLUMNS: Final = ", ".join(
    'user_name AS "user"' if name == "user" else name for name in EventRow.__dataclass_fields__
)


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
        values: dict[str, object] = {"stack_id": stack_id, "after": after, "limit": limit}
        conditions = ["stack_id = :stack_id", "id > :after"]
        if before is not None:
            conditions.append("id < :before")
            values["before"] = before
        if self._db.postgres:
            # No event can appear before these any more.
            conditions.append("id <= :settled")
            values["settled"] = self._horizon.reach(_PATIENCE_SECONDS)
        for condition, name, value in self._fits(wanted):
            conditions.append(condition)
            values[name] = value
        order = "id DESC" if newest_first else "id"
        sql = f"SELECT {_COLUMNS} FROM event WHERE {' AND '.join(conditions)} ORDER BY {order} LIMIT :limit"
        return [self._row(row) for row in self._db.rows(sql, values)]

    def find(self, stack_id: str, event_id: int) -> EventRow:
        """Return one event.

        Raises:
            NotFound: the stack has none with this id.
        """
        sql = f"SELECT {_COLUMNS} FROM event WHERE id = :id AND stack_id = :stack_id"
        row = self._db.first(sql, {"id": event_id, "stack_id": stack_id})
        if row is None:
            raise NotFound(f"the stack has no event {event_id}; events are trimmed, oldest first")
        return self._row(row)

    def _row(self, row: AnyRow) -> EventRow:
        return EventRow(**{**row._asdict(), "reason": self._db.seal.opened(row.reason)})

    def _fits(self, wanted: EventFilter) -> Iterator[tuple[str, str, object]]:
        """Yield the conditions of a filter, each with the name and the value of its parameter."""
        postgres = self._db.postgres
        for column, some in (("resource", wanted.resources), ("type", wanted.types)):
            if some:
                like = is_like(f"event.{column}", column, postgres=postgres)
                yield like, column, patterns(some, postgres=postgres)
        for column, names in (("action", wanted.actions), ("status", wanted.statuses)):
            if names:
                yield f"{column} {self._db.in_list(column)}", column, self._db.texts(names)
        if wanted.since is not None:
            yield "at >= :since", "since", wanted.since
        if wanted.traversal_id is not None:
            yield "traversal_id = :traversal_id", "traversal_id", wanted.traversal_id
