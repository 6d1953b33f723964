"""Views of software configs and deployments."""

from collections.abc import Mapping, Sequence
from typing import Any

from hooks.values.dataclass import dataclass
from orchestrator.views.stacks import View


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftwareConfigItem(View):
    """A software config without its content."""

    id: str
    name: str
    #: The kind of tool that applies it.
    group: str
    created_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftwareConfigView(SoftwareConfigItem):
    """A software config."""

    #: A text or a map.
    config: Any
    inputs: Sequence[Mapping[str, Any]]
    outputs: Sequence[Mapping[str, Any]]
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftwareDeploymentView(View):
    """A software deployment; texts that were not given are empty."""

    id: str
    config_id: str
    server_id: str
    action: str
    status: str
    status_reason: str
    input_values: Mapping[str, Any]
    output_values: Mapping[str, Any]
    #: The project of the user with which the server signals, if any.
    stack_user_project_id: str
    created_at: float
    updated_at: float | None
