"""Databases with all tables; on SQLite they are copies of one, as to migrate each takes twenty times as long."""

import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path

import sqlalchemy as sa

from orchestrator.store import migrations
from orchestrator.store.database import Database
from tests.drivers import driver_of


def migrate(url: str) -> None:
    """Make of a database what ``isotherm db upgrade`` makes of it."""
    parsed = sa.make_url(url)
    # A server takes as long to copy a database as to migrate one.
    if parsed.get_backend_name() != "sqlite" or Path(parsed.database or "").exists():
        migrations.upgrade(url)
        return
    database = Database(url)
    try:
        with driver_of(database) as driver:
            _original().backup(driver)
    finally:
        database.dispose()


@cache
def _original() -> sqlite3.Connection:
    original = sqlite3.connect(":memory:", check_same_thread=False)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "original.db"
        migrations.upgrade(f"sqlite:///{path}")
        with closing(sqlite3.connect(path)) as file:
            file.backup(original)
    return original
