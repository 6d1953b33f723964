"""Statements on the driver itself, for the few transactions that every check runs: claim, finish, join.

SQLAlchemy pools the connections, but its share of a statement costs as much as the statement. Everything else in the
store uses SQLAlchemy.
"""

import functools
import re
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

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
def _for_psycopg(sql: str) -> bytes:
    return _PARAMETER.sub(r"%(\1)s", sql.replace("%", "%%")).encode()


class Direct:
    """One transaction, or on PostgreSQL one statement that is a transaction, with ``:names`` of parameters.

    PostgreSQL prepares each statement at its first use.
    """

    def __init__(self, driver: Any, *, postgres: bool) -> None:
        self._execute = functools.partial(driver.execute, prepare=True) if postgres else driver.execute
        self._spelled: Callable[[str], str | bytes] = _for_psycopg if postgres else str

    def rows(self, sql: str, values: Values) -> Sequence[AnyRow]:
        """Run a statement; return its rows, which have the columns as attributes."""
        cursor = self._execute(self._spelled(sql), values)
        found: Sequence[Any] = cursor.fetchall()
        if not found:
            return found
        make = _row_type(tuple(column[0] for column in cursor.description))
        return [make(row) for row in found]

    def count(self, sql: str, values: Values) -> int:
        """Run a statement; return how many rows it changed."""
        changed: int = self._execute(self._spelled(sql), values).rowcount
        return changed


@contextmanager
def driver_of(pool: sa.Engine) -> Iterator[Any]:
    """Lend a connection's driver; a broken connection is discarded.

    Raises:
        DBAPIError: SQLAlchemy's, of the same kind as the driver's own error, also where connecting failed.
    """
    errors: Any = pool.dialect.loaded_dbapi.Error
    try:
        lent = pool.raw_connection()
    except errors as error:
        raise _translated(error, pool, broken=False) from error
    try:
        yield lent.driver_connection
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
