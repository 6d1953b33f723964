"""Connections to the state of record: SQLite (one file, WAL) or PostgreSQL.

Transactions are short and are begun as writers or as readers. Time is PostgreSQL's clock, or for SQLite that of this
machine.
"""

import functools
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import sqlalchemy as sa
import structlog
from sqlalchemy.exc import (
    DataError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    ProgrammingError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout

from hooks.values.texts import storable
from orchestrator.errors import InvalidInput, Problem, Unavailable
from orchestrator.model.sentences import SentenceSeal
from orchestrator.store.direct import CURSORS, Direct, driver_of, lent_by, name_file
from orchestrator.store.pooling import connecting, is_pooler_refusal, pooling_fault, remedy_for
from orchestrator.store.private_file import make_private
from orchestrator.store.tables.schema import seal_sentences

if TYPE_CHECKING:
    import tenacity
    from sqlalchemy.dialects import postgresql, sqlite

    from orchestrator.store.rows import Row, Values

log = structlog.get_logger()

P = ParamSpec("P")
T = TypeVar("T")

#: A clock to use in place of the database's, in simulations: returns seconds since the epoch.
Clock = Callable[[], float]

#: How long an operation is retried when the database restarts, deadlocks or is busy.
RETRY_FOR_SECONDS = 60.0
_patience: ContextVar[float] = ContextVar("patience", default=RETRY_FOR_SECONDS)
#: How long SQLite waits for another process's write before it fails with "locked".
BUSY_TIMEOUT_MS = 30_000
#: How much of SQLite's file the connection of direct transactions keeps in memory.
DIRECT_CACHE_KIB = 32 * 1024
#: The execution option of connections on which no transaction is begun.
READS = "isotherm_reads"
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
#: PostgreSQL's codes for serialization failure and deadlock.
TRANSIENT_SQLSTATES = frozenset({"40001", "40P01"})
#: Errors about a value: it cannot be packed, or the database does not take it.
UNSTORABLE = (TypeError, ValueError, OverflowError, DataError, InterfaceError, ProgrammingError)
#: How long a thread waits for a connection that other threads of its process use.
POOL_TIMEOUT_SECONDS = 30.0
ALL_IN_USE = (
    f"all connections of this process to the database were in use for {POOL_TIMEOUT_SECONDS:.0f} s: "
    "raise ISOTHERM_DATABASE_CONNECTIONS to the number of its threads"
)
#: What to do where a database does not answer.
REMEDY = "start the database, or correct ISOTHERM_DATABASE_URL"
#: PostgreSQL's codes for an undefined table and an undefined column.
MISSING_SQLSTATES = frozenset({"42P01", "42703"})
#: PostgreSQL's code for a missing privilege.
FORBIDDEN_SQLSTATE = "42501"


def _parse(url: str) -> sa.URL:
    hint = "for example sqlite:////var/lib/isotherm/isotherm.db or postgresql+psycopg://user@host/isotherm"
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError) as error:
        # The URL is not shown, because it may contain a password.
        problem = Problem(message="not a database URL", path="settings.database_url", hint=hint)
        raise InvalidInput([problem]) from error
    backend = parsed.get_backend_name()
    if backend == "postgresql":
        if fault := pooling_fault(parsed):
            raise InvalidInput([Problem(message=fault, path="settings.database_url")])
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        message = f"expected a SQLite or PostgreSQL database, found {backend!r}"
        raise InvalidInput([Problem(message=message, path="settings.database_url", hint=hint)])
    return parsed


@contextmanager
def tried_once() -> Iterator[None]:
    """Raise errors of the database as Unavailable, for what is not retried; also a decorator.

    Raises:
        Unavailable: the database does not answer, or refuses.
    """
    try:
        yield
    except DBAPIError as error:
        hint = remedy_for(error.orig, REMEDY)
        raise Unavailable(f"the database does not answer: {error.orig}", hint=hint) from error
    except PoolTimeout as error:
        raise Unavailable(ALL_IN_USE) from error


def is_transient(error: BaseException) -> bool:
    """Return whether the same operation may succeed a little later: lost connection, deadlock, busy file."""
    if not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated:
        return True
    if getattr(error.orig, "sqlstate", None) in TRANSIENT_SQLSTATES:
        return True
    if not isinstance(error, OperationalError) or is_pooler_refusal(error.orig):
        return False
    return not isinstance(error.orig, sqlite3.Error) or "locked" in str(error.orig)


