"""Setting of the observation policies that new stacks have, by project."""

from collections.abc import Mapping
from typing import Any

from orchestrator.errors import InvalidInput


def require_policies(given: Mapping[str, Mapping[str, Any]]) -> None:
    """Require observation policies, by project.

    Raises:
        ValueError: one is not valid; the sentence names its project.
    """
    for project, policy in given.items():
        # Few installations set any, and every command reads the settings.
        from orchestrator.model.observation_policy import ObservationPolicy

        try:
            ObservationPolicy.of(policy)
        except InvalidInput as error:
            raise ValueError(f"of project {project!r}: {error}") from error


def default_policy(given: Mapping[str, Mapping[str, Any]], project: str) -> Mapping[str, Any]:
    """Return the parts of the policy that a new stack of a project has; ``*`` stands for all others."""
    return given.get(project, given.get("*", {}))
