"""The history: append-only, read in the order of the events' ids."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from orchestrator.store import tables
from orchestrator.store.database import Database, retrying

#: No transaction that writes an event is open for longer than this.
SETTLED_SECONDS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """An event's row."""

    id: int
    at: float
    stack_id: str
    traversal_id: str
    resource: str
    resource_id: str | None
    type: str
    action: str
    status: str
    reason: str
    physical_id: str | None


class Events:
    """The event table's operations."""

    def __init__(self, database: Database) -> None:
        self._db = database

    @retrying
    def read(
        self, stack_id: str, *, after: int = 0, limit: int = 1000, traversal_id: str | None = None
    ) -> list[EventRow]:
        """Return a stack's events with an id above ``after``, oldest first, at most ``limit``.

        Ids are given before transactions commit. An event that a still open transaction might precede is held
        back, so whoever asks again after the last id that he saw misses nothing.
        """
        event = tables.event
        sql = sa.select(*(event.c[name] for name in EventRow.__dataclass_fields__)).where(
            event.c.stack_id == stack_id, event.c.id > after
        )
        if traversal_id is not None:
            sql = sql.where(event.c.traversal_id == traversal_id)
        if self._db.postgres:
            sql = sql.where(self._settled())
        with self._db.read() as connection:
            rows = connection.execute(sql.order_by(event.c.id).limit(limit)).all()
        return [EventRow(**row._mapping) for row in rows]

    def _settled(self) -> sa.TextClause:
        clause: Any = sa.text(
            f"(event.at < {self._db.now} - {SETTLED_SECONDS} OR CAST(CAST(event.xmin AS text) AS bigint) < "
            "CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint) % 4294967296)"
        )
        settled: sa.TextClause = clause
        return settled
