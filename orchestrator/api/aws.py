"""Answers in the shape of AWS: XML, or JSON where a request says ``ContentType=JSON``."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final
from xml.etree import ElementTree

import falcon

from orchestrator.api.faults import Fault

#: A tree of texts.
Tree = Mapping[str, Any]
INCOMPLETE_SIGNATURE: Final = "IncompleteSignature"
WRONG_SIGNATURE: Final = "SignatureDoesNotMatch"
INVALID_ACTION: Final = "InvalidAction"
_NAMES: Final = (INCOMPLETE_SIGNATURE, WRONG_SIGNATURE, INVALID_ACTION)
#: Its names of faults that have none of these.
_CODES: Final = {
    HTTPStatus.BAD_REQUEST: "ValidationError",
    HTTPStatus.FORBIDDEN: "AccessDenied",
    HTTPStatus.METHOD_NOT_ALLOWED: INVALID_ACTION,
    HTTPStatus.SERVICE_UNAVAILABLE: "ServiceUnavailable",
}


def answer_aws(request: falcon.Request, response: falcon.Response, name: str, tree: Tree) -> None:
    """Answer with a tree, below an element of a name."""
    if request.get_param("ContentType") == "JSON":
        response.content_type, response.text = falcon.MEDIA_JSON, json.dumps({name: tree})
        return
    root = ElementTree.Element(name)
    _grow(root, tree)
    response.content_type = falcon.MEDIA_XML
    # In ASCII and without a declaration, which os-collect-config cannot read.
    response.data = ElementTree.tostring(root)


def answer_aws_fault(request: falcon.Request, response: falcon.Response, fault: Fault) -> None:
    """Answer with a fault."""
    is_ours = fault.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    code = fault.type if fault.type in _NAMES else _CODES.get(fault.status, "InternalFailure")
    error = {
        "Type": "Receiver" if is_ours else "Sender",
        "Code": code,
        "Message": fault.message or "the request failed",
    }
    answer_aws(request, response, "ErrorResponse", {"Error": error, "RequestId": request.context.id})


def _grow(element: ElementTree.Element, tree: Tree) -> None:
    for name, each in tree.items():
        child = ElementTree.SubElement(element, name)
        if isinstance(each, Mapping):
            _grow(child, each)
        else:
            child.text = str(each)
