"""Statements on the driver itself, for the few transactions that every check runs: claim, finish, join.

SQLAlchemy pools the connections, but its share of a statement costs as much as the statement. Everything else in the
store uses SQLAlchemy.
"""

import functools
import re
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

if TYPE_CHECKING:
    from orchestrator.store.rows import AnyRow, Values

#: Remedies for SQLite's errors about its file, by the prefix of the error's name.
_REMEDIES = {
    "SQLITE_FULL": "free space, or move the file to another disk",
    "SQLITE_NOTADB": "it is another file, or broken: correct ISOTHERM_DATABASE_URL, or restore it",
    "SQLITE_CORRUPT": "restore it from a backup",
    "SQLITE_CANTOPEN": "make the directory, or make it readable for this user",
    "SQLITE_READONLY": "make the file and its directory writable for this user",
}
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
_MOST_CURSORS: Final = 32


class Direct:
    """One transaction, or on PostgreSQL one statement that is a transaction, with ``:names`` of parameters.

    PostgreSQL prepares each statement at its first use.
    """

    def __init__(self, driver: Any, *, cursors: dict[str, Any] | None = None) -> None:
        """Keep the arguments; with ``cursors``, those that the connection keeps by statement, it is PostgreSQL's."""
        self._driver, self._cursors = driver, cursors

    def rows(self, sql: str, values: "Values") -> Sequence["AnyRow"]:
        """Run a statement; return its rows, which have the columns as attributes."""
        cursor = self._execute(sql, values)
        rows = _rows_of(sql, cursor)
        self._keep(sql, cursor)
        return rows

    def together(self, calls: "Sequence[tuple[str, Values]]") -> "Sequence[Sequence[AnyRow]]":
        """Run statements in one transaction and, on PostgreSQL, one round trip; return the rows of each."""
        if len(calls) == 1:
            return [self.rows(*calls[0])]
        with self._driver.pipeline():
            cursors = [self._execute(sql, values) for sql, values in calls]
        found = [_rows_of(sql, cursor) for (sql, _), cursor in zip(calls, cursors, strict=True)]
        for (sql, _), cursor in zip(calls, cursors, strict=True):
            self._keep(sql, cursor)
        return found

    def count(self, sql: str, values: "Values") -> int:
        """Run a statement; return how many rows it changed."""
        cursor = self._execute(sql, values)
        changed: int = cursor.rowcount
        self._keep(sql, cursor)
        return changed

    def _execute(self, sql: str, values: "Values") -> Any:
        if self._cursors is None:
            return self._driver.execute(sql, values)
        text, names = _numbered(sql)
        # One that is in use, or met an error, is not kept.
        cursor = self._cursors.pop(sql, None) or _raw_cursor()(self._driver)
        return cursor.execute(text, [values[name] for name in names], prepare=True)

    def _keep(self, sql: str, cursor: Any) -> None:
        if self._cursors is not None:
            if len(self._cursors) >= _MOST_CURSORS:
                self._cursors.clear()
            self._cursors[sql] = cursor


#: What makes rows of a statement's results: the driver describes them anew at each call.
_MAKERS: Final[dict[str, Callable[[Sequence[Any]], Any]]] = {}
_MOST_MAKERS: Final = 1024


def _rows_of(sql: str, cursor: Any) -> "Sequence[AnyRow]":
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
def driver_of(pool: sa.Engine) -> Iterator[Any]:
    """Lend a connection's driver, as :func:`lent_by` does."""
    with lent_by(pool) as lent:
        yield lent.driver_connection


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
        raise _translated(error, pool, broken=False) from error
    try:
        yield lent
    except errors as error:
        broken = pool.dialect.is_disconnect(error, lent.dbapi_connection, None)
        if broken:
            lent.invalidate(error)
        raise _translated(error, pool, broken=broken) from error
    finally:
        lent.close()


def name_file(error: BaseException, url: sa.URL) -> None:
    """Add the database's file, and what to do, to a message of SQLite about the file."""
    name = str(getattr(error, "sqlite_errorname", ""))
    remedy = next((_REMEDIES[each] for each in _REMEDIES if name.startswith(each)), None)
    if remedy is not None and str(url.database) not in str(error):
        error.args = (f"{error}: {url.database}; {remedy}",)


def _translated(error: Exception, pool: sa.Engine, *, broken: bool) -> BaseException:
    name_file(error, pool.url)
    # An error about a value keeps its kind: only a broken connection is retried.
    return sa.exc.DBAPIError.instance(
        None,
        None,
        error,
        pool.dialect.loaded_dbapi.Error,
        connection_invalidated=broken,
        dialect=pool.dialect,
    )
