"""The routes: every address, and what answers there."""

from collections.abc import Iterator
from typing import Final

from orchestrator.api.catalogue import TemplateFunctions, TemplateVersions, Type, Types, TypeTemplate
from orchestrator.api.cfn import Cfn
from orchestrator.api.door import Door
from orchestrator.api.events import Event, Events, ResourceEvents
from orchestrator.api.imports import Import, ImportPreview
from orchestrator.api.installation import Build, Health, Services, Versions
from orchestrator.api.lookups import REDIRECTED, Lookup
from orchestrator.api.resources import Metadata, Resource, Resources, Signal
from orchestrator.api.software import (
    ServerMetadata,
    SoftwareConfig,
    SoftwareConfigs,
    SoftwareDeployment,
    SoftwareDeployments,
)
from orchestrator.api.stack_parts import (
    Actions,
    Environment,
    Files,
    Output,
    Outputs,
    Restore,
    Snapshot,
    Snapshots,
    Template,
)
from orchestrator.api.stacks import (
    Abandon,
    CreatePreview,
    Export,
    Face,
    Stack,
    StackDetails,
    Stacks,
    UpdatePreview,
)
from orchestrator.api.validation import Validation

#: What answers below the address of a project.
_OF_PROJECT: Final[tuple[tuple[str, type[Face]], ...]] = (
    ("/stacks", Stacks),
    ("/stacks/detail", StackDetails),
    ("/stacks/preview", CreatePreview),
    ("/validate", Validation),
    ("/resource_types", Types),
    ("/resource_types/{type_name}", Type),
    ("/resource_types/{type_name}/template", TypeTemplate),
    ("/template_versions", TemplateVersions),
    ("/template_versions/{version}/functions", TemplateFunctions),
    ("/build_info", Build),
    ("/services", Services),
    ("/software_configs", SoftwareConfigs),
    ("/software_configs/{config_id}", SoftwareConfig),
    ("/software_deployments", SoftwareDeployments),
    ("/software_deployments/{deployment_id}", SoftwareDeployment),
    ("/software_deployments/metadata/{server_id}", ServerMetadata),
)
#: What answers below the canonical address of a stack.
_OF_STACK: Final[tuple[tuple[str, type[Face]], ...]] = (
    ("", Stack),
    ("/preview", UpdatePreview),
    ("/import", Import),
    ("/import/preview", ImportPreview),
    ("/abandon", Abandon),
    ("/export", Export),
    ("/template", Template),
    ("/environment", Environment),
    ("/files", Files),
    ("/actions", Actions),
    ("/outputs", Outputs),
    ("/outputs/{key}", Output),
    ("/snapshots", Snapshots),
    ("/snapshots/{snapshot_id}", Snapshot),
    ("/snapshots/{snapshot_id}/restore", Restore),
    ("/events", Events),
    ("/resources", Resources),
    ("/resources/{resource}", Resource),
    ("/resources/{resource}/metadata", Metadata),
    ("/resources/{resource}/signal", Signal),
    ("/resources/{resource}/events", ResourceEvents),
    ("/resources/{resource}/events/{event_id}", Event),
)
_PROJECT: Final = "/v1/{project}"


def routes(door: Door, *, behind_proxy: bool = False) -> Iterator[tuple[str, object]]:
    """Yield each address with what answers there."""
    for path in ("/", "/versions", _PROJECT):
        yield path, Versions(behind_proxy=behind_proxy)
    yield "/v1", Cfn(door, behind_proxy=behind_proxy)
    yield "/healthcheck", Health(door)
    for path, face in _OF_PROJECT:
        yield f"{_PROJECT}{path}", face(door)
    for part in REDIRECTED:
        yield f"{_PROJECT}/stacks/{{name}}{f'/{part}' if part else ''}", Lookup(door, part)
    for path, face in _OF_STACK:
        yield f"{_PROJECT}/stacks/{{name}}/{{stack_id}}{path}", face(door)