def _lacks_schema(error: DBAPIError) -> bool:
    if isinstance(error.orig, sqlite3.Error):
        return str(error.orig).startswith(("no such table", "no such column"))
    return getattr(error.orig, "sqlstate", None) in MISSING_SQLSTATES


def _is_forbidden(error: DBAPIError) -> bool:
    return getattr(error.orig, "sqlstate", None) == FORBIDDEN_SQLSTATE


def _log_retry(state: "tenacity.RetryCallState") -> None:
    error = state.outcome.exception() if state.outcome else None
    log.warning("the database did not answer; trying again", attempt=state.attempt_number, error=str(error))


@contextmanager
def impatient(seconds: float) -> Iterator[None]:
    """Limit how long operations are retried within the block: for faces, whose users wait."""
    token = _patience.set(seconds)
    try:
        yield
    finally:
        _patience.reset(token)


def retrying(operation: Callable[P, T]) -> Callable[P, T]:
    """Decorate an operation to run again as a whole when the database was busy or unreachable.

    The operation must be safe to repeat.

    Raises:
        Unavailable: by the operation, when the database was not reachable in time, lacks the schema, or refuses.
    """

    @functools.wraps(operation)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return operation(*args, **kwargs)
        except IntegrityError:
            raise
        except DBAPIError as error:
            if is_transient(error):
                return _patient(operation)(*args, **kwargs)
            if _lacks_schema(error):
                message = (
                    "the database has not got the schema that this version needs; run: isotherm db upgrade"
                )
                raise Unavailable(message) from error
            if isinstance(error, OperationalError) or _is_forbidden(error):
                # A full disk, a file that may not be written, a user without the right.
                hint = remedy_for(error.orig)
                raise Unavailable(f"the database refuses: {error.orig}", hint=hint) from error
            raise
        except PoolTimeout as error:
            raise Unavailable(ALL_IN_USE) from error

    return run


def _patient(operation: Callable[P, T]) -> Callable[P, T]:
    # Rarely needed, and slow to import.
    import tenacity

    def give_up(state: tenacity.RetryCallState) -> T:
        error = state.outcome.exception() if state.outcome else None
        # The driver's message, without SQLAlchemy's additions for programmers.
        reason = f"the database does not answer: {getattr(error, 'orig', error)}"
        raise Unavailable(reason, hint=REMEDY) from error

    return tenacity.retry(
        retry=tenacity.retry_if_exception(is_transient),
        wait=tenacity.wait_random_exponential(multiplier=0.05, max=5),
        stop=lambda state: (state.seconds_since_start or 0.0) >= _patience.get(),
        before_sleep=_log_retry,
        retry_error_callback=give_up,
    )(operation)


