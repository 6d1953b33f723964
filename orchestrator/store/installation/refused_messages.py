"""Refused messages, as processes record them: how many for which reason, and the last ones."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import sqlalchemy as sa

from orchestrator.errors import NotFound
from orchestrator.store import tables
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying, tried_once

#: How many of them are kept; older ones are removed.
MOST_KEPT: Final = 1000

_COUNT = sa.text(
    "INSERT INTO refused_count (place, reason, amount, last_at) VALUES (:place, :reason, :amount, :now) "
    "ON CONFLICT (place, reason) DO UPDATE SET amount = refused_count.amount + excluded.amount, "
    "last_at = excluded.last_at"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedMessage:
    """A trace of a refused message, without its content."""

    #: Seconds since the epoch, by the clock of the process that refused it.
    received_at: float
    #: The queue or the mailbox.
    place: str
    #: One of :data:`orchestrator.keys.envelope.REASONS`, and a sentence.
    reason: str
    sentence: str
    #: As the message said, unproven; may be empty.
    task: str
    message_id: str
    size_bytes: int
    #: SHA-256 of its body, in hexadecimal digits.
    digest: str
    #: Ascending; 0 before it is written.
    no: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedCount:
    """How many messages of a place were refused for one reason."""

    place: str
    reason: str
    amount: int
    #: Seconds since the epoch, of the last.
    last_at: float


class RefusedMessages(Repository):
    """The refused messages of all processes."""

    @tried_once()
    def add(self, counts: Mapping[tuple[str, str], int], samples: Sequence[RefusedMessage]) -> None:
        """Add the counts of a process, by place and reason, and some messages; the oldest beyond the limit go.

        Raises:
            Unavailable: the database does not answer, or refuses.
        """
        table = tables.refused_message
        with self._db.timed_write() as (connection, now):
            # In one order, so that concurrent writers cannot deadlock.
            connection.execute(
                _COUNT,
                [
                    {"place": place, "reason": reason, "amount": counts[place, reason], "now": now}
                    for place, reason in sorted(counts)
                ],
            )
            if samples:
                rows = [
                    {name: value for name, value in asdict(each).items() if name != "no"} for each in samples
                ]
                connection.execute(table.insert(), rows)
                newest = sa.select(table.c.no).order_by(table.c.no.desc()).offset(MOST_KEPT).limit(1)
                connection.execute(table.delete().where(table.c.no <= newest.scalar_subquery()))

    def counts(self) -> list[RefusedCount]:
        """Return how many were refused, by place and reason."""
        table = tables.refused_count
        rows = self._db.rows(sa.select(table).order_by(table.c.place, table.c.reason))
        return [RefusedCount(**row._mapping) for row in rows]

    def newest(self, limit: int) -> list[RefusedMessage]:
        """Return the newest that are kept, the newest first."""
        table = tables.refused_message
        rows = self._db.rows(sa.select(table).order_by(table.c.no.desc()).limit(limit))
        return [RefusedMessage(**row._mapping) for row in rows]

    def get(self, no: int) -> RefusedMessage:
        """Return one of them.

        Raises:
            NotFound: there is none, or it was removed since.
        """
        table = tables.refused_message
        row = self._db.first(sa.select(table).where(table.c.no == no))
        if row is None:
            raise NotFound(f"there is no refused message {no}")
        return RefusedMessage(**row._mapping)

    def why(self, message_id: str) -> str:
        """Return the sentence about the last message of this id that was refused; empty if none is kept."""
        table = tables.refused_message
        found = self._db.value(
            sa.select(table.c.sentence)
            .where(table.c.message_id == message_id)
            .order_by(table.c.no.desc())
            .limit(1)
        )
        return str(found or "")

    @retrying
    def purge(self) -> int:
        """Remove all of them, and the counts; return how many were counted."""
        with self._db.write() as connection:
            amounts = connection.execute(
                tables.refused_count.delete().returning(tables.refused_count.c.amount)
            )
            connection.execute(tables.refused_message.delete())
            return sum(amounts.scalars())
