"""Constraint cache counters of all processes together, and flushes, which all processes read."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from cache.constraints.counters import Counts
from orchestrator.errors import Unavailable
from orchestrator.store import tables
from orchestrator.store.database import Database, database_time, retrying
from orchestrator.store.rows import AnyRow

_NAMES = tuple(Counts.__slots__)
_ADD = sa.text(
    f"INSERT INTO cache_counter (client, since, {', '.join(_NAMES)}) "
    f"VALUES (:client, :now, {', '.join(f':{name}' for name in _NAMES)}) "
    f"ON CONFLICT (client) DO UPDATE SET "
    f"{', '.join(f'{name} = cache_counter.{name} + excluded.{name}' for name in _NAMES)}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheTotals:
    """The counters of one client plugin's cache, of all processes together."""

    counts: Counts
    #: When counting began.
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Flushes:
    """The last flushes of caches."""

    #: The time of the last flush, by client plugin.
    at: Mapping[str, float]
    #: The time of this read.
    now: float


class CacheCounters:
    """The counters of constraint caches, by the name of the client plugin."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, deltas: Mapping[str, Counts]) -> None:
        """Add the counts of a process.

        It is tried once, because the caller can add them later. If the connection breaks just before the answer, they
        are then counted twice.

        Raises:
            Unavailable: the database does not answer, or refuses.
        """
        try:
            with self._db.write() as connection:
                now = database_time(connection, self._db)
                # In one order, so that concurrent writers cannot deadlock.
                rows = [{"client": client, "now": now, **asdict(deltas[client])} for client in sorted(deltas)]
                connection.execute(_ADD, rows)
        except DBAPIError as error:
            raise Unavailable(f"the database does not answer: {error.orig}") from error

    @retrying
    def read(self) -> dict[str, CacheTotals]:
        """Return the counters of each client plugin that has any."""
        with self._db.read() as connection:
            return _totals(connection.execute(sa.select(tables.cache_counter)).all())

    @retrying
    def reset(self, client: str | None = None) -> dict[str, CacheTotals]:
        """Reset the counters of one client plugin or of all to zero; return their last values."""
        table = tables.cache_counter
        which = sa.true() if client is None else table.c.client == client
        with self._db.write() as connection:
            return _totals(connection.execute(table.delete().where(which).returning(*table.c)).all())


class CacheFlushes:
    """Flushes, recorded for the processes that keep answers in their own memory."""

    def __init__(self, database: Database) -> None:
        self._db = database

    @retrying
    def note(self, clients: Collection[str]) -> None:
        """Record that the caches of these client plugins are flushed now."""
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
        """Return the time of each cache's last flush; caches without one are left out.

        It is tried once, because the caller reads again soon.

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


def _totals(rows: Sequence[AnyRow]) -> dict[str, CacheTotals]:
    return {
        row.client: CacheTotals(
            counts=Counts(**{name: getattr(row, name) for name in _NAMES}), since=row.since
        )
        for row in rows
    }
