"""In-flight jobs: taken from the queue, with or without a result yet.

A job waits here, not in the broker, until it is begun: by turn of project, so that no project waits for the jobs of
another, and in the order of arrival within a project. A job that is being begun has a lease; the jobs of a dead
coordinator are due again when that ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from orchestrator.model.project_limits import JOBS, NO_LIMITS, ProjectLimits, refuse_beyond
from orchestrator.store import tables
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.stacks.project_usage import lock_project

#: After how long a taken job is forgotten: it is recognized if its message comes again until then, which counts no
#: longer than a day.
FORGOTTEN_SECONDS = 48 * 60 * 60
#: When a job is due again that was put back.
AGAIN_SECONDS = 1.0

#: A job that was refused may come again, too.
_NOTE = (
    "INSERT INTO taken_job (id, taken_at) SELECT CAST(:id AS TEXT), {now} "
    "WHERE NOT EXISTS (SELECT 1 FROM job WHERE id = :id) ON CONFLICT (id) DO NOTHING"
)
_WAITING = "SELECT count(*) FROM waiting_job WHERE project = :project"
#: No fewer than wait, as they are numbered one after the other: found by the index alone, however many there are.
_SPAN = "SELECT coalesce(max(no) - min(no) + 1, 0) FROM waiting_job WHERE project = :project"
_ADD_PROJECT = (
    "INSERT INTO project_turn (project, taken_at) VALUES (:project, 0) ON CONFLICT (project) DO NOTHING"
)
_ADD = (
    "INSERT INTO waiting_job (id, project, no, task, job, due_at) VALUES (:id, :project, "
    "(SELECT coalesce(max(no), 0) + 1 FROM waiting_job WHERE project = :project), :task, :job, {now}) "
    "ON CONFLICT (id) DO NOTHING"
)
#: The turn of the project that had its last one longest ago, among those with a job that is due.
_TURN = (
    "UPDATE project_turn SET taken_at = {now} WHERE project = (SELECT project FROM project_turn "
    "WHERE project IN (SELECT project FROM waiting_job WHERE due_at <= {now}) "
    "ORDER BY taken_at, project LIMIT 1 {skip_locked}) RETURNING project"
)
_JOB = ("id", "project", "task", "job", "attempts")
_TAKE = (
    "UPDATE waiting_job SET due_at = {now} + :lease_seconds, attempts = attempts + 1 WHERE id = (SELECT id "
    "FROM waiting_job WHERE project = :project AND due_at <= {now} ORDER BY no, id LIMIT 1 {skip_locked}) "
    f"RETURNING {', '.join(_JOB)}"
)
#: Both at once, as PostgreSQL can, in one round trip; if the project has no job any more, the job's columns are null.
_TAKE_TURN = (
    f"WITH turn AS ({_TURN}), job AS ({_TAKE.replace(':project', '(SELECT project FROM turn)')}) "
    "SELECT turn.project AS turn, job.* FROM turn LEFT JOIN job ON true"
)
_MINE = "WHERE id = :id AND attempts = :attempts"
_EXTEND = f"UPDATE waiting_job SET due_at = {{now}} + :lease_seconds {_MINE}"
_PUT_BACK = f"UPDATE waiting_job SET due_at = {{now}} + :again, attempts = attempts - 1 {_MINE}"
_FORGET = "DELETE FROM taken_job WHERE taken_at < {now} - :seconds"
_IS_DUE = "SELECT 1 FROM waiting_job WHERE due_at <= {now} LIMIT 1"


#: The project whose turn it is, None for none; and the job that was taken, None if it has none any more.
_Turn = tuple[str | None, Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenJob:
    """A job whose lease this process holds."""

    id: str
    project: str
    task: str
    #: Its fields, packed.
    job: bytes
    #: How often it was taken to be begun; those times do not count after which it was put back.
    attempts: int


class TakenJobs(Repository):
    """The jobs that coordinators have taken from the queue within a day, and among them those not begun yet."""

    @retrying
    def add(
        self,
        job_id: str,
        job: Mapping[str, Any],
        *,
        project: str,
        task: str,
        limits: ProjectLimits = NO_LIMITS,
    ) -> bool:
        """Record a job that arrived; it waits for its turn. False if it arrived before: then nothing is changed.

        Raises:
            Conflict: as many jobs of the project wait as may; nothing was changed.
        """
        with self._db.write() as connection:
            if limits.get(JOBS) is not None:
                lock_project(connection, project)
            if connection.execute(self._sql(_NOTE), {"id": job_id}).rowcount == 0:
                return False
            self._refuse_beyond(connection, limits, project)
            connection.execute(self._sql(_ADD_PROJECT), {"project": project})
            packed = self._codec.pack(dict(job), ("waiting_job", "job", job_id))
            connection.execute(
                self._sql(_ADD), {"id": job_id, "project": project, "task": task, "job": packed}
            )
        return True

    def _refuse_beyond(self, connection: sa.Connection, limits: ProjectLimits, project: str) -> None:
        """Refuse another job of a project with as many as may wait.

        Raises:
            Conflict: as many wait.
        """
        most, mine = limits.get(JOBS), {"project": project}
        if most is not None and connection.execute(self._sql(_SPAN), mine).scalar_one() >= most:
            used = connection.execute(self._sql(_WAITING), mine).scalar_one()
            refuse_beyond(limits, JOBS, project, used=used, wanted=1)

    @retrying
    def take(self, *, lease_seconds: float) -> TakenJob | None:
        """Take the next job that is due, by turn of project, for so long; None for none."""
        while True:
            project, row = (
                self._take_turn(lease_seconds) if self._db.postgres else self._take_in_two(lease_seconds)
            )
            if project is None:
                self._db.change(self._sql(_FORGET), {"seconds": FORGOTTEN_SECONDS})
                return None
            # Another process may have taken the last job of the project since the turn was chosen.
            if row is not None:
                return TakenJob(**row)

    def _take_turn(self, lease_seconds: float) -> _Turn:
        with self._db.engine.connect() as connection:
            row = connection.execute(self._sql(_TAKE_TURN), {"lease_seconds": lease_seconds}).first()
        if row is None:
            return None, None
        project, *job = row
        return project, None if row.id is None else dict(zip(_JOB, job, strict=True))

    def _take_in_two(self, lease_seconds: float) -> _Turn:
        with self._db.write() as connection:
            project = connection.execute(self._sql(_TURN)).scalar()
            if project is None:
                return None, None
            values = {"project": project, "lease_seconds": lease_seconds}
            row = connection.execute(self._sql(_TAKE), values).first()
        return project, None if row is None else dict(row._mapping)

    def content(self, taken: TakenJob) -> Mapping[str, Any]:
        """Return the fields of a job.

        Raises:
            UnreadableSecret, UnreadableValue: no configured key decrypts them, or they are broken.
        """
        fields: Mapping[str, Any] = self._codec.unpack(taken.job, ("waiting_job", "job", taken.id))
        return fields

    def extend(self, taken: TakenJob, *, lease_seconds: float) -> None:
        """Extend the lease of a job, unless another process has taken it over."""
        values = {"id": taken.id, "attempts": taken.attempts, "lease_seconds": lease_seconds}
        self._db.change(self._sql(_EXTEND), values)

    def put_back(self, taken: TakenJob) -> None:
        """Have a job begun later, at its place in the order, unless another process has taken it over."""
        values = {"id": taken.id, "attempts": taken.attempts, "again": AGAIN_SECONDS}
        self._db.change(self._sql(_PUT_BACK), values)

    def remove(self, taken: TakenJob) -> None:
        """Remove a job that has its result."""
        waiting = tables.waiting_job
        self._db.change(waiting.delete().where(waiting.c.id == taken.id))

    def is_due(self) -> bool:
        """Return whether a job is due."""
        return self._db.first(self._sql(_IS_DUE)) is not None

    def is_taken(self, job_id: str) -> bool:
        """Return whether a coordinator has taken a job from the queue."""
        taken = tables.taken_job
        return self._db.first(sa.select(taken.c.id).where(taken.c.id == job_id)) is not None

    def _sql(self, text: str) -> sa.TextClause:
        skip_locked = "FOR UPDATE SKIP LOCKED" if self._db.postgres else ""
        return sa.text(text.format(now=self._db.now, skip_locked=skip_locked))
