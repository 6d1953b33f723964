"""Which jobs a coordinator has taken from the queue and not answered yet.

Examining a definition may ask other systems a lot: whoever sent it learns meanwhile that somebody is at it.
"""

import sqlalchemy as sa

from orchestrator.store import tables
from orchestrator.store.database import Database, database_time, retrying

#: What was taken this long ago interests nobody any more.
FORGOTTEN_SECONDS = 24 * 60 * 60

_TAKE = sa.text(
    "INSERT INTO taken_job (id, taken_at) VALUES (:id, :now) "
    "ON CONFLICT (id) DO UPDATE SET taken_at = excluded.taken_at"
)


class TakenJobs:
    """Remembers for a day which jobs were taken."""

    def __init__(self, database: Database) -> None:
        self._db = database

    @retrying
    def take(self, job_id: str) -> None:
        """Write down that a coordinator has taken a job, and forget what was taken long ago."""
        taken = tables.taken_job
        with self._db.write() as connection:
            now = database_time(connection, self._db)
            connection.execute(taken.delete().where(taken.c.taken_at < now - FORGOTTEN_SECONDS))
            connection.execute(_TAKE, {"id": job_id, "now": now})

    @retrying
    def is_taken(self, job_id: str) -> bool:
        """Tell whether a coordinator has taken a job."""
        taken = tables.taken_job
        with self._db.read() as connection:
            return connection.execute(sa.select(taken.c.id).where(taken.c.id == job_id)).first() is not None
