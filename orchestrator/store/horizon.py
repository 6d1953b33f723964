"""The horizon of the history: the id up to which no event can appear any more.

Ids are assigned before transactions commit. On PostgreSQL an open transaction may hold a lower id than one that is
visible already, and a reader that continues after the last visible id would miss it. SQLite has one writer at a time,
so its visible events are complete.
"""

import threading
import time
from dataclasses import dataclass

import sqlalchemy as sa

from orchestrator.store import tables
from orchestrator.store.database import Database, database_time, retrying

#: No transaction that writes an event is open for longer: the server ends idle ones earlier.
SETTLED_SECONDS = 120
#: The pause between looks while a reader waits for open transactions.
_PAUSE_SECONDS = 0.005
#: The most marks that are pending at once.
_MOST_MARKS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """The newest event at one moment; up to it all is complete once the transactions of that moment are over."""

    #: A transaction id above those of all transactions that had one at that moment.
    transaction: int
    newest_event: int
    at: float


class Horizon:
    """How far the history can be read without missing an event; threads may share it.

    A writer has its transaction id before it takes an event's id. So once every transaction that had an id at some
    moment is over, no event id assigned before that moment can still appear.
    """

    def __init__(self, database: Database) -> None:
        self._db = database
        self._marks: list[_Mark] = []
        self._complete = 0
        self._lock = threading.Lock()

    @property
    def is_behind(self) -> bool:
        """Whether the last look saw events below which others may still appear."""
        return bool(self._marks)

    @property
    def behind_since(self) -> float | None:
        """The database's time of the oldest event mark below which others may still appear; None if there is none."""
        with self._lock:
            return min((mark.at for mark in self._marks), default=None)

    @retrying
    def look(self) -> int:
        """Return the highest id up to which no event is missing; it never falls.

        While transactions are open, it is that of the last moment whose transactions are over.
        """
        newest = sa.select(sa.func.coalesce(sa.func.max(tables.event.c.id), 0))
        with self._db.read() as connection:
            seen: int = connection.execute(newest).scalar_one()
            if not self._db.postgres:
                return seen
            if self._is_news(seen):
                # pg_current_snapshot() does not suffice: it knows only the open transactions that began before the
                # last finished one.
                transaction = connection.execute(sa.text(_NEXT_TRANSACTION)).scalar_one()
                at = database_time(connection, self._db)
                with self._lock:
                    self._marks.append(_Mark(transaction=transaction, newest_event=seen, at=at))
            if not self._marks:
                return self._complete
            oldest = connection.execute(sa.text(f"SELECT {_OLDEST_OPEN}, {self._db.now}")).one()
            complete = self._passed(*oldest)
            # Otherwise a reader that starts while a writer is active would start at the first event.
            return complete or self._start(connection)

    def _start(self, connection: sa.Connection) -> int:
        """Return the last event that is older than any open transaction, and start there; 0 if there is none."""
        event, now = tables.event, database_time(connection, self._db)
        sql = sa.select(event.c.id).where(event.c.at < now - SETTLED_SECONDS)
        found = connection.execute(sql.order_by(event.c.id.desc()).limit(1)).scalar_one_or_none() or 0
        with self._lock:
            self._complete = max(self._complete, found)
            return self._complete

    def reach(self, patience_seconds: float) -> int:
        """Return the same once it includes all events that are committed now, or after ``patience_seconds``."""
        until = time.monotonic() + patience_seconds
        complete = self.look()
        with self._lock:
            newest = max((mark.newest_event for mark in self._marks), default=complete)
        while complete < newest and time.monotonic() < until:
            time.sleep(_PAUSE_SECONDS)
            complete = self.look()
        return complete

    def begin_again(self) -> None:
        """Start anew with another history, as after a restore of the database."""
        with self._lock:
            self._marks, self._complete = [], 0

    def _is_news(self, newest_event: int) -> bool:
        with self._lock:
            last = self._marks[-1].newest_event if self._marks else self._complete
            return newest_event > last and len(self._marks) < _MOST_MARKS

    def _passed(self, oldest_open: int, now: float) -> int:
        with self._lock:
            waiting = []
            for mark in self._marks:
                if mark.transaction <= oldest_open or mark.at < now - SETTLED_SECONDS:
                    self._complete = max(self._complete, mark.newest_event)
                else:
                    waiting.append(mark)
            self._marks = waiting
            return self._complete


_NEXT_TRANSACTION = "SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint)"
_OLDEST_OPEN = "CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint)"
