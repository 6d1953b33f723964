"""Processes that stand in the middle of a transaction on PostgreSQL until a test lets them go on, or kills them."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import sqlalchemy as sa

from tests.waiting import until

#: The key of the lock that they wait for.
_LOCK = 1
_FUNCTION = f"""CREATE FUNCTION stand() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock_shared({_LOCK}); RETURN NEW; END $$"""
_WAITING = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
_LIVING = "SELECT pid FROM pg_stat_activity WHERE pid = ANY(%s)"


class StatementStop:
    """Whoever writes certain rows of a table stands there."""

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
        """Let everybody go on, but lose the transactions of those who stand there: a process of them was killed."""
        standing = [pid for (pid,) in self._database.execute(_WAITING).fetchall()]
        for pid in standing:
            self._database.execute("SELECT pg_terminate_backend(%s)", [pid])
        # Those that live come again at once and stand there anew, so that only these are waited for.
        until(lambda: not self._database.execute(_LIVING, [standing]).fetchall())
        self.go_on()


@contextmanager
def stop_before(url: str, table: str, change: str = "INSERT", where: str = "true") -> Iterator[StatementStop]:
    """Have every process stand that inserts into a table of this database, or makes another change to its rows.

    ``where`` is a condition on the row as it will be, ``NEW``.
    """
    plain = sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as database:
        database.execute(f"SELECT pg_advisory_lock({_LOCK})")
        database.execute(_FUNCTION)
        database.execute(
            f"CREATE TRIGGER stand BEFORE {change} ON {table} FOR EACH ROW WHEN ({where}) "
            "EXECUTE FUNCTION stand()".encode()
        )
        yield StatementStop(database, table)
