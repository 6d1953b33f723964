"""Counters of caches, of all processes together; and flushes, which all processes read.

Counts are added in one try, because the caller can add them later. If the connection breaks just before the answer,
they are then counted twice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, field
from typing import Final

from cache.constraints.counters import Counts
from hooks.values.dataclass import dataclass
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.database import database_time, text_of
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying, tried_once
from orchestrator.store.rows import AnyRow

_NAMES = tuple(Counts.__slots__)
_ADD: Final = (
    f"INSERT INTO cache_counter (client, since, {', '.join(_NAMES)}) "
    f"VALUES (:client, :now, {', '.join(f':{name}' for name in _NAMES)}) "
    f"ON CONFLICT (client) DO UPDATE SET "
    f"{', '.join(f'{name} = cache_counter.{name} + excluded.{name}' for name in _NAMES)}"
)
_ADD_AMOUNT: Final = (
    "INSERT INTO node_counter (name, since, amount) VALUES (:name, :now, :amount) "
    "ON CONFLICT (name) DO UPDATE SET amount = node_counter.amount + excluded.amount"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheTotals:
    """The counters of one client plugin's cache, of all processes together."""

    counts: Counts
    #: When counting began.
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTotals:
    """The machine-state cache counters of all processes together, by name."""

    #: When counting began; None before the first count.
    since: float | None = None
    amounts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flushes:
    """The last flushes of caches."""

    #: The time of the last flush, by client plugin.
    at: Mapping[str, float]
    #: The time of this read.
    now: float


class CacheCounters(Repository):
    """The counters of constraint caches, by the name of the client plugin."""

    @tried_once()
    def add(self, deltas: Mapping[str, Counts]) -> None:
        """Add the counts of a process.

        Raises:
            Unavailable: the database does not answer, or refuses.
        """
        with self._db.timed_write() as (connection, now):
            # In one order, so that concurrent writers cannot deadlock.
            rows = [{"client": client, "now": now, **asdict(deltas[client])} for client in sorted(deltas)]
            connection.execute(text_of(_ADD), rows)

    def read(self) -> dict[str, CacheTotals]:
        """Return the counters of each client plugin that has any."""
        return _cache_totals(self._db.rows(sa.select(tables.cache_counter)))

    @retrying
    def reset(self, client: str | None = None) -> dict[str, CacheTotals]:
        """Reset the counters of one client plugin or of all to zero; return their last values."""
        table = tables.cache_counter
        which = sa.true() if client is None else table.c.client == client
        with self._db.write() as connection:
            return _cache_totals(connection.execute(table.delete().where(which).returning(*table.c)).all())


class NodeCounters(Repository):
    """The counters of the machine-state cache, by name."""

    @tried_once()
    def add(self, amounts: Mapping[str, float]) -> None:
        """Add the counts of a process since its last call.

        Raises:
            Unavailable: the database does not answer, or refuses.
        """
        if not amounts:
            return
        with self._db.timed_write() as (connection, now):
            # As above.
            rows = [{"name": name, "now": now, "amount": amounts[name]} for name in sorted(amounts)]
            connection.execute(text_of(_ADD_AMOUNT), rows)

    def read(self) -> NodeTotals:
        """Return the counters."""
        return _node_totals(self._db.rows(sa.select(tables.node_counter)))

    @retrying
    def reset(self) -> NodeTotals:
        """Reset the counters to zero; return their last values."""
        table = tables.node_counter
        with self._db.write() as connection:
            return _node_totals(connection.execute(table.delete().returning(*table.c)).all())


class CacheFlushes(Repository):
    """Flushes, recorded for the processes that keep answers in their own memory."""

    @retrying
    def note(self, clients: Collection[str]) -> None:
        """Record that the caches of these client plugins are flushed now."""
        sql = sa.text(
            "INSERT INTO cache_flush (client, flushed_at) VALUES (:client, :now) "
            "ON CONFLICT (client) DO UPDATE SET flushed_at = excluded.flushed_at"
        )
        with self._db.timed_write() as (connection, now):
            rows = [{"client": client, "now": now} for client in sorted(clients)]
            if rows:
                connection.execute(sql, rows)

    @tried_once()
    def read(self) -> Flushes:
        """Return the time of each cache's last flush; caches without one are left out.

        Raises:
            Unavailable: the database does not answer, or refuses; the caller reads again soon.
        """
        with self._db.read() as connection:
            rows = connection.execute(sa.select(tables.cache_flush)).all()
            at = {row.client: row.flushed_at for row in rows}
            return Flushes(at=at, now=database_time(connection, self._db))


def _cache_totals(rows: Sequence[AnyRow]) -> dict[str, CacheTotals]:
    return {
        row.client: CacheTotals(
            counts=Counts(**{name: getattr(row, name) for name in _NAMES}), since=row.since
        )
        for row in rows
    }


def _node_totals(rows: Sequence[AnyRow]) -> NodeTotals:
    amounts = {row.name: row.amount for row in sorted(rows, key=lambda row: str(row.name))}
    return NodeTotals(since=min((row.since for row in rows), default=None), amounts=amounts)
