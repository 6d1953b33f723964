"""In-flight jobs: taken from the queue, with or without a result yet.

Validating a definition may take long, because it calls external systems; the sender of a job sees here that a
coordinator works on it.
"""

import sqlalchemy as sa

from orchestrator.store import tables
from orchestrator.store.database import retrying
from orchestrator.store.repository import Repository

#: After how long a taken job is forgotten.
FORGOTTEN_SECONDS = 24 * 60 * 60

_TAKE = sa.text(
    "INSERT INTO taken_job (id, taken_at) VALUES (:id, :now) "
    "ON CONFLICT (id) DO UPDATE SET taken_at = excluded.taken_at"
)


class TakenJobs(Repository):
    """The jobs that coordinators have taken within a day."""

    @retrying
    def take(self, job_id: str) -> None:
        """Record that a coordinator has taken a job, and remove old records."""
        taken = tables.taken_job
        with self._db.timed_write() as (connection, now):
            connection.execute(taken.delete().where(taken.c.taken_at < now - FORGOTTEN_SECONDS))
            connection.execute(_TAKE, {"id": job_id, "now": now})

    def is_taken(self, job_id: str) -> bool:
        """Return whether a coordinator has taken a job."""
        taken = tables.taken_job
        return self._db.first(sa.select(taken.c.id).where(taken.c.id == job_id)) is not None
