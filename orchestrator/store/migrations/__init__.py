"""The schema's history, applied by Alembic: ``isotherm db upgrade``.

Embedded mode asks at every command whether the schema is current, so asking does without Alembic: it takes longer
to import than the answer takes.
"""

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from orchestrator.errors import Unavailable
from orchestrator.store.database import Database

#: Any number; whoever holds this advisory lock migrates, others wait for it.
_MIGRATION_LOCK = 7_233_400_521


#: Where the revisions are, each in a file whose name begins with its number, in the order of the numbers.
_VERSIONS = Path(__file__).parent / "versions"


def head() -> str:
    """Return the revision that this code wants."""
    return max(path.name.partition("_")[0] for path in _VERSIONS.glob("[0-9]*_*.py"))


def current(url: str) -> str | None:
    """Return the revision a database has; None for an empty one.

    Raises:
        Unavailable: it cannot be reached.
    """
    database = Database(url)
    try:
        with database.read() as connection:
            return _revision(connection)
    except DBAPIError as error:
        raise Unavailable(f"the database does not answer: {error.orig}") from error
    finally:
        database.dispose()


def require(url: str) -> None:
    """Refuse to work on a database of another schema; one that does not answer now may have the right one.

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
    """Bring a database to the revision that this code wants; return the revisions before and after.

    Safe to run from several processes at once, and again when nothing is to be done.

    Raises:
        Unavailable: it cannot be reached, or a newer version has been there.
    """
    from alembic import command
    from alembic.config import Config

    database = Database(url)
    try:
        with database.write() as connection:
            if database.postgres:
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
            before = _revision(connection)
            _refuse_newer(before)
            if before != head():
                config = Config()
                config.set_main_option("script_location", str(_VERSIONS.parent))
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
        return before, head()
    except DBAPIError as error:
        raise Unavailable(f"the database does not answer: {error.orig}") from error
    finally:
        database.dispose()


def _revision(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one_or_none()
