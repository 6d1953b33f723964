"""The WSGI application: every address, and what answers there."""

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import falcon

from orchestrator.api.answers import Answers
from orchestrator.api.callers import Identify
from orchestrator.api.catalogue import TemplateFunctions, TemplateVersions, Type, Types, TypeTemplate
from orchestrator.api.door import Door
from orchestrator.api.events import Event, Events, ResourceEvents
from orchestrator.api.installation import Build, Health, Services, Versions
from orchestrator.api.kinds import KEYSTONE
from orchestrator.api.lookups import REDIRECTED, Lookup
from orchestrator.api.observation import Observation
from orchestrator.api.requests import Admission, answer_error
from orchestrator.api.resources import Metadata, Resource, Resources, Signal
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

# Of what is only used where it is switched on.
if TYPE_CHECKING:
    from orchestrator.api.metrics import RequestMetrics

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
)
#: What answers below the canonical address of a stack.
_OF_STACK: Final[tuple[tuple[str, type[Face]], ...]] = (
    ("", Stack),
    ("/preview", UpdatePreview),
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
    for path in ("/", "/versions", "/v1", _PROJECT):
        yield path, Versions(behind_proxy=behind_proxy)
    yield "/healthcheck", Health(door)
    for path, face in _OF_PROJECT:
        yield f"{_PROJECT}{path}", face(door)
    for part in REDIRECTED:
        yield f"{_PROJECT}/stacks/{{name}}{f'/{part}' if part else ''}", Lookup(door, part)
    for path, face in _OF_STACK:
        yield f"{_PROJECT}/stacks/{{name}}/{{stack_id}}{path}", face(door)


def make_application(
    door: Door,
    identify: Identify,
    *,
    kind: str = "",
    behind_proxy: bool = False,
    metrics: "RequestMetrics | None" = None,
) -> Callable[..., Any]:
    """Return the WSGI application; with ``kind`` keystone, behind the middleware that verifies tokens.

    With ``metrics``, requests are counted there, and ``/metrics`` is served.
    """
    # Requests go through them in this order, answers in the other.
    observation = Observation(metrics=metrics, tracing=door.tracing, errors=door.errors)
    middleware: list[Any] = [observation, Answers(), Admission(identify, door)]
    application = falcon.App(middleware=middleware)
    application.req_options.strip_url_path_trailing_slash = True
    application.req_options.keep_blank_qs_values = True
    application.add_error_handler(Exception, answer_error)
    application.add_error_handler(falcon.HTTPError, answer_error)
    for path, face in routes(door, behind_proxy=behind_proxy):
        application.add_route(path, face)
    if metrics is not None:
        from orchestrator.api.metrics import MetricsPage

        page = MetricsPage(metrics, identify, door.may_see_metrics, behind_proxy=behind_proxy)
        application.add_route("/metrics", page)
    return _behind_keystone(application, door) if kind == KEYSTONE else application


def _behind_keystone(application: Callable[..., Any], door: Door) -> Callable[..., Any]:
    # What most installations do not have.
    from keystonemiddleware.auth_token import AuthProtocol

    # It warns of each option of its plugin for authentication.
    logging.getLogger("keystonemiddleware._common.config").setLevel(logging.ERROR)
    # Who has no token is refused here: signed addresses need none, nor do versions and health.
    options = {**door.settings.keystone_authtoken, "delay_auth_decision": True}
    protocol: Callable[..., Any] = AuthProtocol(application, options)
    return protocol
