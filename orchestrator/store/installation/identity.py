"""The id of the installation: all of its processes have this database, and its messages carry the id."""

import uuid

import sqlalchemy as sa

from orchestrator.store import tables
from orchestrator.store.database import retrying
from orchestrator.store.repository import Repository

_MAKE = sa.text("INSERT INTO identity (one, id) VALUES (1, :id) ON CONFLICT (one) DO NOTHING")


class Identity(Repository):
    """The one row with the installation's id."""

    _known = ""

    def read(self) -> str:
        """Return the installation's id, which is made at the first call, and never changes: it is read once."""
        self._known = self._known or self._read()
        return self._known

    @retrying
    def _read(self) -> str:
        sql = sa.select(tables.identity.c.id)
        with self._db.read() as connection:
            found: str | None = connection.execute(sql).scalar_one_or_none()
        if found is None:
            with self._db.write() as connection:
                connection.execute(_MAKE, {"id": uuid.uuid4().hex[:16]})
                found = connection.execute(sql).scalar_one()
        return found
