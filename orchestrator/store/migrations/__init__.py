"""The schema's history, applied by Alembic: ``isotherm db upgrade``."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.exc import DBAPIError

from orchestrator.errors import Unavailable
from orchestrator.store.database import Database

#: Any number; whoever holds this advisory lock migrates, others wait for it.
_MIGRATION_LOCK = 7_233_400_521


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    return config


def head() -> str:
    """Return the revision that this code wants."""
    return str(ScriptDirectory.from_config(_config()).get_current_head())


def current(url: str) -> str | None:
    """Return the revision a database has; None for an empty one.

    Raises:
        Unavailable: it cannot be reached.
    """
    database = Database(url)
    try:
        with database.read() as connection:
            return MigrationContext.configure(connection).get_current_revision()
    except DBAPIError as error:
        raise Unavailable(f"the database does not answer: {error.orig}") from error
    finally:
        database.dispose()


def upgrade(url: str) -> tuple[str | None, str]:
    """Bring a database to the revision that this code wants; return the revisions before and after.

    Safe to run from several processes at once, and again when nothing is to be done.

    Raises:
        Unavailable: it cannot be reached.
    """
    database = Database(url)
    try:
        with database.write() as connection:
            if database.postgres:
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
            before = MigrationContext.configure(connection).get_current_revision()
            if before != head():
                config = _config()
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
        return before, head()
    except DBAPIError as error:
        raise Unavailable(f"the database does not answer: {error.orig}") from error
    finally:
        database.dispose()
