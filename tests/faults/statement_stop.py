"""Processes that stand in the middle of a transaction on PostgreSQL until a test lets them go on, or kills them."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import sqlalchemy as sa

from tests.waiting import until

#: The key of the lock that they wait for.
_LOCK = 1
_FUNCTION = f"""CREATE FUNCTION stand() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock_shared({_LOCK}); RETURN NULL; END $$"""
_WAITING = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


class StatementStop:
    """Whoever inserts into a table stands there."""

    def __init__(self, database: "psycopg.Connection[tuple[int]]", table: str) -> None:
        self._database, self._table = database, table

    def wait(self) -> None:
        """Return once a process stands there."""
        until(lambda: self._database.execute(_WAITING).fetchall())

    def go_on(self) -> None:
        """Let everybody go on, now and later."""
        self._database.execute(f"SELECT pg_advisory_unlock({_LOCK})")
        self._database.execute(f"DROP TRIGGER stand ON {self._table}".encode())

    def end(self) -> None:
        """Roll back what was done by those who stand there, of a process that was killed; let the others go on."""
        self._database.execute(f"SELECT pg_terminate_backend(pid) FROM ({_WAITING}) AS waiting".encode())
        until(lambda: not self._database.execute(_WAITING).fetchall())
        self.go_on()


@contextmanager
def stop_before(url: str, table: str) -> Iterator[StatementStop]:
    """Have every process stand that inserts into a table of this database."""
    plain = sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as database:
        database.execute(f"SELECT pg_advisory_lock({_LOCK})")
        database.execute(_FUNCTION)
        database.execute(
            f"CREATE TRIGGER stand BEFORE INSERT ON {table} FOR EACH STATEMENT EXECUTE FUNCTION stand()".encode()
        )
        yield StatementStop(database, table)
