"""Probes of a database for the doctor; they change nothing."""

import sqlalchemy as sa

from orchestrator.store.database import SESSION, Database, tried_once


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
