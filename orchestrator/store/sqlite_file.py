"""The connections to a SQLite file: one that writes, and those that read; or the only one to a database in memory."""

from __future__ import annotations

import re
import sqlite3
import threading
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
#: A URL without parameters and escapes: most are, and need no SQLAlchemy to be read.
_PLAIN = re.compile(r"sqlite(?:\+pysqlite)?://(?:/([^?#%]*))?")
#: Remedies for SQLite's errors about its file, by the prefix of the error's name.
_REMEDIES: Final = {
    "SQLITE_FULL": "free space, or move the file to another disk",
    "SQLITE_NOTADB": "it is another file, or broken: correct ISOTHERM_DATABASE_URL, or restore it",
    "SQLITE_CORRUPT": "restore it from a backup",
    "SQLITE_CANTOPEN": "make the directory, or make it readable for this user",
    "SQLITE_READONLY": "make the file and its directory writable for this user",
}


def plain_path(url: str) -> str | None:
    """Return the path in a URL of SQLite without parameters, empty for a database in memory; None for other URLs."""
    found = _PLAIN.fullmatch(url)
    return None if found is None else (found[1] or "").removeprefix(":memory:")


class SqliteFile:
    """The connections of a process to a file, for statements on the driver itself."""

    def __init__(self, path: str, arguments: dict[str, Any], clock: Callable[[], float]) -> None:
        """Prepare to connect; nothing is touched yet.

        ``path`` is that of the URL, empty for a database in memory; ``arguments`` are those of :func:`sqlite3.connect`.
        """
        self.path, self._arguments, self._clock = path, arguments, clock
        self._guard = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._idle = list[sqlite3.Connection]()

    @classmethod
    def at(cls, path: str, clock: Callable[[], float]) -> SqliteFile:
        """Prepare to connect to the file of this path; empty for a database in memory."""
        return cls(path, {"database": str(Path(path).absolute()) if path else ":memory:"}, clock)

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

    def writer(self) -> sqlite3.Connection:
        """Return the connection that writes; its callers wait for each other. In memory, it is the only one."""
        with self._guard:
            if self._writer is None:
                self._writer = self.connect(WRITER_CACHE_KIB)
            return self._writer

    @contextmanager
    def reader(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection that reads."""
        if self.in_memory:
            yield self.writer()
            return
        connection = self._idle.pop() if self._idle else self.connect()
        try:
            yield connection
        finally:
            if len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
            else:
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
        """Close all connections but those that are lent."""
        with self._guard:
            writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
        while self._idle:
            self._idle.pop().close()
