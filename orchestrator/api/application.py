"""The WSGI application."""

import logging
from collections.abc import Callable
from typing import Any

import falcon

from orchestrator.api.callers import Identify, caller_of_keystone
from orchestrator.api.cfn import SIGNALS, Cfn
from orchestrator.api.door import Door
from orchestrator.api.openapi import Document, document_of
from orchestrator.api.requests import Admission, Rules, answer_error
from orchestrator.api.routes import routes


def described_routes(door: Door, *, behind_proxy: bool = False) -> list[tuple[str, object]]:
    """Return the same, with the document that describes them all."""
    document = Document()
    found = [*routes(door, behind_proxy=behind_proxy), ("/openapi.json", document)]
    document.data = document_of(found)
    return found


def make_application(
    door: Door, identify: Identify, *, rules: Rules | None = None, behind_proxy: bool = False
) -> Callable[..., Any]:
    """Return the WSGI application; with ``rules``, they decide in place of the installation's policy."""
    application = falcon.App(middleware=[Admission(identify, rules)])
    application.req_options.strip_url_path_trailing_slash = True
    application.req_options.keep_blank_qs_values = True
    application.add_error_handler(Exception, answer_error)
    application.add_error_handler(falcon.HTTPError, answer_error)
    for path, face in described_routes(door, behind_proxy=behind_proxy):
        application.add_route(path, face)
    application.add_sink(Cfn(door, behind_proxy=behind_proxy).signal, SIGNALS)
    return application


def make_keystone_application(door: Door, *, behind_proxy: bool = False) -> Callable[..., Any]:
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
    application = make_application(door, caller_of_keystone, rules=rules, behind_proxy=behind_proxy)
    # Who has no token is refused here: signed addresses need none, nor do versions and health.
    options = {**door.settings.keystone_authtoken, "delay_auth_decision": True}
    protocol: Callable[..., Any] = AuthProtocol(application, options)
    return protocol
