"""Migrations of the schema, applied by Alembic: ``isotherm db upgrade``.

Embedded mode checks at every command that the schema is current; the check does without Alembic, whose import takes
longer than the check.
"""

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from orchestrator.errors import Unavailable
from orchestrator.store.database import Database, is_transient, tried_once

#: The key of the advisory lock that the migrating process holds; the number is arbitrary.
_MIGRATION_LOCK = 7_233_400_521


#: The directory of the revisions, each in a file whose name begins with its number.
_VERSIONS = Path(__file__).parent / "versions"


def head() -> str:
    """Return the revision that this version of the code needs."""
    return max(path.name.partition("_")[0] for path in _VERSIONS.glob("[0-9]*_*.py"))


def current(url: str) -> str | None:
    """Return the revision a database has; None for an empty one.

    Raises:
        Unavailable: it cannot be reached.
    """
    database = Database(url)
    try:
        with tried_once(), database.read() as connection:
            return _revision(connection)
    finally:
        database.dispose()


def require(url: str) -> None:
    """Refuse a database with another schema; one that does not answer is not refused.

    Raises:
        Unavailable: its schema is older or newer than this code's.
    """
    try:
        present = current(url)
    except Unavailable:
        return
    _refuse_newer(present)
    if present != head():
        found = f"has the schema {present}" if present else "has no schema yet"
        raise Unavailable(f"the database {found}, and this version needs {head()}; run: isotherm db upgrade")


def _refuse_newer(present: str | None) -> None:
    if present and present > head():
        message = f"the database has the schema {present}, and this version knows none after {head()}"
        raise Unavailable(f"{message}: run the version that made it")


def upgrade(url: str) -> tuple[str | None, str]:
    """Migrate a database to the revision that this version needs; return the revisions before and after.

    Safe to run from several processes at once, and to repeat: all revisions are applied in one transaction, on
    PostgreSQL under an advisory lock.

    Raises:
        Unavailable: it cannot be reached, refuses a change, or a newer version has migrated it; nothing was changed.
    """
    from alembic import command
    from alembic.config import Config

    database = Database(url)
    try:
        with tried_once(), database.write() as connection:
            if database.postgres:
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
            before = _revision(connection)
            _refuse_newer(before)
            if before != head():
                config = Config()
                config.set_main_option("script_location", str(_VERSIONS.parent))
                config.attributes["connection"] = connection
                try:
                    command.upgrade(config, "head")
                except DBAPIError as error:
                    if is_transient(error):
                        raise
                    message = f"the schema {before or 'of an empty database'} cannot be migrated to {head()}"
                    reason = str(error.orig).partition("\n")[0]
                    raise Unavailable(f"{message}: {reason}; nothing was changed") from error
        return before, head()
    finally:
        database.dispose()


def _revision(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one_or_none()
