"""URLs of databases, as the settings have them."""

from __future__ import annotations

import re

from orchestrator.errors import InvalidInput, Problem
from orchestrator.store.alchemy import sa
from orchestrator.store.pooling import pooling_fault

#: A URL without parameters and escapes: most are, and need no SQLAlchemy to be read.
_PLAIN = re.compile(r"sqlite(?:\+pysqlite)?://(?:/([^?#%]*))?")


def plain_path(url: str) -> str | None:
    """Return the path in a URL of SQLite without parameters, empty for a database in memory; None for other URLs."""
    found = _PLAIN.fullmatch(url)
    if found is None:
        return None
    return "" if found[1] in (None, ":memory:") else found[1]


def parsed(url: str) -> sa.URL:
    """Return a URL of SQLite or PostgreSQL, with the driver that is used.

    Raises:
        InvalidInput: it is malformed, or of another database.
    """
    hint = "for example sqlite:////var/lib/isotherm/isotherm.db or postgresql+psycopg://user@host/isotherm"
    try:
        found = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError) as error:
        # The URL is not shown, because it may contain a password.
        problem = Problem(message="not a database URL", path="settings.database_url", hint=hint)
        raise InvalidInput([problem]) from error
    backend = found.get_backend_name()
    if backend == "postgresql":
        if fault := pooling_fault(found):
            raise InvalidInput([Problem(message=fault, path="settings.database_url")])
        return found.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        message = f"expected a SQLite or PostgreSQL database, found {backend!r}"
        raise InvalidInput([Problem(message=message, path="settings.database_url", hint=hint)])
    return found
