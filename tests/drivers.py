"""The driver of a connection in a database's pool."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from orchestrator.store.direct import lent_by


@contextmanager
def driver_of(pool: sa.Engine) -> Iterator[Any]:
    """Lend a connection's driver, as :func:`orchestrator.store.direct.lent_by` does."""
    with lent_by(pool) as lent:
        yield lent.driver_connection
