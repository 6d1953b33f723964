"""Up to which id the history is complete: below it no event comes any more.

Ids are given before transactions commit. On PostgreSQL a transaction that is still open may hold a lower id than one
that everybody can see, so whoever reads on from the last id that he saw would miss it. SQLite has one writer at a
time: what is seen there is complete.
"""

import threading
import time
from dataclasses import dataclass

import sqlalchemy as sa

from orchestrator.store import tables
from orchestrator.store.database import Database, database_time, retrying

#: No transaction that writes an event is open for longer than this: the server ends those that stand still before it.
SETTLED_SECONDS = 120
#: How often it is looked again while transactions are open that somebody waits for.
_PAUSE_SECONDS = 0.005
#: So many marks wait at most; while they do, no further ones are made.
_MOST_MARKS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """What was seen at one moment, which is complete once all transactions of that moment are over."""

    #: A transaction's number that is higher than those of all that had one at that moment.
    transaction: int
    newest_event: int
    at: float


class Horizon:
    """Knows how far the history may be read by whoever must not miss an event; threads may share it.

    A writer has its transaction's number before it takes an event's id. So once every transaction is over that had a
    number at some moment, no id that had been given by then is still to be seen.
    """

    def __init__(self, database: Database) -> None:
        self._db = database
        self._marks: list[_Mark] = []
        self._complete = 0
        self._lock = threading.Lock()

    @property
    def is_behind(self) -> bool:
        """Whether events were seen, when somebody looked last, above which others may still be missing."""
        return bool(self._marks)

    @property
    def behind_since(self) -> float | None:
        """The database's time as of which events were seen above which others may still be missing; None: none are."""
        with self._lock:
            return min((mark.at for mark in self._marks), default=None)

    @retrying
    def look(self) -> int:
        """Return the highest id up to which no event is missing; it never falls.

        While transactions are open, it is as of the last moment whose transactions are over: ask again soon.
        """
        newest = sa.select(sa.func.coalesce(sa.func.max(tables.event.c.id), 0))
        with self._db.read() as connection:
            seen: int = connection.execute(newest).scalar_one()
            if not self._db.postgres:
                return seen
            if self._is_news(seen):
                # A snapshot does not tell this: of the transactions that are open it knows those alone that began
                # before the last one that is over.
                transaction = connection.execute(sa.text(_NEXT_TRANSACTION)).scalar_one()
                at = database_time(connection, self._db)
                self._add(_Mark(transaction=transaction, newest_event=seen, at=at))
            if not self._marks:
                return self._complete
            oldest = connection.execute(sa.text(f"SELECT {_OLDEST_OPEN}, {self._db.now}")).one()
            complete = self._passed(*oldest)
            # Whoever begins while somebody writes would begin with the first event of all.
            return complete or self._begun(connection)

    def _begun(self, connection: sa.Connection) -> int:
        """Return the last event that no open transaction can be older than, and begin there; 0 if there is none."""
        event, now = tables.event, database_time(connection, self._db)
        sql = sa.select(event.c.id).where(event.c.at < now - SETTLED_SECONDS)
        found = connection.execute(sql.order_by(event.c.id.desc()).limit(1)).scalar_one_or_none() or 0
        with self._lock:
            self._complete = max(self._complete, found)
            return self._complete

    def reach(self, patience_seconds: float) -> int:
        """Return the same once it includes all that is committed now, or when the patience is over."""
        until = time.monotonic() + patience_seconds
        complete = self.look()
        with self._lock:
            newest = max((mark.newest_event for mark in self._marks), default=complete)
        while complete < newest and time.monotonic() < until:
            time.sleep(_PAUSE_SECONDS)
            complete = self.look()
        return complete

    def begin_again(self) -> None:
        """Forget everything: the history is another one, as after a database was restored from a copy."""
        with self._lock:
            self._marks, self._complete = [], 0

    def _is_news(self, newest_event: int) -> bool:
        with self._lock:
            last = self._marks[-1].newest_event if self._marks else self._complete
            return newest_event > last and len(self._marks) < _MOST_MARKS

    def _add(self, mark: _Mark) -> None:
        with self._lock:
            self._marks.append(mark)

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
