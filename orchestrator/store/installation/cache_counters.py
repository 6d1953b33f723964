"""What the constraint caches of all processes counted, brought together, and word of flushes for all of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from cache.constraints.counters import Counts
from orchestrator.errors import Unavailable
from orchestrator.store import tables
from orchestrator.store.database import Database, database_time, retrying

_NAMES = tuple(Counts.__slots__)
_ADD = sa.text(
    f"INSERT INTO cache_counter (client, since, {', '.join(_NAMES)}) "
    f"VALUES (:client, :now, {', '.join(f':{name}' for name in _NAMES)}) "
    f"ON CONFLICT (client) DO UPDATE SET "
    f"{', '.join(f'{name} = cache_counter.{name} + excluded.{name}' for name in _NAMES)}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheTotals:
    """What all processes counted of one client plugin's cache."""

    counts: Counts
    #: When counting began.
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Flushes:
    """When caches were flushed last."""

    #: By client plugin.
    at: Mapping[str, float]
    #: What time it is now.
    now: float


class CacheCounters:
    """The counters of constraint caches, by the name of the client plugin."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, deltas: Mapping[str, Counts]) -> None:
        """Add what a process counted.

        It is tried once: whoever adds can wait, and adds it later. What was added when the connection broke just
        before the answer is then counted twice.

        Raises:
            Unavailable: the database does not answer, or refuses.
        """
        try:
            with self._db.write() as connection:
                now = database_time(connection, self._db)
                # In one order, so that two who add at once never wait for each other.
                rows = [{"client": client, "now": now, **asdict(deltas[client])} for client in sorted(deltas)]
                connection.execute(_ADD, rows)
        except DBAPIError as error:
            raise Unavailable(f"the database does not answer: {error.orig}") from error

    @retrying
    def read(self) -> dict[str, CacheTotals]:
        """Return what was counted of each client that anything was counted of."""
        with self._db.read() as connection:
            return _totals(connection.execute(sa.select(tables.cache_counter)).all())

    @retrying
    def reset(self, client: str | None = None) -> dict[str, CacheTotals]:
        """Begin again at zero, of one client or of all; return what was counted until then."""
        table = tables.cache_counter
        which = sa.true() if client is None else table.c.client == client
        with self._db.write() as connection:
            return _totals(connection.execute(table.delete().where(which).returning(*table.c)).all())


class CacheFlushes:
    """Word of flushes, for the processes that keep answers in their own memory."""

    def __init__(self, database: Database) -> None:
        self._db = database

    @retrying
    def note(self, clients: Collection[str]) -> None:
        """Leave word that the caches of these client plugins are to be emptied now."""
        sql = sa.text(
            "INSERT INTO cache_flush (client, flushed_at) VALUES (:client, :now) "
            "ON CONFLICT (client) DO UPDATE SET flushed_at = excluded.flushed_at"
        )
        with self._db.write() as connection:
            now = database_time(connection, self._db)
            rows = [{"client": client, "now": now} for client in sorted(clients)]
            if rows:
                connection.execute(sql, rows)

    def read(self) -> Flushes:
        """Return when each cache was flushed last; of one that never was, nothing.

        It is tried once: whoever looks from time to time looks again.

        Raises:
            Unavailable: the database does not answer, or refuses.
        """
        try:
            with self._db.read() as connection:
                rows = connection.execute(sa.select(tables.cache_flush)).all()
                return Flushes(
                    at={row.client: row.flushed_at for row in rows}, now=database_time(connection, self._db)
                )
        except DBAPIError as error:
            raise Unavailable(f"the database does not answer: {error.orig}") from error


def _totals(rows: Sequence[sa.Row[Any]]) -> dict[str, CacheTotals]:
    return {
        row.client: CacheTotals(
            counts=Counts(**{name: getattr(row, name) for name in _NAMES}), since=row.since
        )
        for row in rows
    }
