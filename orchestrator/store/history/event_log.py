"""The event log: the events of all stacks in order, for clients that follow them."""

from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from orchestrator.store import tables
from orchestrator.store.database import Database
from orchestrator.store.history.observing import Observations, ObservedEvent
from orchestrator.store.rows import Query

#: The actions that make a stack: each stack has one of them, once.
MAKING: Final = ("CREATE", "ADOPT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """The end of the history at one moment."""

    #: The highest id that was ever assigned, whether or not its event still exists; 0 before the first.
    newest: int
    #: The database's time.
    now: float


class EventLog:
    """Reads of the events of all stacks in order; threads may share it."""

    def __init__(self, database: Database, observations: Observations) -> None:
        self._db = database
        self._observations = observations

    def look(self) -> int:
        """Return the highest id up to which no event is missing (:mod:`orchestrator.store.horizon`)."""
        return self._observations.horizon.look()

    def read(self, after: int, *, up_to: int, limit: int) -> list[ObservedEvent]:
        """Return the next events after an id, oldest first, up to ``up_to``, a result of :meth:`look`."""
        return self._observations.events_after(after, limit, up_to=up_to)

    def extent(self) -> Extent:
        """Return the end of the history, and the time."""
        newest = _GIVEN_POSTGRES if self._db.postgres else _GIVEN_SQLITE
        row = self._db.one(sa.text(f"SELECT {newest}, {self._db.now}"))
        return Extent(newest=row[0] or 0, now=float(row[1]))

    def oldest(self, stack_id: str | None = None) -> int | None:
        """Return the oldest id, of one stack or of all; None if there is none."""
        event = tables.event
        sql: Query = sa.select(sa.func.min(event.c.id))
        if stack_id is not None:
            sql = sql.where(event.c.stack_id == stack_id)
        found: int | None = self._db.value(sql)
        return found

    def lacks(self, after: int, *, up_to: int, limit: int) -> bool:
        """Return whether events after an id were purged, as far as the first ``limit`` remaining events show.

        A purge removes each stack's oldest events first, so the oldest one of such a stack is not its first.
        """
        event, earlier = tables.event, tables.event.alias("earlier")
        some = (
            sa.select(event.c.id, event.c.stack_id, event.c.resource, event.c.action, event.c.status)
            .where(event.c.id > after, event.c.id <= up_to)
            .order_by(event.c.id)
            .limit(limit)
            .subquery()
        )
        begins = (some.c.resource == "") & some.c.action.in_(MAKING) & (some.c.status == "IN_PROGRESS")
        is_first = ~sa.exists().where(earlier.c.stack_id == some.c.stack_id, earlier.c.id < some.c.id)
        sql = sa.select(some.c.id).where(~begins, is_first).limit(1)
        return self._db.first(sql) is not None

    def behind_since(self) -> float | None:
        """Return since when events wait for an open transaction; None if none do. Reads nothing."""
        return self._observations.horizon.behind_since

    def begin_again(self) -> None:
        """Start anew with another history, as after a restore of the database."""
        self._observations.horizon.begin_again()


# The ids of removed events are not assigned again.
_GIVEN_SQLITE = "(SELECT seq FROM sqlite_sequence WHERE name = 'event')"
_GIVEN_POSTGRES = "pg_sequence_last_value(CAST(pg_get_serial_sequence('event', 'id') AS regclass))"
