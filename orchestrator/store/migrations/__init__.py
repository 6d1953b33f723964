"""Migrations of the schema, applied by Alembic: ``isotherm db upgrade``.

Embedded mode checks at every command that the schema is current; the check does without Alembic, whose import takes
longer than the check. ``versions/NUMBER.sql`` makes the newest schema in an empty SQLite database at once.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import Unavailable
from orchestrator.store.alchemy import sa
from orchestrator.store.database import Database
from orchestrator.store.retrying import is_transient, tried_once

if TYPE_CHECKING:
    from orchestrator.store.direct import Direct

#: The key of the advisory lock that the migrating process holds; the number is arbitrary.
_MIGRATION_LOCK = 7_233_400_521


_HAS_REVISION = "SELECT to_regclass('alembic_version') IS NOT NULL AS found"
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
        return current_of(database)
    finally:
        database.dispose()


def current_of(database: Database) -> str | None:
    """Return the revision that an open database has; None for an empty one.

    Raises:
        Unavailable: it cannot be reached.
    """
    with tried_once(), database.reading() as direct:
        return _revision(direct)


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

    An empty SQLite database gets the newest schema at once: commands make theirs.

    Safe to run from several processes at once, and to repeat: all revisions are applied in one transaction, on
    PostgreSQL under an advisory lock.

    Raises:
        Unavailable: it cannot be reached, refuses a change, or a newer version has migrated it; nothing was changed.
    """
    database = Database(url)
    try:
        return upgrade_of(database)
    finally:
        database.dispose()


def upgrade_of(database: Database) -> tuple[str | None, str]:
    """Migrate an open database, as :func:`upgrade` does.

    Raises:
        Unavailable: as for :func:`upgrade`.
    """
    with tried_once(), database.transaction() as direct:
        if direct.is_postgres:
            direct.rows("SELECT pg_advisory_xact_lock(:key)", {"key": _MIGRATION_LOCK})
        before = _revision(direct)
        _refuse_newer(before)
        if before != head() and not _made_at_once(direct):
            _migrate(direct.alchemy, before)
    return before, head()


def _made_at_once(direct: Direct) -> bool:
    """Give an empty SQLite database the newest schema, without the revisions before it; return whether it was empty."""
    script = _VERSIONS / f"{head()}.sql"
    if direct.is_postgres or not script.exists():
        return False
    if direct.first("SELECT name FROM sqlite_master LIMIT 1", {}) is not None:
        return False
    for statement in statements_of(script.read_text(encoding="utf-8")):
        direct.run(statement)
    return True


def statements_of(script: str) -> list[str]:
    """Return the statements of a script, which has an empty line between two of them."""
    return [statement for statement in script.split("\n\n") if not statement.startswith("--")]


def _migrate(connection: sa.Connection, before: str | None) -> None:
    """Apply the revisions after ``before``.

    Raises:
        Unavailable: the database refuses one of them.
    """
    # Slow to import, and rarely needed.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_VERSIONS.parent))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except sa.exc.DBAPIError as error:
        if is_transient(error):
            raise
        message = f"the schema {before or 'of an empty database'} cannot be migrated to {head()}"
        reason = str(error.orig).partition("\n")[0]
        raise Unavailable(f"{message}: {reason}; nothing was changed") from error


def _revision(direct: Direct) -> str | None:
    # On PostgreSQL, a statement that fails would end the transaction.
    if direct.is_postgres and not direct.one(_HAS_REVISION, {}).found:
        return None
    try:
        row = direct.first("SELECT version_num FROM alembic_version", {})
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):
            raise
        return None
    return None if row is None else str(row.version_num)
