"""Setting of the observation policies that new stacks have, by project."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator

from orchestrator.errors import InvalidInput


def _checked(given: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    for project, policy in given.items():
        # Few installations set any, and every command reads the settings.
        from orchestrator.model.observation_policy import ObservationPolicy

        try:
            ObservationPolicy.of(policy)
        except InvalidInput as error:
            # What pydantic reports, with the setting's name.
            raise ValueError(f"of project {project!r}: {error}") from error
    return given


#: For a project, or ``*`` for all others, the parts of the policy that differ from its defaults.
PoliciesByProject = Annotated[Mapping[str, Mapping[str, Any]], AfterValidator(_checked)]


def default_policy(given: PoliciesByProject, project: str) -> Mapping[str, Any]:
    """Return the parts of the policy that a new stack of a project has."""
    return given.get(project, given.get("*", {}))
