"""Textual statements on the driver itself: those of every check, and those of short commands.

SQLAlchemy's share of a statement costs as much as the statement, and to import it longer than all else that a short
command does. On PostgreSQL it pools the connections. Everything else in the store uses SQLAlchemy.
"""

from __future__ import annotations

import functools
import re
from collections import namedtuple
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from hooks.values.texts import storable
from orchestrator.model.sentences import SentenceSeal
from orchestrator.store.alchemy import sa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from orchestrator.store.rows import AnyRow, Values

#: A transaction, by what runs its statements.
Transaction: TypeAlias = "sa.Connection | Direct"
_NO_SEAL: Final = SentenceSeal()
_PARAMETER = re.compile(r"(?<!:):([a-z_]+)")


@functools.cache
def _row_type(names: tuple[str, ...]) -> Callable[[Sequence[Any]], Any]:
    # Not typing.NamedTuple: only the statement knows the columns.
    kind: Any = namedtuple("Row", list(names))  # type: ignore[misc]
    make: Callable[[Sequence[Any]], Any] = kind._make
    return make


@functools.cache
def _raw_cursor() -> Any:
    """Return psycopg's cursor that leaves a statement as it is: its others parse a long one at each call."""
    import psycopg

    return psycopg.RawCursor


@functools.lru_cache(maxsize=1024)
def _numbered(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """Return the statement as PostgreSQL reads it, with ``$1`` in place of names, and the names in their order."""
    names = tuple(dict.fromkeys(_PARAMETER.findall(sql)))
    numbers = {name: number for number, name in enumerate(names, 1)}
    text = _PARAMETER.sub(lambda found: f"${numbers[found[1]]}", sql)
    return text.encode(), names


#: The key of a connection's cursors in SQLAlchemy's record of it. A cursor that runs the same statement again knows how
#: to convert its values; a new one would find that out anew, which is a third of what the driver does.
CURSORS: Final = "isotherm_cursors"
#: How many a connection keeps: more than there are statements, but for simulations, which have the time in each.
_MOST_CURSORS: Final = 64


class Direct:
    """One transaction, or on PostgreSQL one statement that is a transaction, with ``:names`` of parameters.

    PostgreSQL prepares each statement at its first use.
    """

    def __init__(
        self,
        driver: Any,
        *,
        cursors: dict[str, Any] | None = None,
        connect: Callable[[], sa.Connection] | None = None,
        seal: SentenceSeal = _NO_SEAL,
    ) -> None:
        """Keep the arguments; with ``cursors``, those that the connection keeps by statement, it is PostgreSQL's.

        ``connect`` connects SQLAlchemy to the transaction; ``seal`` encrypts the database's sentences.
        """
        self._driver, self._cursors, self._connect, self._seal = driver, cursors, connect, seal
        self._alchemy: sa.Connection | None = None

    @classmethod
    def of(cls, connection: Transaction) -> Direct:
        """Return the transaction that a connection of SQLAlchemy is in, for textual statements."""
        if isinstance(connection, Direct):
            return connection
        from orchestrator.store.tables.schema import seal_of

        lent = connection.connection
        is_postgres = connection.dialect.name == "postgresql"
        cursors = lent.info.setdefault(CURSORS, {}) if is_postgres else None
        direct = cls(lent.driver_connection, cursors=cursors, seal=seal_of(connection.dialect))
        direct._alchemy = connection
        return direct

    def sealed(self, sentence: str) -> str:
        """Return a sentence as it is bound; columns of SQLAlchemy's statements do so themselves."""
        return self._seal.sealed(storable(sentence))

    def opened(self, stored: str) -> str:
        """Return a sentence that a statement has read."""
        return self._seal.opened(stored)

    @property
    def is_postgres(self) -> bool:
        """Whether it is a transaction of PostgreSQL."""
        return self._cursors is not None

    @property
    def alchemy(self) -> sa.Connection:
        """The transaction for statements of SQLAlchemy.

        Raises:
            RuntimeError: there is none, since each statement is a transaction by itself.
        """
        if self._alchemy is None:
            if self._connect is None:
                raise RuntimeError("each statement is a transaction by itself")
            self._alchemy = self._connect()
        return self._alchemy

    def close(self) -> None:
        """Take SQLAlchemy's connection back, if one was made."""
        if self._alchemy is not None:
            self._alchemy.close()

    def rows(self, sql: str, values: Values) -> Sequence[AnyRow]:
        """Run a statement; return its rows, which have the columns as attributes."""
        cursor = self._execute(sql, values)
        rows = _rows_of(sql, cursor)
        self._keep(sql, cursor)
        return rows

    def first(self, sql: str, values: Values) -> AnyRow | None:
        """Run a statement; return its first row, None for none."""
        return next(iter(self.rows(sql, values)), None)

    def one(self, sql: str, values: Values) -> AnyRow:
        """Run a statement that always finds a row; return the first.

        Raises:
            NoResultFound: it finds none.
        """
        row = self.first(sql, values)
        if row is None:
            raise sa.exc.NoResultFound("no row was found when one was required")
        return row

    def together(self, calls: Sequence[tuple[str, Values]]) -> Sequence[Sequence[AnyRow]]:
        """Run statements in one transaction and, on PostgreSQL, one round trip; return the rows of each."""
        if len(calls) == 1:
            return [self.rows(*calls[0])]
        with self._driver.pipeline():
            cursors = [self._execute(sql, values) for sql, values in calls]
        found = [_rows_of(sql, cursor) for (sql, _), cursor in zip(calls, cursors, strict=True)]
        for (sql, _), cursor in zip(calls, cursors, strict=True):
            self._keep(sql, cursor)
        return found

    def count(self, sql: str, values: Values) -> int:
        """Run a statement; return how many rows it changed."""
        cursor = self._execute(sql, values)
        changed: int = cursor.rowcount
        self._keep(sql, cursor)
        return changed

    def run(self, sql: str) -> None:
        """Run a statement without parameters and results."""
        self._driver.execute(sql)

    def update(self, table: str, values: Values, which: str, bound: Values) -> int:
        """Give columns values in the rows for which a condition holds; return how many these are.

        ``bound`` are the values of the condition's parameters, none of which is called as one of the columns.
        """
        setting = ", ".join(f"{name} = :{name}" for name in values)
        return self.count(f"UPDATE {table} SET {setting} WHERE {which}", {**values, **bound})  # names of ours

    def insert(self, table: str, rows: Sequence[Values]) -> None:
        """Insert rows with the same columns at once, several on PostgreSQL by COPY."""
        if not rows:
            return
        columns = list(rows[0])
        names = ", ".join(columns)
        if self._cursors is None or len(rows) == 1:
            sql = f"INSERT INTO {table} ({names}) VALUES ({', '.join(f':{name}' for name in columns)})"  # names of ours
            if len(rows) == 1:
                self.count(sql, rows[0])
            else:
                self._execute_each(sql, rows)
            return
        with self._driver.cursor() as cursor, cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row([row[column] for column in columns])

    def _execute(self, sql: str, values: Values) -> Any:
        if self._cursors is None:
            return self._driver.execute(sql, values)
        text, names = _numbered(sql)
        # One that is in use, or met an error, is not kept.
        cursor = self._cursors.pop(sql, None) or _raw_cursor()(self._driver)
        return cursor.execute(text, [values[name] for name in names], prepare=True)

    def _execute_each(self, sql: str, each: Sequence[Values]) -> None:
        """Run a statement of SQLite with each of several values."""
        self._driver.executemany(sql, each)

    def _keep(self, sql: str, cursor: Any) -> None:
        if self._cursors is not None:
            if len(self._cursors) >= _MOST_CURSORS:
                self._cursors.clear()
            self._cursors[sql] = cursor


#: What makes rows of a statement's results: the driver describes them anew at each call.
_MAKERS: Final[dict[str, Callable[[Sequence[Any]], Any]]] = {}
_MOST_MAKERS: Final = 1024


def _rows_of(sql: str, cursor: Any) -> Sequence[AnyRow]:
    found: Sequence[Any] = cursor.fetchall()
    if not found:
        return found
    make = _MAKERS.get(sql)
    if make is None:
        if len(_MAKERS) >= _MOST_MAKERS:
            # Only simulations, which have the time in their statements, have so many.
            _MAKERS.clear()
        make = _MAKERS[sql] = _row_type(tuple(column[0] for column in cursor.description))
    return [make(row) for row in found]


@contextmanager
def lent_by(pool: sa.Engine) -> Iterator[sa.PoolProxiedConnection]:
    """Lend a connection, for what is done with its driver; a broken connection is discarded.

    Raises:
        DBAPIError: SQLAlchemy's, of the same kind as the driver's own error, also where connecting failed.
    """
    errors: Any = pool.dialect.loaded_dbapi.Error
    try:
        lent = pool.raw_connection()
    except errors as error:
        raise translated(error, pool, broken=False) from error
    try:
        yield lent
    except errors as error:
        broken = pool.dialect.is_disconnect(error, lent.dbapi_connection, None)
        if broken:
            lent.invalidate(error)
        raise translated(error, pool, broken=broken) from error
    finally:
        lent.close()


def translated(error: Exception, pool: sa.Engine, *, broken: bool) -> BaseException:
    """Return a driver's error as SQLAlchemy's of the same kind."""
    # An error about a value keeps its kind: only a broken connection is retried.
    return sa.exc.DBAPIError.instance(
        None,
        None,
        error,
        pool.dialect.loaded_dbapi.Error,
        connection_invalidated=broken,
        dialect=pool.dialect,
    )
