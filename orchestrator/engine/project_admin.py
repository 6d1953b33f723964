"""Administration of projects: their limits, and what they use of them."""

from collections.abc import Mapping

from hooks.values.nearest import did_you_mean
from orchestrator.config.settings import Settings
from orchestrator.engine.project_limits import limits_of
from orchestrator.errors import NotFound
from orchestrator.model.names import check_project
from orchestrator.model.project_limits import WHAT, read_limits
from orchestrator.store.store import Store
from orchestrator.views.projects import ProjectLimitView, ProjectUsageView


class ProjectAdmin:
    """The limits of projects; a change holds from the next job on."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store

    def limits(self, project: str | None = None) -> list[ProjectLimitView]:
        """Return the limits that were set, for all projects or one."""
        return [
            ProjectLimitView(project=each.project, limit=each.name, most=each.most)
            for each in self._store.project_limits.all()
            if project in (None, each.project)
        ]

    def set_limits(self, project: str, given: Mapping[str, str]) -> list[ProjectLimitView]:
        """Set limits of a project, each a number or ``unlimited``; return all that are set for it.

        Raises:
            InvalidInput: there is no such limit, or a value is no such number; nothing was changed.
        """
        check_project(project)
        self._store.project_limits.set(project, read_limits(given))
        return self.limits(project)

    def unset_limit(self, project: str, limit: str) -> None:
        """Let the settings hold again for one limit of a project.

        Raises:
            NotFound: it was not set.
        """
        if not self._store.project_limits.unset(project, limit):
            names = [each.limit for each in self.limits(project)]
            raise NotFound(
                f"project {project!r} has no limit {limit!r} of its own{did_you_mean(limit, names)}"
            )

    def usage(self, project: str | None = None) -> list[ProjectUsageView]:
        """Return what a project uses of its limits; None is that of the settings."""
        name = project or self._settings.project
        limits, used = limits_of(self._store, self._settings, name), self._store.project_limits.used(name)
        return [
            ProjectUsageView(project=name, limit=limit, what=what, used=used.get(limit), most=limits[limit])
            for limit, what in WHAT.items()
        ]
