"""Machine-state cache counters of all processes together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from orchestrator.errors import Unavailable
from orchestrator.store import tables
from orchestrator.store.database import Database, database_time, retrying
from orchestrator.store.rows import AnyRow

_ADD = sa.text(
    "INSERT INTO node_counter (name, since, amount) VALUES (:name, :now, :amount) "
    "ON CONFLICT (name) DO UPDATE SET amount = node_counter.amount + excluded.amount"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTotals:
    """The counters of all processes together."""

    #: When counting began; None before the first count.
    since: float | None = None
    amounts: Mapping[str, float] = field(default_factory=dict)


class NodeCounters:
    """The counters, by name."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, amounts: Mapping[str, float]) -> None:
        """Add the counts of a process since its last call.

        It is tried once, because the caller can add them later. If the connection breaks just before the answer, they
        are then counted twice.

        Raises:
            Unavailable: the database does not answer, or refuses.
        """
        if not amounts:
            return
        try:
            with self._db.write() as connection:
                now = database_time(connection, self._db)
                # In one order, so that concurrent writers cannot deadlock.
                rows = [{"name": name, "now": now, "amount": amounts[name]} for name in sorted(amounts)]
                connection.execute(_ADD, rows)
        except DBAPIError as error:
            raise Unavailable(f"the database does not answer: {error.orig}") from error

    @retrying
    def read(self) -> NodeTotals:
        """Return the counters."""
        with self._db.read() as connection:
            return _totals(connection.execute(sa.select(tables.node_counter)).all())

    @retrying
    def reset(self) -> NodeTotals:
        """Reset the counters to zero; return their last values."""
        table = tables.node_counter
        with self._db.write() as connection:
            return _totals(connection.execute(table.delete().returning(*table.c)).all())


def _totals(rows: Sequence[AnyRow]) -> NodeTotals:
    found = sorted(rows, key=lambda row: str(row.name))
    return NodeTotals(
        since=min((row.since for row in found), default=None), amounts={row.name: row.amount for row in found}
    )
