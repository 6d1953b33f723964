"""Software configs and deployments."""

from http import HTTPStatus
from typing import Any, Final

import falcon

from orchestrator.api.described import described
from orchestrator.api.faults import Refused
from orchestrator.api.reading import Query
from orchestrator.api.schemas import MAP, NUMBER, TEXT, body, many, named, wrapped
from orchestrator.api.stacks import Face
from orchestrator.api.times import time_of
from orchestrator.errors import Conflict
from orchestrator.service import Service
from orchestrator.views.software import SoftwareConfigItem, SoftwareConfigView, SoftwareDeploymentView
from orchestrator.views.stacks import ResourceView, StackView

_QUERY: Final = {"limit": NUMBER, "marker": TEXT}
_OF_SERVER: Final = {"server_id": TEXT}
_CONFIG: Final = wrapped("software_config", named("SoftwareConfig"))
_NEW_CONFIG: Final = body(
    name=TEXT,
    group=TEXT,
    config={"anyOf": [TEXT, MAP]},
    inputs=many(MAP),
    outputs=many(MAP),
    options=MAP,
)
_DEPLOYMENT: Final = wrapped("software_deployment", named("SoftwareDeployment"))
_CHANGEABLE: Final = {
    **dict.fromkeys(("config_id", "action", "status", "status_reason"), TEXT),
    **dict.fromkeys(("input_values", "output_values"), MAP),
}
_CHANGES: Final = body(**_CHANGEABLE)
_NEW_DEPLOYMENT: Final = {
    **body(server_id=TEXT, stack_user_project_id=TEXT, **_CHANGEABLE),
    "required": ["server_id", "config_id"],
}


class SoftwareConfigs(Face):
    """The list of software configs."""

    @described(
        "software_configs:index", wrapped("software_configs", many(named("SoftwareConfigItem"))), query=_QUERY
    )
    def on_get(self, request: falcon.Request, response: falcon.Response, **_: str) -> None:
        """List them, without their contents."""
        query = Query(request)
        query.unknown(_QUERY)
        software = self._door.service(request, "software.list").software
        found = software.configs(after=query.one("marker"), limit=query.number("limit") or None)
        response.media = {"software_configs": [_item(each) for each in found]}

    @described("software_configs:create", _CONFIG, body=_NEW_CONFIG)
    def on_post(self, request: falcon.Request, response: falcon.Response, **_: str) -> None:
        """Create one; as clients expect, with the status of success."""
        software = self._door.service(request, "software.create").software
        response.media = {"software_config": config_document(software.create_config(self._body(request)))}


class SoftwareConfig(Face):
    """A software config."""

    @described("software_configs:show", _CONFIG)
    def on_get(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Show it."""
        software = self._door.service(request, "software.read").software
        response.media = {"software_config": config_document(software.config(path["config_id"]))}

    @described("software_configs:delete", status=HTTPStatus.NO_CONTENT)
    def on_delete(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Delete it, unless a deployment uses it."""
        software = self._door.service(request, "software.delete").software
        try:
            software.delete_config(path["config_id"])
        except Conflict as error:
            raise Refused(HTTPStatus.CONFLICT, str(error), kind="InvalidRestrictedAction") from error
        response.status = HTTPStatus.NO_CONTENT


class SoftwareDeployments(Face):
    """The list of software deployments."""

    @described(
        "software_deployments:index",
        wrapped("software_deployments", many(named("SoftwareDeployment"))),
        query=_OF_SERVER,
    )
    def on_get(self, request: falcon.Request, response: falcon.Response, **_: str) -> None:
        """List them, or those to one server."""
        query = Query(request)
        query.unknown(_OF_SERVER)
        software = self._door.service(request, "software.read").software
        found = software.deployments(server_id=query.one("server_id"))
        response.media = {"software_deployments": [_deployment(each) for each in found]}

    @described("software_deployments:create", _DEPLOYMENT, body=_NEW_DEPLOYMENT)
    def on_post(self, request: falcon.Request, response: falcon.Response, **_: str) -> None:
        """Create one; as clients expect, with the status of success."""
        software = self._door.service(request, "software.create").software
        response.media = {"software_deployment": _deployment(software.create_deployment(self._body(request)))}


class SoftwareDeployment(Face):
    """A software deployment."""

    @described("software_deployments:show", _DEPLOYMENT)
    def on_get(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Show it."""
        software = self._door.service(request, "software.read").software
        response.media = {"software_deployment": _deployment(software.deployment(path["deployment_id"]))}

    @described("software_deployments:update", _DEPLOYMENT, body=_CHANGES)
    def on_put(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Change what is given of it."""
        software = self._door.service(request, "software.update").software
        changed = software.update_deployment(path["deployment_id"], self._body(request))
        response.media = {"software_deployment": _deployment(changed)}

    @described("software_deployments:delete", status=HTTPStatus.NO_CONTENT)
    def on_delete(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Delete it."""
        self._door.service(request, "software.delete").software.delete_deployment(path["deployment_id"])
        response.status = HTTPStatus.NO_CONTENT


class ServerMetadata(Face):
    """What a server is to apply."""

    @described("software_deployments:metadata", wrapped("metadata", many(named("SoftwareConfig"))))
    def on_get(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """List the configs of its deployments, with the values of inputs."""
        software = self._door.service(request, "software.read").software
        response.media = {
            "metadata": [config_document(each) for each in software.metadata(path["server_id"])]
        }


def metadata_of(service: Service, stack: StackView, resource: ResourceView) -> dict[str, Any]:
    """Return the metadata of a resource; if it is a server, with how it polls them, and with its deployments."""
    metadata = dict(resource.metadata)
    collector = service.keys.collector(stack, resource.name)
    deployed = service.software.metadata(resource.physical_id) if resource.physical_id else []
    if collector is not None:
        given = metadata.get("os-collect-config")
        metadata["os-collect-config"] = {**(given if isinstance(given, dict) else {}), **collector.options}
    if collector is not None or deployed:
        metadata["deployments"] = [config_document(each) for each in deployed]
    return metadata


def _item(config: SoftwareConfigItem) -> dict[str, Any]:
    return {
        "id": config.id,
        "name": config.name,
        "group": config.group,
        "creation_time": time_of(config.created_at),
    }


def config_document(config: SoftwareConfigView) -> dict[str, Any]:
    """Return a config as clients and servers read it."""
    content = ("config", "inputs", "outputs", "options")
    return {**_item(config), **{name: getattr(config, name) for name in content}}


def _deployment(deployment: SoftwareDeploymentView) -> dict[str, Any]:
    return {
        "id": deployment.id,
        "config_id": deployment.config_id,
        "server_id": deployment.server_id,
        "action": deployment.action or None,
        "status": deployment.status or None,
        "status_reason": deployment.status_reason or None,
        "input_values": deployment.input_values,
        "output_values": deployment.output_values,
        "stack_user_project_id": deployment.stack_user_project_id or None,
        "creation_time": time_of(deployment.created_at),
        "updated_time": time_of(deployment.updated_at),
    }
