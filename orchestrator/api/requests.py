"""What is done before and after every request: an id, the caller, the project, and the shape of errors."""

import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final, Protocol

import falcon

from orchestrator.api.addresses import path_of_arn
from orchestrator.api.aws import answer_aws_fault
from orchestrator.api.callers import Identify, comment_of, credential_of
from orchestrator.api.described import description_of
from orchestrator.api.door import Door
from orchestrator.api.faults import Refused, bad_request, fault_of
from orchestrator.config.caller import acting_for
from orchestrator.config.logger import get_logger
from orchestrator.errors import NotAllowed, cut
from orchestrator.model.identity import EVERY_PROJECT, OPERATOR, Caller, Identity
from orchestrator.model.names import is_name
from orchestrator.model.signed_signals import QUERY_SIGNATURE

log = get_logger()

_VERSION_TYPE: Final = "application/vnd.openstack.orchestration-v1"
#: Who is not known, or needs no role as the address is signed.
NOBODY: Final = Identity(user="", roles={})


class Rules(Protocol):
    """What decides in place of the policy of the installation: :class:`orchestrator.api.rules.Rules`."""

    def allows(self, rule: str, environ: Mapping[str, object], project: str) -> bool:
        """Return whether a caller may do what a rule is about in a project."""

    def is_everywhere(self, environ: Mapping[str, object]) -> bool:
        """Return whether a caller may act in every project."""


class Admission:
    """Gives a request an id, and lets only callers that are known into their projects."""

    def __init__(self, identify: Identify, door: Door, rules: Rules | None = None) -> None:
        self._identify, self._door, self._rules = identify, door, rules

    def process_request(self, request: falcon.Request, response: falcon.Response) -> None:
        """Give the request an id, and redirect an address that names a stack by an ARN."""
        request.context.id = f"req-{uuid.uuid4()}"
        request.context.ending = ExitStack()
        request.context.speaks_aws = False
        response.set_header("x-openstack-request-id", request.context.id)
        if "\0" in falcon.uri.decode(request.relative_uri):
            # No name has one, and PostgreSQL takes none.
            raise bad_request("expected an address without the character NUL")
        if _VERSION_TYPE in (request.get_header("Accept") or "") and request.path.count("/") > 1:
            # Heat's other way to name the version: not in the address, which then begins with the project.
            request.path = request.path if request.path.startswith("/v1/") else f"/v1{request.path}"
        if (path := path_of_arn(request.path)) is not None:
            raise falcon.HTTPFound(f"{path}?{request.query_string}" if request.query_string else path)

    def process_resource(
        self, request: falcon.Request, response: falcon.Response, resource: object, params: dict[str, Any]
    ) -> None:
        """Identify the caller, who acts until the end of the request.

        Raises:
            Refused: the caller is not known, the project has sent too many requests, or the comment is none.
            NotAllowed: the caller has no role in the project.
        """
        if getattr(resource, "is_open", False):
            return
        # The signature is verified by what takes it, before anything else is done; its bearer has no role anywhere.
        is_signed = getattr(resource, "takes_signatures", False) and request.has_param(QUERY_SIGNATURE)
        identity = NOBODY if is_signed else self._identified(request)
        caller = Caller(identity=identity or NOBODY, origin=f"api, {request.remote_addr}")
        if identity is None:
            if credential_of(request):
                self._door.record_refusal(request, caller, "login", "the token is not known")
            response.set_header("WWW-Authenticate", 'Basic realm="isotherm"')
            raise Refused(HTTPStatus.UNAUTHORIZED, "this request has no token, or one that is not known")
        project = params.get("project", "")
        rules = None if is_signed else self._rules
        if not is_name(project) or project == EVERY_PROJECT:
            is_let_in = False
        elif rules is not None:
            is_let_in = request.env.get("HTTP_X_PROJECT_ID") == project or rules.is_everywhere(request.env)
            # What a rule allows is done with this role, and nothing is done before one has allowed it.
            caller = replace(caller, identity=replace(identity, roles={project: OPERATOR}))
        else:
            is_let_in = is_signed or bool(identity.role_in(project))
        if not is_let_in:
            why = f"{identity.user or 'the caller'} has no role in the project {cut(project, 80)!r}"
            self._door.record_refusal(request, caller, "login", why)
            raise NotAllowed(why)
        if not is_signed:
            self._door.admit(project)
            # An address that is signed says nothing of who uses it: nothing is noted that such a caller writes.
            caller = replace(caller, comment=comment_of(request))
        request.context.rules, request.context.rule = rules, rule_of(request.method, resource)
        request.context.project = project
        request.context.caller = caller
        request.context.ending.enter_context(acting_for(caller))

    def _identified(self, request: falcon.Request) -> Identity | None:
        try:
            return self._identify(request)
        except Exception as error:
            # The message of an authenticator may have secrets in it: the log has it, and the client does not.
            log.exception("a caller could not be identified", request=request.context.id)
            message = "callers cannot be identified at present"
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, message) from error

    def process_response(
        self,
        request: falcon.Request,
        response: falcon.Response,
        resource: object,  # noqa: ARG002  # as falcon calls it
        succeeded: bool,  # noqa: ARG002
    ) -> None:
        """End what lasts as long as the request."""
        request.context.ending.close()
        is_empty = response.text is None and response.media is None and response.data is None
        if is_empty and response.status_code != HTTPStatus.NO_CONTENT:
            # Clients would look for JSON in nothing.
            response.content_type = falcon.MEDIA_TEXT


def rule_of(method: str, face: object) -> str:
    """Return the name of the rule of a request."""
    description = description_of(face, method)
    return "" if description is None else description.rule


def answer_error(
    request: falcon.Request,
    response: falcon.Response,
    error: Exception,
    params: dict[str, Any],  # noqa: ARG001  # as falcon calls it
) -> None:
    """Answer with the fault that an error is; an unexpected error is logged with the id of the request."""
    fault = fault_of(error)
    if fault.message is None:
        log.error("a request failed", request=request.context.id, exc_info=error)
    if isinstance(error, falcon.HTTPError | Refused) and error.headers:
        # Of a wrong method, the methods that are allowed; of one request too many, when to come again.
        response.set_headers(error.headers)
    response.context.fault = fault.type
    response.status = fault.status
    if request.context.speaks_aws:
        answer_aws_fault(request, response, fault)
    else:
        response.media = fault.to_dict()
