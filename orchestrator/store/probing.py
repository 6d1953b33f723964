"""Probes of a database; they change nothing."""

from pathlib import Path

import sqlalchemy as sa

from orchestrator.errors import Unavailable
from orchestrator.store.database import SESSION, Database
from orchestrator.store.retrying import tried_once


def ping(url: str) -> None:
    """Check that the database answers; a SQLite file that does not exist is not created.

    Raises:
        Unavailable: it cannot be reached.
        InvalidInput: the URL is malformed.
    """
    database = Database(url)
    if database.path and not Path(database.path).exists():
        raise Unavailable(f"the database {database.path} does not exist yet")
    try:
        with tried_once(), database.read() as connection:
            connection.execute(sa.text("SELECT 1"))
    finally:
        database.dispose()


def require_writable(url: str) -> None:
    """Check that a database with the schema takes changes; none is made.

    Raises:
        Unavailable: it takes none, or cannot be reached.
    """
    database = Database(url)
    try:
        with tried_once(), database.write() as connection:
            connection.execute(sa.text("UPDATE stack SET name = name WHERE id = ''"))
    finally:
        database.dispose()


def missing_session_settings(url: str) -> dict[str, str]:
    """Return the session settings that connections to a PostgreSQL lack, as through a pooler, which does not send them.

    Raises:
        Unavailable: the database cannot be reached.
    """
    database = Database(url)
    if not database.postgres:
        return {}
    # CAST to interval compares times in any unit.
    same = (
        "SELECT CASE WHEN unit IS NULL THEN setting = :value "
        "ELSE CAST(current_setting(name) AS interval) = CAST(:value AS interval) END "
        "FROM pg_settings WHERE name = :name"
    )
    try:
        with tried_once(), database.read() as connection:
            return {
                name: value
                for name, value in SESSION.items()
                if not connection.execute(sa.text(same), {"name": name, "value": value}).scalar_one()
            }
    finally:
        database.dispose()
