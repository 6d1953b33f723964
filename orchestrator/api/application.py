"""The WSGI application."""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import falcon

from orchestrator.api.answers import Answers
from orchestrator.api.callers import Identify, caller_of_keystone
from orchestrator.api.cfn import SIGNALS, Cfn
from orchestrator.api.door import Door
from orchestrator.api.observation import Observation
from orchestrator.api.openapi import Document, document_of
from orchestrator.api.requests import Admission, Rules, answer_error
from orchestrator.api.routes import routes

# Of what is only used where it is switched on.
if TYPE_CHECKING:
    from orchestrator.api.metrics import RequestMetrics


def described_routes(door: Door, *, behind_proxy: bool = False) -> list[tuple[str, object]]:
    """Return the same, with the document that describes them all."""
    document = Document()
    found = [*routes(door, behind_proxy=behind_proxy), ("/openapi.json", document)]
    document.data = document_of(found)
    return found


def make_application(
    door: Door,
    identify: Identify,
    *,
    rules: Rules | None = None,
    behind_proxy: bool = False,
    metrics: "RequestMetrics | None" = None,
) -> Callable[..., Any]:
    """Return the WSGI application; with ``rules``, they decide in place of the installation's policy.

    With ``metrics``, requests are counted there, and ``/metrics`` is served.
    """
    # Requests go through them in this order, answers in the other.
    observation = Observation(metrics=metrics, tracing=door.tracing, errors=door.errors)
    middleware: list[Any] = [observation, Answers(), Admission(identify, door, rules)]
    application = falcon.App(middleware=middleware)
    application.req_options.strip_url_path_trailing_slash = True
    application.req_options.keep_blank_qs_values = True
    application.add_error_handler(Exception, answer_error)
    application.add_error_handler(falcon.HTTPError, answer_error)
    for path, face in described_routes(door, behind_proxy=behind_proxy):
        application.add_route(path, face)
    if metrics is not None:
        from orchestrator.api.metrics import MetricsPage

        def may_see(request: falcon.Request) -> bool:
            identity = identify(request)
            if identity is None or rules is None:
                return identity is not None and door.may_see_metrics(identity)
            return rules.is_everywhere(request.env)

        page = MetricsPage(metrics, may_see, behind_proxy=behind_proxy)
        application.add_route("/metrics", page)
    application.add_sink(Cfn(door, behind_proxy=behind_proxy).signal, SIGNALS)
    return application


def make_keystone_application(
    door: Door, *, behind_proxy: bool = False, metrics: "RequestMetrics | None" = None
) -> Callable[..., Any]:
    """Return the WSGI application behind the middleware that verifies keystone's tokens, with rules of oslo.policy.

    Raises:
        InvalidInput: the file of the rules is wrong.
    """
    # What most installations do not have.
    from keystonemiddleware.auth_token import AuthProtocol

    from orchestrator.api.rules import Rules as PolicyRules

    # It warns of each option of its plugin for authentication.
    logging.getLogger("keystonemiddleware._common.config").setLevel(logging.ERROR)
    rules = PolicyRules(door.settings.api_policy_file)
    application = make_application(
        door, caller_of_keystone, rules=rules, behind_proxy=behind_proxy, metrics=metrics
    )
    # Who has no token is refused here: signed addresses need none, nor do versions and health.
    options = {**door.settings.keystone_authtoken, "delay_auth_decision": True}
    protocol: Callable[..., Any] = AuthProtocol(application, options)
    return protocol