class Database:
    """The engine, its dialect, and its two kinds of transaction."""

    def __init__(self, url: str, *, clock: Clock | None = None, connections: int = 15) -> None:
        """Prepare to connect; nothing is touched yet.

        ``connections`` is how many this process has to PostgreSQL at most. A thread needs one at a time.

        Raises:
            InvalidInput: the URL is malformed, or its dialect is neither SQLite nor PostgreSQL.
        """
        self.url = _parse(url)
        self.postgres = self.url.get_backend_name() == "postgresql"
        self._clock = clock
        #: The time that SQLite's statements see as ``now``.
        self.sqlite_clock: Clock = clock or time.time
        # One writer at a time in this process: SQLite itself would sleep and retry for a second one.
        self._writing = threading.RLock()
        #: The one pool of connections. On PostgreSQL a statement on it is a transaction by itself, without BEGIN and
        #: COMMIT: one round trip instead of three.
        self.engine = (
            self._postgres_engine(connections) if self.postgres else self._sqlite_engine(self.sqlite_clock)
        )
        # A connection of SQLite forgets the pages that it has read when another one writes. Most is written directly,
        # so by one connection, with room for the pages of a large stack.
        self._directly = self.engine
        if not self.postgres and not self._in_memory:
            self._directly = self._sqlite_engine(self.sqlite_clock, connections=1, cache_kib=DIRECT_CACHE_KIB)
        self._reading = self.engine if self.postgres else self.engine.execution_options(**{READS: True})
        self._transactions = self._isolated("READ COMMITTED")
        self._of_one_moment = self._isolated("REPEATABLE READ", postgresql_readonly=True)
        self._seal = SentenceSeal()
        #: Called before each direct transaction; simulations set it.
        self.before_direct: Callable[[], None] = lambda: None

    def seal_sentences(self, keys: Sequence[str]) -> None:
        """Encrypt reasons and other sentences with Fernet keys: the first encrypts, all decrypt."""
        self._seal = SentenceSeal(keys)
        seal_sentences(self.engine.dialect, self._seal)

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

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Begin a transaction that will write; commit at the end, roll back on an exception."""
        if self.postgres:
            with self._transactions.begin() as connection:
                yield connection
            return
        with self._writing, self.engine.begin() as connection:
            yield connection

    @contextmanager
    def timed_write(self) -> Iterator[tuple[sa.Connection, float]]:
        """Begin a transaction as :meth:`write` does, and read the database's time in it."""
        with self.write() as connection:
            yield connection, database_time(connection, self)

    @retrying
    def change(self, sql: sa.Executable, values: "Values | None" = None) -> int:
        """Run one changing statement, which is a transaction and is retried; return how many rows it changed."""
        with self.engine.connect() if self.postgres else self.write() as connection:
            return connection.execute(sql, values).rowcount

    @contextmanager
    def direct(self, *, statements: int = 1) -> Iterator[Direct]:
        """Begin a transaction of a check on the driver itself; see :mod:`orchestrator.store.direct`.

        On PostgreSQL one statement is a transaction by itself, without round trips for BEGIN and COMMIT. On SQLite,
        which has no data-modifying CTEs, every operation takes several statements.

        Raises:
            DBAPIError: the database refused, or the connection is lost.
        """
        if self.postgres:
            with lent_by(self.engine) as lent:
                driver: Any = lent.driver_connection
                with driver.transaction() if statements > 1 else nullcontext():
                    yield Direct(driver, cursors=lent.info.setdefault(CURSORS, {}))
            return
        with self._writing, driver_of(self._directly) as driver:
            self.before_direct()
            driver.execute("BEGIN IMMEDIATE")
            try:
                yield Direct(driver)
            except BaseException:
                # SQLite itself rolls back after some errors, such as a full disk.
                if driver.in_transaction:
                    driver.execute("ROLLBACK")
                raise
            driver.execute("COMMIT")

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Open a connection for reading statements, each of which sees the database as it is then."""
        with self._reading.connect() as connection:
            yield connection

    @retrying
    def rows(self, sql: sa.Executable, values: "Values | None" = None) -> Sequence["Row"]:
        """Return the rows of one reading statement, which is retried."""
        with self.read() as connection:
            return connection.execute(sql, values).all()

    @retrying
    def first(self, sql: sa.Executable, values: "Values | None" = None) -> "Row | None":
        """Return the first row of one reading statement, which is retried; None for none."""
        with self.read() as connection:
            return connection.execute(sql, values).first()

    @retrying
    def one(self, sql: sa.Executable, values: "Values | None" = None) -> "Row":
        """Return the row of one reading statement, which is retried and always finds one.

        Raises:
            NoResultFound: it finds none.
        """
        with self.read() as connection:
            return connection.execute(sql, values).one()

    def column(self, sql: sa.Select[T], values: "Values | None" = None) -> Sequence[T]:
        """Return the only column of the rows of one query, which is retried."""
        return [row[0] for row in self.rows(sql, values)]

    def value(self, sql: sa.Select[T], values: "Values | None" = None) -> T | None:
        """Return the only column of the first row of one query, which is retried; None for no row."""
        row = self.first(sql, values)
        return None if row is None else row[0]

    def time(self) -> float:
        """Return the database's time, in seconds since the epoch."""
        return self.sqlite_clock() if not self.postgres else float(self.one(sa.text(f"SELECT {self.now}"))[0])

    @contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """Open a connection for reading statements that all see the database as it is at one moment."""
        if self.postgres:
            with self._of_one_moment.begin() as connection:
                yield connection
            return
        # A database in memory has one connection, which may be in another thread's transaction.
        with self._writing if self._in_memory else nullcontext(), self._reading.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            try:
                yield connection
            finally:
                connection.exec_driver_sql("COMMIT")

    def insert(self, table: sa.Table) -> "sqlite.Insert | postgresql.Insert":
        """Return an INSERT that may be told what to do about a conflict."""
        # Each dialect comes with all its drivers, which take a while to import.
        if self.postgres:
            from sqlalchemy.dialects import postgresql

            return postgresql.insert(table)
        from sqlalchemy.dialects import sqlite

        return sqlite.insert(table)

    def dispose(self) -> None:
        """Close all connections."""
        self.engine.dispose()
        self._directly.dispose()

    def in_list(self, name: str) -> str:
        """Return the SQL for ``column IN <the list of integers bound as name>``; bind with :meth:`integers`."""
        return f"= ANY(:{name})" if self.postgres else f"IN (SELECT value FROM json_each(:{name}))"

    def integers(self, values: Sequence[int]) -> list[int] | str:
        """Return a list of integers as the value to bind for :meth:`in_list`."""
        return list(values) if self.postgres else json.dumps(list(values))

    def _postgres_engine(self, connections: int) -> sa.Engine:
        url, arguments = connecting(self.url, SESSION)
        return sa.create_engine(
            url,
            isolation_level="AUTOCOMMIT",
            pool_reset_on_return=None,
            pool_size=connections,
            max_overflow=0,
            pool_timeout=POOL_TIMEOUT_SECONDS,
            pool_recycle=1800,
            connect_args=arguments,
            hide_parameters=True,
        )

    def _isolated(self, level: str, **options: Any) -> sa.Engine:
        if not self.postgres:
            return self.engine
        return self.engine.execution_options(isolation_level=level, **options)

    @property
    def _in_memory(self) -> bool:
        return self.url.database in (None, "", ":memory:")

    def _sqlite_engine(self, clock: Clock, *, connections: int = 32, cache_kib: int = 2_000) -> sa.Engine:
        pool: dict[str, Any] = {"poolclass": sa.StaticPool} if self._in_memory else {"pool_size": connections}
        # Parameters may be secrets, and errors are logged and returned to callers.
        engine = sa.create_engine(
            self.url, connect_args={"check_same_thread": False}, hide_parameters=True, **pool
        )

        @sa.event.listens_for(engine, "do_connect")
        def keep_private(_dialect: object, _record: object, arguments: list[Any], _: object) -> None:
            if not self._in_memory:
                make_private(arguments[0])

        @sa.event.listens_for(engine, "connect")
        def prepare(connection: sqlite3.Connection, _record: object) -> None:
            # The driver must not begin transactions of its own: ours are IMMEDIATE, so that processes queue for the
            # write lock at the start of a transaction, and none fails in its middle.
            connection.isolation_level = None
            connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            connection.execute("PRAGMA journal_mode = WAL")
            # A killed process loses nothing. A power failure may lose the last commits, but not the consistency.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA cache_size = -{cache_kib}")
            connection.create_function("isotherm_now", 0, clock)

        @sa.event.listens_for(engine, "begin")
        def begin(connection: sa.Connection) -> None:
            if not connection.get_execution_options().get(READS):
                connection.exec_driver_sql("BEGIN IMMEDIATE")

        @sa.event.listens_for(engine, "handle_error")
        def name_it(context: sa.ExceptionContext) -> None:
            name_file(context.original_exception, self.url)

        return engine


@functools.cache
def text_of(sql: str) -> sa.TextClause:
    """Return the one object of a statement, which SQLAlchemy compiles once."""
    return sa.text(sql)


def database_time(connection: sa.Connection, database: Database) -> float:
    """Return the database's time, in seconds since the epoch; SQLite's is that of this process, without a statement."""
    if not database.postgres:
        return database.sqlite_clock()
    return float(connection.exec_driver_sql(f"SELECT {database.now}").scalar_one())


def bulk_insert(connection: sa.Connection, table: sa.Table, rows: Sequence["Values"]) -> None:
    """Insert many rows with the same columns at once, on PostgreSQL by COPY."""
    if not rows:
        return
    if connection.dialect.name != "postgresql":
        connection.execute(table.insert(), list(rows))
        return
    columns = list(rows[0])
    driver = connection.connection.driver_connection
    assert driver is not None  # noqa: S101  # a checked-out connection has one; for the type checker
    statement = f"COPY {table.name} ({', '.join(columns)}) FROM STDIN"
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row([row[column] for column in columns])
