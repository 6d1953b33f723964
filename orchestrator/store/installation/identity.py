"""The id of the installation: all of its processes have this database, and its messages carry the id."""

from __future__ import annotations

import time
import uuid
from typing import Final

from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying

_READ: Final = "SELECT id FROM identity"
_MAKE: Final = "INSERT INTO identity (one, id) VALUES (1, :id) ON CONFLICT (one) DO NOTHING"
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
            found = self._db.first("SELECT 1 AS one FROM identity WHERE reencrypted_at IS NOT NULL")
            self._is_reencrypted, self._next_look = found is not None, time.monotonic() + LOOK_SECONDS
        return self._is_reencrypted

    def set_reencrypted(self) -> None:
        """Record that everything is encrypted and bound to its row; the first time stands."""
        self.read()
        first = f"UPDATE identity SET reencrypted_at = {self._db.now} WHERE reencrypted_at IS NULL"
        self._db.change(first)
        self._is_reencrypted = True

    @retrying
    def _read(self) -> str:
        with self._db.reading() as direct:
            row = direct.first(_READ, {})
        if row is None:
            with self._db.transaction() as direct:
                direct.count(_MAKE, {"id": uuid.uuid4().hex[:16]})
                row = direct.one(_READ, {})
        known: str = row.id
        return known
