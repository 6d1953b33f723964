"""The events of all stacks as somebody follows them: how far they go, and the next ones."""

from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from orchestrator.store import tables
from orchestrator.store.database import Database, retrying
from orchestrator.store.history.observing import Observations, ObservedEvent

#: The actions that a stack begins with, and none of which it ever sees again.
MAKING: Final = ("CREATE", "ADOPT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How far the history goes, at one moment."""

    #: The highest id that was ever given, whether or not its event is there; 0 before the first.
    newest: int
    #: By the database's clock.
    now: float


class EventLog:
    """Follows the events of all stacks; threads may share it."""

    def __init__(self, database: Database, observations: Observations) -> None:
        self._db = database
        self._observations = observations

    def look(self) -> int:
        """Return the highest id up to which no event is missing (:mod:`orchestrator.store.horizon`)."""
        return self._observations.horizon.look()

    def read(self, after: int, *, up_to: int, limit: int) -> list[ObservedEvent]:
        """Return the next events behind an id, oldest first, none above ``up_to``, which the horizon has said."""
        return self._observations.events_after(after, limit, up_to=up_to)

    @retrying
    def extent(self) -> Extent:
        """Return how far the history goes, and what time it is."""
        newest = _GIVEN_POSTGRES if self._db.postgres else _GIVEN_SQLITE
        with self._db.read() as connection:
            row = connection.execute(sa.text(f"SELECT {newest}, {self._db.now}")).one()
        return Extent(newest=row[0] or 0, now=float(row[1]))

    @retrying
    def oldest(self, stack_id: str | None = None) -> int | None:
        """Return the first id that is kept, of one stack or of all; None if there is none."""
        event = tables.event
        sql: sa.Select[Any] = sa.select(sa.func.min(event.c.id))
        if stack_id is not None:
            sql = sql.where(event.c.stack_id == stack_id)
        with self._db.read() as connection:
            found: int | None = connection.execute(sql).scalar_one()
        return found

    @retrying
    def lacks(self, after: int, *, up_to: int, limit: int) -> bool:
        """Whether events behind an id were removed, as far as that can be told from the first ``limit`` that are left.

        Each stack's oldest are removed first, so that of such a stack what is oldest now is not what it began with.
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
        with self._db.read() as connection:
            return connection.execute(sql).first() is not None

    def behind_since(self) -> float | None:
        """Return since when events wait behind a transaction that is still open; None if none do. Asks nobody."""
        return self._observations.horizon.behind_since

    def begin_again(self) -> None:
        """Forget how far the history was complete: it is another one."""
        self._observations.horizon.begin_again()


# Events are removed, and the ids that they had stay given.
_GIVEN_SQLITE = "(SELECT seq FROM sqlite_sequence WHERE name = 'event')"
_GIVEN_POSTGRES = "pg_sequence_last_value(CAST(pg_get_serial_sequence('event', 'id') AS regclass))"
