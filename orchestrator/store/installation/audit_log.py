"""The audit log: append-only, each record with the hash of all before it."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final

from orchestrator.model.audit import NO_HASH, AuditCheck, AuditEntry, AuditRecord
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.purging.unneeded import is_delivered
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orchestrator.model.codec import Codec
    from orchestrator.store.database import Database
    from orchestrator.store.repository import Timings

#: The key of the lock under which one process at a time appends, on PostgreSQL; SQLite has one writer.
_LOCK: Final = 0x15074E12
_LOCKED: Final = "SELECT pg_advisory_xact_lock(:key)"
_BATCH: Final = 1000
#: A user's refused attempts of one kind are recorded once in so many seconds, by each process, with their number.
PACE_SECONDS: Final = 60.0
#: The type of the events that event sinks receive of records.
EVENT_TYPE: Final = "audit"
_NEWEST: Final = "SELECT seq, hash FROM audit_record ORDER BY seq DESC LIMIT 1"
_COLUMNS: Final = tuple(AuditEntry.__dataclass_fields__)


class AuditLog(Repository):
    """The table of audit records."""

    def __init__(
        self,
        database: Database,
        codec: Codec,
        timings: Timings,
        has_events: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(database, codec, timings)
        self._clock = clock
        #: Whether event sinks receive records.
        self.has_events = has_events
        #: When the last refusal of a user and an action was recorded, and how many came since.
        self._refused: dict[tuple[str, str], tuple[float, int]] = {}

    @retrying
    def append(self, entry: AuditEntry) -> None:
        """Append a record; after a lost connection it may be there twice."""
        with self._db.timed_transaction() as (direct, now):
            if self._db.postgres:
                direct.rows(_LOCKED, {"key": _LOCK})
            last = direct.first(_NEWEST, {})
            seq, previous = (last.seq, last.hash) if last else (0, NO_HASH)
            record = AuditRecord.after(previous, entry, seq=seq + 1, at=now)
            direct.insert("audit_record", [_values(record)])
            if self.has_events:
                self._report(direct.alchemy, record)

    def append_refusal(self, entry: AuditEntry) -> None:
        """Append the record of a refusal, unless :meth:`paced` leaves it out."""
        if (due := self.paced(entry)) is not None:
            self.append(due)

    def paced(self, entry: AuditEntry) -> AuditEntry | None:
        """Return the entry of a refusal; None if the same user was refused the same action just before.

        One who tries a million times so leaves a record a minute, which has the number of those that were left out.
        """
        key, now = (entry.user, entry.action), self._clock()
        recorded_at, left_out = self._refused.get(key, (float("-inf"), 0))
        if now - recorded_at < PACE_SECONDS:
            self._refused[key] = recorded_at, left_out + 1
            return None
        self._refused[key] = now, 0
        more = f" ({left_out} more since the last record)" if left_out else ""
        return replace(entry, detail=entry.detail + more)

    def newest(self, limit: int) -> list[AuditRecord]:
        """Return the newest records, the newest first."""
        table = tables.audit_record
        return [
            _record(row) for row in self._db.rows(sa.select(table).order_by(table.c.seq.desc()).limit(limit))
        ]

    def verify(self, expected: str = "") -> AuditCheck:
        """Return whether every record fits those before it, and the ``expected`` hash is one of theirs, if given."""
        hash_before, count, is_found = NO_HASH, 0, not expected
        for record in self._all():
            fits = AuditRecord.after(hash_before, record.entry, seq=count + 1, at=record.at)
            if record != fits:
                why = (
                    f"records {count + 1} to {record.seq - 1} are missing"
                    if record.seq > count + 1
                    else "it is not what was recorded, or the one before it is not"
                )
                return AuditCheck(records=count, last_hash=hash_before, broken_at=count + 1, why=why)
            hash_before, count = record.hash, count + 1
            is_found = is_found or record.hash == expected
        if not is_found:
            why = "no record has the expected hash: the newest ones are missing, or all were written anew"
            return AuditCheck(records=count, last_hash=hash_before, broken_at=count + 1, why=why)
        return AuditCheck(records=count, last_hash=hash_before)

    def _all(self) -> Iterator[AuditRecord]:
        table, after = tables.audit_record, 0
        while rows := self._db.rows(
            sa.select(table).where(table.c.seq > after).order_by(table.c.seq).limit(_BATCH)
        ):
            yield from map(_record, rows)
            after = rows[-1].seq

    @staticmethod
    def _report(connection: sa.Connection, record: AuditRecord) -> None:
        """Record an event for the event sinks of the settings, if there are any, and remove those that all have."""
        event, cursor = tables.event, tables.sink_cursor
        delivered = event.delete().where(event.c.stack_id == "", is_delivered(event, ""))
        connection.execute(delivered)
        if (
            connection.execute(sa.select(cursor.c.name).where(cursor.c.stack_id.is_(None)).limit(1)).first()
            is None
        ):
            return
        values = {
            "at": record.at,
            "stack_id": "",
            "traversal_id": "",
            "resource": record.entry.target,
            "type": EVENT_TYPE,
            "action": record.entry.action,
            "status": record.entry.outcome.upper(),
            "reason": json.dumps(record.to_dict()),
            "user_name": record.entry.user,
        }
        connection.execute(event.insert().values(values))


def _values(record: AuditRecord) -> dict[str, Any]:
    entry = asdict(record.entry)
    return {"seq": record.seq, "at": record.at, "user_name": entry.pop("user"), **entry, "hash": record.hash}


def _record(row: Any) -> AuditRecord:
    values = {name: getattr(row, "user_name" if name == "user" else name) for name in _COLUMNS}
    return AuditRecord(seq=row.seq, at=row.at, entry=AuditEntry(**values), hash=row.hash)
