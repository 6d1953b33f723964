"""The part of CloudFormation's API that machines of stacks use: signals, and the metadata of a resource.

Callers sign with the access key of one resource, and reach nothing else. Until the signature is verified nothing is
looked up but that resource's key, and no answer tells whether there is such a resource.
"""

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

import falcon

from orchestrator.api.aws import INCOMPLETE_SIGNATURE, INVALID_ACTION, WRONG_SIGNATURE, answer_aws
from orchestrator.api.described import described
from orchestrator.api.door import Door
from orchestrator.api.faults import Refused, bad_request
from orchestrator.api.installation import VERSIONS, Versions
from orchestrator.api.reading import bytes_in, json_in
from orchestrator.api.software import metadata_of
from orchestrator.api.stacks import say_nothing
from orchestrator.api.times import time_of
from orchestrator.config.caller import acting_for
from orchestrator.errors import Conflict, cut
from orchestrator.model.breakpoints import UNSET_HOOK
from orchestrator.model.ec2_signatures import Place, SignedRequest, arn
from orchestrator.model.identity import Caller, Identity
from orchestrator.service import Service
from orchestrator.template.functions.base import kind_of
from orchestrator.views.stacks import StackView

#: Where signals are sent. No project is in the way of it, whatever its name: nothing else is below an ARN.
SIGNALS: Final = re.compile(r"/v1/(?P<kind>waitcondition|signal)/(?P<resource_arn>arn:.+)", re.DOTALL)
_METHODS: Final = {"waitcondition": ["PUT", "POST"], "signal": ["POST"]}
_ACTION: Final = "DescribeStackResource"
_ANOTHER: Final = "this key is for another resource"
#: A form has no more bytes, and a query no more fields.
_FORM_BYTES: Final = 16 * 1024
_FIELDS: Final = 32


class _Bearer(NamedTuple):
    """The sender of a request that is signed with the key of a resource."""

    service: Service
    stack: StackView
    resource: str

    @property
    def stack_arn(self) -> str:
        return arn(self.service.settings.project, self.stack.name, self.stack.id)


class Cfn(Versions):
    """The address ``/v1``: actions of CloudFormation, or the versions of the API for requests without one."""

    def __init__(self, door: Door, *, behind_proxy: bool) -> None:
        super().__init__(behind_proxy=behind_proxy)
        self._door = door

    @described("", VERSIONS, status=HTTPStatus.MULTIPLE_CHOICES)
    def on_get(self, request: falcon.Request, response: falcon.Response, **path: str) -> None:
        """Show the resource of the key, or the versions."""
        if request.has_param("Action"):
            self.on_post(request, response)
        else:
            super().on_get(request, response, **path)

    @described("")
    def on_post(self, request: falcon.Request, response: falcon.Response) -> None:
        """Show the resource of the key."""
        request.context.speaks_aws = True
        body = bytes_in(request, max_bytes=_FORM_BYTES)
        params = {**_fields(request.query_string), **_fields(body.decode(errors="replace"))}
        bearer = self._bearer(request, body, params)
        stack, resource = bearer.stack, bearer.resource
        if params.get("Action") != _ACTION:
            message = f"expected the action {_ACTION}, found {cut(params.get('Action', ''), 80)!r}"
            raise Refused(HTTPStatus.BAD_REQUEST, message, kind=INVALID_ACTION)
        is_its_stack = params.get("StackName") in (stack.name, stack.id, bearer.stack_arn)
        if not is_its_stack or params.get("LogicalResourceId") != resource:
            raise Refused(HTTPStatus.FORBIDDEN, _ANOTHER)
        found = bearer.service.resource(stack.id, resource)
        detail = {
            "StackId": bearer.stack_arn,
            "StackName": stack.name,
            "LogicalResourceId": found.name,
            "ResourceType": found.type,
            "ResourceStatus": f"{found.action}_{found.status}",
            "LastUpdatedTimestamp": time_of(found.updated_at),
            "Metadata": json.dumps(metadata_of(bearer.service, stack, found)),
        }
        result = {f"{_ACTION}Result": {"StackResourceDetail": detail}}
        metadata = {"ResponseMetadata": {"RequestId": request.context.id}}
        answer_aws(request, response, f"{_ACTION}Response", {**result, **metadata})

    def signal(self, req: falcon.Request, resp: falcon.Response, **path: str) -> None:
        """Signal the resource of the key."""
        req.context.speaks_aws = True
        methods = _METHODS[path["kind"]]
        if req.method not in methods:
            raise falcon.HTTPMethodNotAllowed(methods)
        body = bytes_in(req, max_bytes=self._door.settings.max_value_bytes)
        service, stack, resource = bearer = self._bearer(req, body, timed=True)
        if path["resource_arn"] != f"{bearer.stack_arn}/resources/{quote(resource, safe='')}":
            raise Refused(HTTPStatus.FORBIDDEN, _ANOTHER)
        # Of any type: cfn-signal sends none, and curl that of a form.
        details = json_in(body) if body.strip() else {}
        if not isinstance(details, dict):
            raise bad_request(f"expected a map of JSON as a signal, found {kind_of(details)}")
        if UNSET_HOOK in details:
            raise Refused(HTTPStatus.FORBIDDEN, "this key unsets no hooks")
        try:
            service.signal(stack.id, resource, details)
        except Conflict as error:
            raise bad_request(str(error)) from error
        say_nothing(resp)

    def _bearer(
        self,
        request: falcon.Request,
        body: bytes,
        params: Mapping[str, str] | None = None,
        *,
        timed: bool = False,
    ) -> _Bearer:
        """Return who sends a request, who acts until the end of the request.

        Raises:
            Refused: it is not signed with the key of a resource.
        """
        query = _fields(request.query_string)
        # Version 4 signs the body itself.
        is_in_header = "AUTHORIZATION" in request.headers
        signed = SignedRequest(
            method=request.method,
            places=self._places(request),
            params=query if is_in_header or params is None else params,
            headers={name.lower(): each for name, each in request.headers.items()},
            body=body,
        )
        if not signed.access_key:
            message = "expected a signature of version 2 with HmacSHA256 in the query, or of version 4 in the header"
            raise Refused(HTTPStatus.BAD_REQUEST, message, kind=INCOMPLETE_SIGNATURE)
        caller = Caller(identity=Identity(user="", roles={}), origin=f"api, {request.remote_addr}")
        found = self._door.signed_by_key(signed, timed=timed)
        if found is None:
            message = "the signature is wrong, or it or its key has expired"
            self._door.record_refusal(request, caller, "login", message)
            raise Refused(HTTPStatus.FORBIDDEN, message, kind=WRONG_SIGNATURE)
        request.context.ending.enter_context(acting_for(caller))
        service, named = found
        return _Bearer(service, service.head(named.stack_id), named.resource)

    def _places(self, request: falcon.Request) -> tuple[Place, ...]:
        """Return where a request was sent: as it arrives, or, through a proxy, at the address of the settings."""
        path = request.env["PATH_INFO"].encode("latin-1").decode(errors="replace")
        outside = urlsplit(self._door.settings.api_url.rstrip("/"))
        return (
            Place(request.get_header("Host") or "", path),
            Place(outside.netloc.lower(), outside.path + path.removeprefix("/v1")),
        )


def _fields(text: str) -> dict[str, str]:
    """Return the fields of a query or of a form.

    Raises:
        Refused: there are too many, or one of them twice.
    """
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_FIELDS)
    except ValueError as error:
        raise bad_request(f"expected at most {_FIELDS} fields") from error
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise bad_request("expected each field once")
    return fields
