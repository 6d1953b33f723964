"""Operations on a database that was busy or not reachable: which are tried again, for how long, and what is said."""

from __future__ import annotations

import functools
import sqlite3
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from orchestrator.config.logger import get_logger
from orchestrator.errors import Unavailable
from orchestrator.store.alchemy import sa
from orchestrator.store.pooling import is_pooler_refusal, remedy_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import tenacity

log = get_logger()

P = ParamSpec("P")
T = TypeVar("T")

#: How long an operation is retried when the database restarts, deadlocks or is busy.
RETRY_FOR_SECONDS: Final = 60.0
_patience: ContextVar[float] = ContextVar("patience", default=RETRY_FOR_SECONDS)
#: PostgreSQL's codes for serialization failure and deadlock.
TRANSIENT_SQLSTATES = frozenset({"40001", "40P01"})
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


def unstorable_kinds() -> tuple[type[Exception], ...]:
    """Return the kinds of errors about a value: it cannot be packed, or the database does not take it."""
    return (
        TypeError,
        ValueError,
        OverflowError,
        sa.exc.DataError,
        sa.exc.InterfaceError,
        sa.exc.ProgrammingError,
    )


@contextmanager
def tried_once() -> Iterator[None]:
    """Raise errors of the database as Unavailable, for what is not retried; also a decorator.

    Raises:
        Unavailable: the database does not answer, or refuses.
    """
    try:
        yield
    except Exception as error:
        if not _is_of_database(error):
            raise
        if isinstance(error, sa.exc.TimeoutError):
            raise Unavailable(ALL_IN_USE) from error
        if isinstance(error, sa.exc.DBAPIError):
            hint = remedy_for(error.orig, REMEDY)
            raise Unavailable(f"the database does not answer: {error.orig}", hint=hint) from error
        raise


def _is_of_database(error: BaseException) -> bool:
    """Return whether an error is one of SQLAlchemy's, as all of databases are, without an import for the others."""
    return "sqlalchemy" in sys.modules and isinstance(error, sa.exc.SQLAlchemyError)


def is_transient(error: BaseException) -> bool:
    """Return whether the same operation may succeed a little later: lost connection, deadlock, busy file."""
    if not _is_of_database(error) or not isinstance(error, sa.exc.DBAPIError):
        return False
    if error.connection_invalidated:
        return True
    if getattr(error.orig, "sqlstate", None) in TRANSIENT_SQLSTATES:
        return True
    if not isinstance(error, sa.exc.OperationalError) or is_pooler_refusal(error.orig):
        return False
    return not isinstance(error.orig, sqlite3.Error) or "locked" in str(error.orig)


def is_duplicate(error: BaseException) -> bool:
    """Return whether an error is that a row would break a constraint: most often that its key is there already."""
    return _is_of_database(error) and isinstance(error, sa.exc.IntegrityError)


def _lacks_schema(error: sa.exc.DBAPIError) -> bool:
    if isinstance(error.orig, sqlite3.Error):
        return str(error.orig).startswith(("no such table", "no such column"))
    return getattr(error.orig, "sqlstate", None) in MISSING_SQLSTATES


def _is_forbidden(error: sa.exc.DBAPIError) -> bool:
    return getattr(error.orig, "sqlstate", None) == FORBIDDEN_SQLSTATE


def _log_retry(state: tenacity.RetryCallState) -> None:
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
        except Exception as error:
            if is_transient(error):
                return _patient(operation)(*args, **kwargs)
            _refuse(error)
            raise

    return run


def _refuse(error: Exception) -> None:
    """Raise what an error of a database means for a user, where that is known.

    Raises:
        Unavailable: the database lacks the schema, or refuses, or had no connection left.
    """
    if not _is_of_database(error) or is_duplicate(error):
        return
    if isinstance(error, sa.exc.TimeoutError):
        raise Unavailable(ALL_IN_USE) from error
    if not isinstance(error, sa.exc.DBAPIError):
        return
    if _lacks_schema(error):
        message = "the database has not got the schema that this version needs; run: isotherm db upgrade"
        raise Unavailable(message) from error
    if isinstance(error, sa.exc.OperationalError) or _is_forbidden(error):
        # A full disk, a file that may not be written, a user without the right.
        hint = remedy_for(error.orig)
        raise Unavailable(f"the database refuses: {error.orig}", hint=hint) from error


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
