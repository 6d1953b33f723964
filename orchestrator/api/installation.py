"""What is not about stacks: versions of the API, build, services and health."""

from datetime import UTC, datetime
from http import HTTPStatus
from importlib.metadata import version
from typing import Any, Final

import falcon

from orchestrator.api.addresses import link
from orchestrator.api.described import described
from orchestrator.api.faults import Refused
from orchestrator.api.schemas import LINKS, MAYBE_TEXT, NUMBER, TEXT, fields, many, words, wrapped
from orchestrator.api.stacks import Face
from orchestrator.errors import Unavailable
from orchestrator.store.installation.processes import API
from orchestrator.views.operations import ProcessView

VERSIONS: Final = wrapped(
    "versions",
    many(
        fields(
            {
                "id": TEXT,
                "status": words("CURRENT"),
                "links": LINKS,
            }
        )
    ),
)
_REVISION: Final = wrapped("revision", TEXT)
_BUILD: Final = fields({"api": _REVISION, "engine": _REVISION})
_SERVICE: Final = fields(
    {
        **dict.fromkeys(("id", "engine_id", "binary", "hostname", "host", "topic"), TEXT),
        "status": words("up", "down"),
        "report_interval": NUMBER,
        **dict.fromkeys(("created_at", "deleted_at"), MAYBE_TEXT),
        "updated_at": TEXT,
    }
)


class Versions:
    """The versions of the API, also at the address of a project: openstacksdk looks for them at its endpoint."""

    #: No caller is asked for.
    is_open = True

    def __init__(self, *, behind_proxy: bool) -> None:
        self._behind_proxy = behind_proxy

    @described("", VERSIONS, status=HTTPStatus.MULTIPLE_CHOICES)
    def on_get(self, request: falcon.Request, response: falcon.Response, **_: str) -> None:
        """List them; as clients expect, with the status of several choices."""
        prefix = request.forwarded_prefix if self._behind_proxy else request.prefix
        found = {"id": "v1.0", "status": "CURRENT", "links": [link("self", f"{prefix}/v1/")]}
        response.status = falcon.HTTP_MULTIPLE_CHOICES
        response.media = {"versions": [found]}


class Health(Face):
    """Whether the process can serve: for load balancers."""

    is_open = True

    @described("")
    def on_get(self, request: falcon.Request, response: falcon.Response) -> None:  # noqa: ARG002  # as of all
        """Say OK if the database answers."""
        try:
            self._door.reach()
        except Unavailable:
            response.status, response.text = falcon.HTTP_SERVICE_UNAVAILABLE, "UNAVAILABLE"
        else:
            response.text = "OK"
        response.content_type = falcon.MEDIA_TEXT


class Build(Face):
    """The version of the program."""

    @described("build_info:build_info", _BUILD)
    def on_get(self, request: falcon.Request, response: falcon.Response, **_: str) -> None:
        """Show it."""
        self._door.require(request, "stack.preview")
        revision = {"revision": version("isotherm")}
        response.media = {"api": revision, "engine": revision}


class Services(Face):
    """The processes that carry operations out."""

    @described("service:index", wrapped("services", many(_SERVICE)))
    def on_get(self, request: falcon.Request, response: falcon.Response, **_: str) -> None:
        """List the coordinators and workers; without any, nothing is carried out."""
        service = self._door.service(request, "process.check")
        found = [_service(each) for each in service.observer.processes() if each.kind != API]
        if not found:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "no coordinator and no worker has reported")
        response.media = {"services": found}


def _service(process: ProcessView) -> dict[str, Any]:
    seen = datetime.fromtimestamp(process.seen_at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000000")
    return {
        "id": process.name,
        "engine_id": process.name,
        "binary": f"isotherm-{process.kind}",
        "hostname": process.host,
        "host": process.host,
        "topic": "engine",
        "status": "up" if process.state == "present" else "down",
        "report_interval": 0,
        "created_at": None,
        "updated_at": seen,
        "deleted_at": None,
    }
