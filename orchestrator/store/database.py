"""Connections to the state of record: SQLite (one file, WAL) or PostgreSQL.

Transactions are short and are begun as writers or as readers. Time is PostgreSQL's clock, or for SQLite that of this
machine. Statements of checks and of short commands are textual, and run on the driver (see
:mod:`orchestrator.store.direct`); for those of SQLAlchemy, an engine is made at their first use.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from contextlib import closing, contextmanager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, overload

from hooks.values.texts import storable
from orchestrator.model.sentences import SentenceSeal
from orchestrator.store.alchemy import sa
from orchestrator.store.direct import CURSORS, Direct, lent_by, translated
from orchestrator.store.lists import in_list, listed
from orchestrator.store.pooling import connecting
from orchestrator.store.retrying import POOL_TIMEOUT_SECONDS, retrying
from orchestrator.store.sqlite_file import LentConnection, SqliteFile
from orchestrator.store.urls import parsed, plain_path

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from sqlalchemy.dialects import postgresql, sqlite

    from orchestrator.store.rows import AnyRow, Row, Values

T = TypeVar("T")

#: A clock to use in place of the database's, in simulations: returns seconds since the epoch.
Clock = Callable[[], float]

#: Session settings. Every statement of a check finds its rows by keys, so one generic plan is right for any content,
#: and planning at each call would cost as much as the call.
#: The server ends a transaction that is idle in its middle, as that of a suspended process; it is retried when the
#: process continues. Otherwise it would hold locks, and commit events that readers have passed (see ``Horizon``).
SESSION = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "jit": "off",
    "idle_in_transaction_session_timeout": "60s",
}


class Database:
    """The connections to one database, its dialect, and its kinds of transaction."""

    def __init__(self, url: str, *, clock: Clock | None = None, connections: int = 15) -> None:
        """Prepare to connect; nothing is touched yet.

        ``connections`` is how many this process has to PostgreSQL at most. A thread needs one at a time.

        Raises:
            InvalidInput: the URL is malformed, or its dialect is neither SQLite nor PostgreSQL.
        """
        self._url, self._clock, self._connections = url, clock, connections
        # As they are now: the engine is made at the first statement.
        self._session = dict(SESSION)
        #: The time that SQLite's statements see as ``now``.
        self.sqlite_clock: Clock = clock or time.time
        path = plain_path(url)
        self.postgres = path is None and self.url.get_backend_name() == "postgresql"
        #: SQLite's connections.
        self.file: SqliteFile | None = None
        if path is not None:
            self.file = SqliteFile.at(path, self.sqlite_clock)
        elif not self.postgres:
            self.file = SqliteFile.of(self.url, self.sqlite_clock)
        # One writer at a time in this process: SQLite itself would sleep and retry for a second one.
        self._writing = threading.RLock()
        # The driver's connection on which SQLAlchemy's is to be, by thread.
        self._lent = threading.local()
        self._seal = SentenceSeal()
        #: Called before each transaction on SQLite, also one that reads; simulations set it.
        self.before_direct: Callable[[], None] = lambda: None

    @cached_property
    def url(self) -> sa.URL:
        """The database's URL."""
        return parsed(self._url)

    @property
    def path(self) -> str | None:
        """The path of SQLite's file, empty for a database in memory; None for PostgreSQL."""
        return None if self.file is None else self.file.path

    @cached_property
    def engine(self) -> sa.Engine:
        """What runs SQLAlchemy's statements, and PostgreSQL's one pool of connections.

        On PostgreSQL a statement on it is a transaction by itself, without BEGIN and COMMIT: one round trip instead of
        three. On SQLite it connects within the transactions of this class alone.
        """
        return self._sealing(self._postgres_engine() if self.file is None else self._sqlite_engine(self.file))

    @cached_property
    def _transactions(self) -> sa.Engine:
        return self.engine.execution_options(isolation_level="READ COMMITTED")

    @cached_property
    def _of_one_moment(self) -> sa.Engine:
        return self.engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    def seal_sentences(self, keys: Sequence[str]) -> None:
        """Encrypt reasons and other sentences with Fernet keys: the first encrypts, all decrypt."""
        self._seal = SentenceSeal(keys)
        if "engine" in self.__dict__:
            self._sealing(self.engine)

    def _sealing(self, engine: sa.Engine) -> sa.Engine:
        """Let the columns of sentences use the seal; return the engine."""
        from orchestrator.store.tables.schema import seal_sentences

        seal_sentences(engine.dialect, self._seal)
        return engine

    @property
    def seal(self) -> SentenceSeal:
        """What encrypts this database's sentences."""
        return self._seal

    def sealed(self, sentence: str) -> str:
        """Return a sentence as textual statements must bind it; columns of SQLAlchemy's statements do so themselves."""
        return self._seal.sealed(storable(sentence))

    @property
    def now(self) -> str:
        """The SQL expression for the present time, in seconds since the epoch."""
        if not self.postgres:
            return "isotherm_now()"
        if self._clock is not None:
            return f"CAST({self._clock()!r} AS double precision)"
        return "CAST(extract(epoch from statement_timestamp()) AS double precision)"

    # -- transactions, for textual statements ------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[Direct]:
        """Begin a transaction that will write; commit at the end, roll back on an exception.

        Its :attr:`~orchestrator.store.direct.Direct.alchemy` runs statements of SQLAlchemy in it.

        Raises:
            DBAPIError: the database refused, or the connection is lost.
        """
        if self.file is not None:
            with self.direct() as direct:
                yield direct
            return
        with self._transactions.begin() as connection, self._translated(connection):
            yield Direct.of(connection)

    @contextmanager
    def timed_transaction(self) -> Iterator[tuple[Direct, float]]:
        """Begin a transaction as :meth:`transaction` does, and read the database's time in it."""
        with self.transaction() as direct:
            yield direct, database_time(direct, self)

    @contextmanager
    def reading(self) -> Iterator[Direct]:
        """Open a connection for reading statements, each of which sees the database as it is then.

        On PostgreSQL these are textual alone; see :meth:`read`.

        Raises:
            DBAPIError: the database refused, or the connection is lost.
        """
        if self.file is None:
            with lent_by(self.engine) as lent:
                yield self._on(lent)
            return
        with self.file.translated(), self.file.reader() as driver:
            self.before_direct()
            with closing(self._direct_on(driver)) as direct:
                yield direct

    @contextmanager
    def moment(self) -> Iterator[Direct]:
        """Open a connection for reading statements that all see the database as it is at one moment.

        Its :attr:`~orchestrator.store.direct.Direct.alchemy` runs statements of SQLAlchemy.

        Raises:
            DBAPIError: the database refused, or the connection is lost.
        """
        if self.file is None:
            with self._of_one_moment.begin() as connection, self._translated(connection):
                yield Direct.of(connection)
            return
        # A database in memory has one connection, which may be in another thread's transaction.
        with self._writing if self.file.in_memory else nullcontext(), self.reading() as direct:
            direct.run("BEGIN")
            try:
                yield direct
            finally:
                direct.run("COMMIT")

    @contextmanager
    def direct(self, *, statements: int = 1) -> Iterator[Direct]:
        """Begin a transaction of a check on the driver itself; see :mod:`orchestrator.store.direct`.

        On PostgreSQL one statement is a transaction by itself, without round trips for BEGIN and COMMIT. On SQLite,
        which has no data-modifying CTEs, every operation takes several statements.

        Raises:
            DBAPIError: the database refused, or the connection is lost.
        """
        if self.file is None:
            with lent_by(self.engine) as lent:
                driver: Any = lent.driver_connection
                with driver.transaction() if statements > 1 else nullcontext():
                    yield self._on(lent)
            return
        with self._writing, self.file.translated(), self.file.writer() as writer:
            self.before_direct()
            writer.execute("BEGIN IMMEDIATE")
            try:
                with closing(self._direct_on(writer)) as direct:
                    yield direct
            except BaseException:
                # SQLite itself rolls back after some errors, such as a full disk.
                if writer.in_transaction:
                    writer.execute("ROLLBACK")
                raise
            writer.execute("COMMIT")

    def _on(self, lent: sa.PoolProxiedConnection) -> Direct:
        cursors = lent.info.setdefault(CURSORS, {})
        return Direct(lent.driver_connection, cursors=cursors, seal=self._seal)

    def _direct_on(self, driver: sqlite3.Connection) -> Direct:
        def connect() -> sa.Connection:
            self._lent.driver = driver
            return self.engine.connect()

        # SQLAlchemy's engine is made only if statements of it are to be run.
        return Direct(driver, connect=connect, seal=self._seal)

    @contextmanager
    def _translated(self, connection: sa.Connection) -> Iterator[None]:
        """Raise errors of PostgreSQL's driver, those of textual statements, as SQLAlchemy's; discard what is broken.

        Raises:
            DBAPIError: SQLAlchemy's, of the same kind as the driver's own error.
        """
        try:
            yield
        except connection.dialect.loaded_dbapi.Error as error:
            broken = connection.dialect.is_disconnect(error, connection.connection.dbapi_connection, None)
            if broken:
                connection.invalidate(error)
            raise translated(error, connection.engine, broken=broken) from error

    # -- the same, for statements of SQLAlchemy ----------------------------------------------------------------

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Begin a transaction that will write, as :meth:`transaction` does."""
        with self.transaction() as direct:
            yield direct.alchemy

    @contextmanager
    def timed_write(self) -> Iterator[tuple[sa.Connection, float]]:
        """Begin a transaction as :meth:`write` does, and read the database's time in it."""
        with self.write() as connection:
            yield connection, database_time(connection, self)

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Open a connection for reading statements, as :meth:`reading` does."""
        if self.file is None:
            with self.engine.connect() as connection, self._translated(connection):
                yield connection
            return
        with self.reading() as direct:
            yield direct.alchemy

    @contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """Open a connection for reading statements that all see the database at one moment, as :meth:`moment` does."""
        with self.moment() as direct:
            yield direct.alchemy

    # -- single statements, textual or of SQLAlchemy -----------------------------------------------------------

    @retrying
    def change(self, sql: str | sa.Executable, values: Values | None = None) -> int:
        """Run one changing statement, which is a transaction and is retried; return how many rows it changed."""
        if isinstance(sql, str):
            with self.direct() as direct:
                return direct.count(sql, values or {})
        with self.engine.connect() if self.postgres else self.write() as connection:
            return connection.execute(sql, values).rowcount

    @overload
    def rows(self, sql: str, values: Values | None = None) -> Sequence[AnyRow]: ...

    @overload
    def rows(self, sql: sa.Executable, values: Values | None = None) -> Sequence[Row]: ...

    @retrying
    def rows(self, sql: str | sa.Executable, values: Values | None = None) -> Any:
        """Return the rows of one reading statement, which is retried."""
        if isinstance(sql, str):
            with self.reading() as direct:
                return direct.rows(sql, values or {})
        with self.read() as connection:
            return connection.execute(sql, values).all()

    @overload
    def first(self, sql: str, values: Values | None = None) -> AnyRow | None: ...

    @overload
    def first(self, sql: sa.Executable, values: Values | None = None) -> Row | None: ...

    @retrying
    def first(self, sql: str | sa.Executable, values: Values | None = None) -> Any:
        """Return the first row of one reading statement, which is retried; None for none."""
        if isinstance(sql, str):
            with self.reading() as direct:
                return direct.first(sql, values or {})
        with self.read() as connection:
            return connection.execute(sql, values).first()

    @overload
    def one(self, sql: str, values: Values | None = None) -> AnyRow: ...

    @overload
    def one(self, sql: sa.Executable, values: Values | None = None) -> Row: ...

    @retrying
    def one(self, sql: str | sa.Executable, values: Values | None = None) -> Any:
        """Return the row of one reading statement, which is retried and always finds one.

        Raises:
            NoResultFound: it finds none.
        """
        if isinstance(sql, str):
            with self.reading() as direct:
                return direct.one(sql, values or {})
        with self.read() as connection:
            return connection.execute(sql, values).one()

    def column(self, sql: sa.Select[T], values: Values | None = None) -> Sequence[T]:
        """Return the only column of the rows of one query, which is retried."""
        return [row[0] for row in self.rows(sql, values)]

    def value(self, sql: sa.Select[T], values: Values | None = None) -> T | None:
        """Return the only column of the first row of one query, which is retried; None for no row."""
        row = self.first(sql, values)
        return None if row is None else row[0]

    def time(self) -> float:
        """Return the database's time, in seconds since the epoch."""
        return float(self.one(f"SELECT {self.now} AS now").now) if self.postgres else self.sqlite_clock()

    def insert(self, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
        """Return an INSERT that may be told what to do about a conflict."""
        # Each dialect comes with all its drivers, which take a while to import.
        if self.postgres:
            from sqlalchemy.dialects import postgresql

            return postgresql.insert(table)
        from sqlalchemy.dialects import sqlite

        return sqlite.insert(table)

    def dispose(self) -> None:
        """Close all connections."""
        if "engine" in self.__dict__:
            self.engine.dispose()
        if self.file is not None:
            self.file.close()

    def in_list(self, name: str) -> str:
        """Return the SQL for ``column IN <the list bound as name>``; bind with :meth:`integers` or :meth:`texts`."""
        return in_list(name, postgres=self.postgres)

    def integers(self, values: Sequence[int]) -> list[int] | str:
        """Return a list of integers as the value to bind for :meth:`in_list`."""
        return listed(values, postgres=self.postgres)

    def texts(self, values: Sequence[str]) -> list[str] | str:
        """Return a list of texts as the value to bind for :meth:`in_list`."""
        return listed(values, postgres=self.postgres)

    # -- engines -----------------------------------------------------------------------------------------------

    def _postgres_engine(self) -> sa.Engine:
        url, arguments = connecting(self.url, self._session)
        return sa.create_engine(
            url,
            isolation_level="AUTOCOMMIT",
            pool_reset_on_return=None,
            pool_size=self._connections,
            max_overflow=0,
            pool_timeout=POOL_TIMEOUT_SECONDS,
            pool_recycle=1800,
            connect_args=arguments,
            hide_parameters=True,
        )

    def _sqlite_engine(self, file: SqliteFile) -> sa.Engine:
        # Parameters may be secrets, and errors are logged and returned to callers.
        engine = sa.create_engine(
            "sqlite://",
            creator=lambda: LentConnection(self._lent.driver),
            poolclass=sa.NullPool,
            hide_parameters=True,
        )

        @sa.event.listens_for(engine, "handle_error")
        def name_it(context: sa.ExceptionContext) -> None:
            file.name_in(context.original_exception)

        return engine


@functools.cache
def text_of(sql: str) -> sa.TextClause:
    """Return the one object of a statement, which SQLAlchemy compiles once."""
    return sa.text(sql)


def database_time(connection: sa.Connection | Direct, database: Database) -> float:
    """Return the database's time, in seconds since the epoch; SQLite's is that of this process, without a statement."""
    if not database.postgres:
        return database.sqlite_clock()
    if isinstance(connection, Direct):
        return float(connection.one(f"SELECT {database.now} AS now", {}).now)
    return float(connection.exec_driver_sql(f"SELECT {database.now}").scalar_one())


def bulk_insert(connection: sa.Connection, table: sa.Table, rows: Sequence[Values]) -> None:
    """Insert many rows with the same columns at once, on PostgreSQL by COPY."""
    if not rows:
        return
    if connection.dialect.name != "postgresql":
        connection.execute(table.insert(), list(rows))
        return
    Direct.of(connection).insert(table.name, rows)
