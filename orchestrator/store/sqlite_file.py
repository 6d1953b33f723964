"""The connections to a SQLite file: one that writes, and those that read; or the only one to a database in memory."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from orchestrator.store.alchemy import sa
from orchestrator.store.private_file import make_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: How long SQLite waits for another process's write before it fails with "locked".
BUSY_TIMEOUT_MS: Final = 30_000
#: How much of the file a connection keeps in memory, and how much the one that writes. A connection forgets the pages
#: that it has read when another one writes; most is written by that one, so it has room for those of a large stack.
CACHE_KIB, WRITER_CACHE_KIB = 2_000, 32 * 1024
#: How many connections that read are kept open.
_MOST_IDLE: Final = 32
#: Remedies for SQLite's errors about its file, by the prefix of the error's name.
_REMEDIES: Final = {
    "SQLITE_FULL": "free space, or move the file to another disk",
    "SQLITE_NOTADB": "it is another file, or broken: correct ISOTHERM_DATABASE_URL, or restore it",
    "SQLITE_CORRUPT": "restore it from a backup",
    "SQLITE_CANTOPEN": "make the directory, or make it readable for this user",
    "SQLITE_READONLY": "make the file and its directory writable for this user",
}


class LentConnection:
    """SQLite's connection of a transaction, as SQLAlchemy gets it: commit, rollback and close do nothing.

    The transaction is ended, and the connection closed, by the database that has begun it.
    """

    def __init__(self, driver: sqlite3.Connection) -> None:
        self._driver = driver

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    def commit(self) -> None:
        """Do nothing."""

    def rollback(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def create_function(self, *_: object, **__: object) -> None:
        """Do nothing: no statement has regular expressions, for which SQLAlchemy would add one at each transaction."""


class SqliteFile:
    """The connections of a process to a file."""

    def __init__(self, path: str, arguments: dict[str, Any], clock: Callable[[], float]) -> None:
        """Prepare to connect; nothing is touched yet.

        ``path`` is that of the URL, empty for a database in memory; ``arguments`` are those of :func:`sqlite3.connect`.
        """
        self.path, self._arguments, self._clock = path, arguments, clock
        self._guard = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._idle = list[sqlite3.Connection]()
        #: How many use each connection that is lent.
        self._lent = Counter[sqlite3.Connection]()
        #: Lent connections of before the last :meth:`close`: each is closed when it is given back.
        self._over = set[sqlite3.Connection]()

    @classmethod
    def at(cls, path: str, clock: Callable[[], float]) -> SqliteFile:
        """Prepare to connect to the file of this path; empty for a database in memory."""
        return cls(path, {"database": str(Path(path).absolute()) if path else ":memory:"}, clock)

    @classmethod
    def of(cls, url: sa.URL, clock: Callable[[], float]) -> SqliteFile:
        """Prepare to connect to the file of a URL, with its parameters."""
        arguments, options = url.get_dialect()().create_connect_args(url)
        path = "" if url.database in (None, ":memory:") else str(url.database)
        return cls(path, {"database": arguments[0], **options}, clock)

    @property
    def in_memory(self) -> bool:
        """Whether it is a database in memory, which has one connection."""
        return not self.path

    def connect(self, cache_kib: int = CACHE_KIB) -> sqlite3.Connection:
        """Return a new connection.

        Raises:
            sqlite3.Error: the file cannot be opened.
        """
        if not self.in_memory:
            make_private(self._arguments["database"])
        # The driver must not begin transactions of its own: ours are IMMEDIATE, so that processes queue for the write
        # lock at the start of a transaction, and none fails in its middle.
        arguments = {**self._arguments, "check_same_thread": False, "isolation_level": None}
        connection: sqlite3.Connection = sqlite3.connect(**arguments)
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        connection.execute("PRAGMA journal_mode = WAL")
        # A killed process loses nothing. A power failure may lose the last commits, but not the consistency.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA cache_size = -{cache_kib}")
        connection.create_function("isotherm_now", 0, self._clock)
        return connection

    @contextmanager
    def writer(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection that writes, whose users wait for each other; in memory, it is the only one."""
        with self._guard:
            connection = self._opened_writer()
            self._lent[connection] += 1
        try:
            yield connection
        finally:
            self._take_back(connection)

    @contextmanager
    def reader(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection that reads."""
        if self.in_memory:
            with self.writer() as connection:
                yield connection
            return
        with self._guard:
            idle = self._idle.pop() if self._idle else None
        connection = idle or self.connect()
        with self._guard:
            self._lent[connection] += 1
        try:
            yield connection
        finally:
            self._take_back(connection)

    def _opened_writer(self) -> sqlite3.Connection:
        if self._writer is None:
            self._writer = self.connect(WRITER_CACHE_KIB)
        return self._writer

    def _take_back(self, connection: sqlite3.Connection) -> None:
        with self._guard:
            self._lent[connection] -= 1
            if self._lent[connection]:
                return
            del self._lent[connection]
            if connection is self._writer:
                return
            if connection not in self._over and len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
                return
            self._over.discard(connection)
        connection.close()

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Raise the driver's errors as SQLAlchemy's.

        Raises:
            DBAPIError: SQLAlchemy's, of the same kind as the driver's own error.
        """
        try:
            yield
        except sqlite3.Error as error:
            self.name_in(error)
            raise sa.exc.DBAPIError.instance(None, None, error, sqlite3.Error) from error

    def name_in(self, error: BaseException) -> None:
        """Add the file, and what to do, to a message of SQLite about the file."""
        name = str(getattr(error, "sqlite_errorname", ""))
        remedy = next((_REMEDIES[each] for each in _REMEDIES if name.startswith(each)), None)
        if remedy is not None and self.path not in str(error):
            error.args = (f"{error}: {self.path}; {remedy}",)

    def close(self) -> None:
        """Close all connections; those that are lent when they are given back, for another thread may be in one."""
        with self._guard:
            writer, self._writer = self._writer, None
            idle, self._idle = self._idle, []
            self._over |= {*self._lent}
            closing = [*idle, *([writer] if writer is not None and writer not in self._over else [])]
        for connection in closing:
            connection.close()
