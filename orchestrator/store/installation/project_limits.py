"""Limits that administrators set for projects, and what projects use of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hooks.values.dataclass import dataclass
from orchestrator.model.project_limits import EVALUATION, JOBS, SOFTWARE, ProjectLimits, limited
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.database import text_of
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.stacks.project_usage import refuse_too_much, software_used, stacks_used

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orchestrator.store.rows import Values

_OF_PROJECT = "SELECT name, most FROM project_limit WHERE project = :project"
_SET = (
    "INSERT INTO project_limit (project, name, most) VALUES (:project, :name, :most) "
    "ON CONFLICT (project, name) DO UPDATE SET most = excluded.most"
)
_ADD = (
    "INSERT INTO project_evaluation (project, minute, seconds) VALUES (:project, {minute}, :seconds) "
    "ON CONFLICT (project) DO UPDATE SET minute = excluded.minute, seconds = excluded.seconds + "
    "CASE WHEN project_evaluation.minute = excluded.minute THEN project_evaluation.seconds ELSE 0 END"
)
_USED = "SELECT seconds FROM project_evaluation WHERE project = :project AND minute = {minute}"


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
        rows = self._db.rows(_OF_PROJECT, {"project": project})
        return {row.name: row.most for row in rows}

    def all(self) -> list[ProjectLimit]:
        """Return all limits that were set, by project and name."""
        limit = tables.project_limit
        rows = self._db.rows(sa.select(limit).order_by(limit.c.project, limit.c.name))
        return [ProjectLimit(**row._mapping) for row in rows]

    def set(self, project: str, limits: ProjectLimits) -> None:
        """Set limits of a project; None allows any number."""
        self._set([{"project": project, "name": name, "most": most} for name, most in sorted(limits.items())])

    @retrying
    def _set(self, rows: Sequence[Values]) -> None:
        with self._db.transaction() as direct:
            for row in rows:
                direct.count(_SET, row)

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
                EVALUATION: connection.execute(text_of(self._at(_USED)), {"project": project}).scalar()
                or 0.0,
            }

    @retrying
    def refuse(self, project: str, limits: ProjectLimits, added: Mapping[str, int]) -> None:
        """Refuse to add stacks or resources beyond the limits, before anything is begun.

        Others may add some meanwhile: the transaction that adds them counts once more.

        Raises:
            Conflict: there would be too many.
        """
        if limited(limits, added):
            with self._db.reading() as direct:
                refuse_too_much(direct, project, limits, added)

    def evaluated(self, project: str) -> float:
        """Return how many seconds the evaluations of a project have taken in this minute."""
        row = self._db.first(self._at(_USED), {"project": project})
        return row.seconds if row else 0.0

    def add_evaluation(self, project: str, seconds: float) -> None:
        """Count the seconds of an evaluation."""
        self._db.change(self._at(_ADD), {"project": project, "seconds": seconds})

    def _at(self, sql: str) -> str:
        """Return a statement with the present minute."""
        minutes = f"{self._db.now} / 60"
        return sql.format(minute=f"floor({minutes})" if self._db.postgres else f"CAST({minutes} AS INTEGER)")
