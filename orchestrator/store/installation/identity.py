"""The id of the installation: all of its processes have this database, and its messages carry the id."""

import time
import uuid
from typing import Final

import sqlalchemy as sa

from orchestrator.store import tables
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying

_MAKE = sa.text("INSERT INTO identity (one, id) VALUES (1, :id) ON CONFLICT (one) DO NOTHING")
#: How often a process looks whether the values in the store are encrypted anew.
LOOK_SECONDS: Final = 5.0


class Identity(Repository):
    """The one row about the installation itself."""

    _known = ""
    _is_reencrypted = False
    _next_look = 0.0

    def read(self) -> str:
        """Return the installation's id, which is made at the first call, and never changes: it is read once."""
        self._known = self._known or self._read()
        return self._known

    def is_reencrypted(self) -> bool:
        """Return whether everything was found to be encrypted and bound to its row; it is looked up seldom."""
        if not self._is_reencrypted and time.monotonic() >= self._next_look:
            found = self._db.value(sa.select(tables.identity.c.reencrypted_at))
            self._is_reencrypted, self._next_look = found is not None, time.monotonic() + LOOK_SECONDS
        return self._is_reencrypted

    def set_reencrypted(self) -> None:
        """Record that everything is encrypted and bound to its row; the first time stands."""
        self.read()
        first = tables.identity.c.reencrypted_at.is_(None)
        self._db.change(tables.identity.update().where(first).values(reencrypted_at=self._db.time()))
        self._is_reencrypted = True

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
