"""The driver of one of a database's connections."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from orchestrator.store.database import Database
from orchestrator.store.direct import lent_by


@contextmanager
def driver_of(database: Database) -> Iterator[Any]:
    """Lend the driver's connection, in no transaction; on SQLite it is the one that writes."""
    if database.file is not None:
        with database.file.writer() as driver:
            yield driver
        return
    with lent_by(database.engine) as lent:
        yield lent.driver_connection
