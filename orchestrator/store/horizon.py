"""The horizon of the history: the id up to which no event can appear any more.

Ids are assigned before transactions commit. On PostgreSQL an open transaction may hold a lower id than one that is
visible already, and a reader that continues after the last visible id would miss it. SQLite has one writer at a time,
so its visible events are complete.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from hooks.values.dataclass import dataclass
from orchestrator.store.database import database_time
from orchestrator.store.retrying import retrying

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from orchestrator.store.database import Database
    from orchestrator.store.direct import Direct

#: After this time, only open transactions that write events are waited for, not those of others on the same server.
SETTLED_SECONDS = 120
#: The pause between looks while a reader waits for open transactions.
_PAUSE_SECONDS = 0.005
#: The most marks that are pending at once.
_MOST_MARKS = 256
#: The largest short id of a transaction; these begin again at zero.
_SHORT = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """The newest event at one moment; up to it all is complete once the transactions of that moment are over."""

    #: A transaction id above those of all transactions that had one at that moment.
    transaction: int
    newest_event: int
    at: float

    def is_above(self, transactions: Iterable[int]) -> bool:
        """Return whether none of these had its id when the mark was made; their ids are short, as locks have them."""
        behind = (self.transaction - each & _SHORT for each in transactions)
        return not any(0 < distance < _SHORT // 2 for distance in behind)


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
        with self._db.reading() as direct:
            seen: int = direct.one(_NEWEST, {}).id
            if not self._db.postgres:
                return seen
            if self._is_news(seen):
                # pg_current_snapshot() does not suffice: it knows only the open transactions that began before the
                # last finished one.
                transaction = direct.one(_NEXT_TRANSACTION, {}).id
                at = database_time(direct, self._db)
                with self._lock:
                    self._marks.append(_Mark(transaction=transaction, newest_event=seen, at=at))
            if not self._marks:
                return self._complete
            row = direct.one(f"SELECT {_OLDEST_OPEN} AS oldest, {self._db.now} AS now", {})
            oldest, now = row.oldest, row.now
            complete = self._passed(lambda mark: mark.transaction <= oldest)
            if self._is_any_settled(now):
                writers = [each.id for each in direct.rows(_WRITERS, {})]
                complete = self._passed(
                    lambda mark: mark.at < now - SETTLED_SECONDS and mark.is_above(writers)
                )
            # Otherwise a reader that starts while a writer is active would start at the first event.
            return complete or self._start(direct)

    def _start(self, direct: Direct) -> int:
        """Return the last event that is older than any open transaction that writes events; 0 if there is none."""
        row = direct.one(f"SELECT {self._db.now} AS now, ({_LONGEST_WRITER}) AS open_seconds", {})
        until = row.now - SETTLED_SECONDS - float(row.open_seconds or 0)
        found = direct.first(
            "SELECT id FROM event WHERE at < :until ORDER BY id DESC LIMIT 1", {"until": until}
        )
        with self._lock:
            self._complete = max(self._complete, found.id if found else 0)
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

    def _is_any_settled(self, now: float) -> bool:
        since = self.behind_since
        return since is not None and since < now - SETTLED_SECONDS

    def _passed(self, is_over: Callable[[_Mark], bool]) -> int:
        with self._lock:
            waiting = []
            for mark in self._marks:
                if is_over(mark):
                    self._complete = max(self._complete, mark.newest_event)
                else:
                    waiting.append(mark)
            self._marks = waiting
            return self._complete


_NEWEST = "SELECT COALESCE(max(id), 0) AS id FROM event"
_NEXT_TRANSACTION = "SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint) AS id"
_OLDEST_OPEN = "CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint)"
# A transaction that has taken the id of an event holds this lock on the table to its end.
_WRITES = """
    writes.relation = CAST('event' AS regclass) AND writes.mode = 'RowExclusiveLock' AND writes.granted
    AND writes.database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
_WRITERS = f"""
    SELECT CAST(CAST(xact.transactionid AS text) AS bigint) AS id
    FROM pg_locks xact JOIN pg_locks writes USING (virtualtransaction)
    WHERE xact.locktype = 'transactionid' AND xact.mode = 'ExclusiveLock' AND xact.granted AND {_WRITES}"""
_LONGEST_WRITER = f"""
    SELECT extract(epoch FROM clock_timestamp() - min(process.xact_start))
    FROM pg_stat_activity process JOIN pg_locks writes USING (pid) WHERE {_WRITES}"""
