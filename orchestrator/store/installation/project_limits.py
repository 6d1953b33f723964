"""Limits that administrators set for projects, and what projects use of them."""

import functools
from collections.abc import Mapping

import sqlalchemy as sa

from hooks.values.dataclass import dataclass
from orchestrator.model.project_limits import EVALUATION, JOBS, SOFTWARE, ProjectLimits
from orchestrator.store import tables
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import Query
from orchestrator.store.stacks.project_usage import refuse_too_much, software_used, stacks_used

_SET = sa.text(
    "INSERT INTO project_limit (project, name, most) VALUES (:project, :name, :most) "
    "ON CONFLICT (project, name) DO UPDATE SET most = excluded.most"
)
_ADD = (
    "INSERT INTO project_evaluation (project, minute, seconds) VALUES (:project, {minute}, :seconds) "
    "ON CONFLICT (project) DO UPDATE SET minute = excluded.minute, seconds = excluded.seconds + "
    "CASE WHEN project_evaluation.minute = excluded.minute THEN project_evaluation.seconds ELSE 0 END"
)
_USED = "SELECT seconds FROM project_evaluation WHERE project = :project AND minute = {minute}"


@functools.cache
def _of_project() -> Query:
    limit = tables.project_limit
    return sa.select(limit.c.name, limit.c.most).where(limit.c.project == sa.bindparam("of_project"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectLimit:
    """A limit that was set for a project."""

    project: str
    name: str
    #: None for any number.
    most: float | None


class ProjectLimitRows(Repository):
    """The limits set for projects; for the others, the settings hold."""

    def of(self, project: str) -> ProjectLimits:
        """Return the limits set for a project, by name."""
        rows = self._db.rows(_of_project(), {"of_project": project})
        return {row.name: row.most for row in rows}

    def all(self) -> list[ProjectLimit]:
        """Return all limits that were set, by project and name."""
        limit = tables.project_limit
        rows = self._db.rows(sa.select(limit).order_by(limit.c.project, limit.c.name))
        return [ProjectLimit(**row._mapping) for row in rows]

    def set(self, project: str, limits: ProjectLimits) -> None:
        """Set limits of a project; None allows any number."""
        rows: list[dict[str, str | float | None]] = [
            {"project": project, "name": name, "most": most} for name, most in sorted(limits.items())
        ]
        self._set(rows)

    @retrying
    def _set(self, rows: list[dict[str, str | float | None]]) -> None:
        with self._db.write() as connection:
            connection.execute(_SET, rows)

    def unset(self, project: str, name: str) -> bool:
        """Let the settings hold again; return whether a limit was set."""
        limit = tables.project_limit
        gone = limit.delete().where(limit.c.project == project, limit.c.name == name)
        return self._db.change(gone) > 0

    @retrying
    def used(self, project: str) -> Mapping[str, float]:
        """Return what a project uses of the limits on stacks, resources, jobs, software and evaluation, by name."""
        waiting = tables.waiting_job
        jobs = sa.select(sa.func.count()).where(waiting.c.project == project)
        with self._db.read() as connection:
            return {
                **stacks_used(connection, project),
                SOFTWARE: software_used(connection, project),
                JOBS: connection.execute(jobs).scalar_one(),
                EVALUATION: connection.execute(self._sql(_USED), {"project": project}).scalar() or 0.0,
            }

    @retrying
    def refuse(self, project: str, limits: ProjectLimits, added: Mapping[str, int]) -> None:
        """Refuse to add stacks or resources beyond the limits, before anything is begun.

        Others may add some meanwhile: the transaction that adds them counts once more.

        Raises:
            Conflict: there would be too many.
        """
        with self._db.read() as connection:
            refuse_too_much(connection, project, limits, added)

    def evaluated(self, project: str) -> float:
        """Return how many seconds the evaluations of a project have taken in this minute."""
        row = self._db.first(self._sql(_USED), {"project": project})
        return row[0] if row else 0.0

    def add_evaluation(self, project: str, seconds: float) -> None:
        """Count the seconds of an evaluation."""
        self._db.change(self._sql(_ADD), {"project": project, "seconds": seconds})

    def _sql(self, text: str) -> sa.TextClause:
        minutes = f"{self._db.now} / 60"
        return sa.text(
            text.format(minute=f"floor({minutes})" if self._db.postgres else f"CAST({minutes} AS INTEGER)")
        )
