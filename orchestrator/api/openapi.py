"""The OpenAPI document of the API, made of its routes and of what describes each."""

import inspect
import re
from collections.abc import Iterable
from http import HTTPStatus
from importlib.metadata import version
from typing import Any, Final

import falcon

from orchestrator.api.callers import COMMENT_HEADER
from orchestrator.api.described import Description, described, description_of
from orchestrator.api.schemas import COMPONENTS, MAP, named
from orchestrator.model.comments import COMMENT, MOST_CHARACTERS

#: The methods that an address may answer.
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_PARAMETER: Final = re.compile(r"{(\w+)}")
_JSON: Final = "application/json"
_COMMENT: Final = {
    "name": COMMENT_HEADER,
    "in": "header",
    "description": f"Why, for the history of stacks and the audit log: {COMMENT}.",
    "schema": {"type": "string", "maxLength": MOST_CHARACTERS},
}
_FAULT: Final = {"$ref": "#/components/responses/Fault"}


class Document:
    """The document, which anybody may see."""

    is_open = True

    def __init__(self) -> None:
        self.data: dict[str, Any] = {}

    @described("", MAP)
    def on_get(self, request: falcon.Request, response: falcon.Response) -> None:  # noqa: ARG002  # as of all
        """Show the description of this API."""
        response.media = self.data


def document_of(routes: Iterable[tuple[str, object]]) -> dict[str, Any]:
    """Return the document, of version 3.1 of OpenAPI.

    Each operation's ``x-policy`` is Heat's name of the policy that lets a caller in.
    """
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Isotherm: the orchestration API",
            "version": version("isotherm"),
            "description": "Heat's API v1. Fields that are null in what is sent count as missing.",
        },
        "paths": {path: _path(path, face) for path, face in routes},
        "components": {
            "schemas": dict(COMPONENTS),
            "responses": {
                "Fault": {"description": "Why it was not done.", "content": _content(named("Fault"))}
            },
            "securitySchemes": {
                "token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"},
                "signature": {"type": "apiKey", "in": "query", "name": "signature"},
            },
        },
    }


def _path(path: str, face: object) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if parameters := _PARAMETER.findall(path):
        found["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in parameters
        ]
    for method in METHODS:
        if (description := description_of(face, method)) is not None:
            found[method.lower()] = _operation(path, face, method, description)
    return found


def _operation(path: str, face: object, method: str, description: Description) -> dict[str, Any]:
    is_open = getattr(face, "is_open", False)
    security: list[dict[str, list[str]]] = [] if is_open else [{"token": []}]
    if getattr(face, "takes_signatures", False):
        security.append({"signature": []})
    words = re.sub(r"\W+", "_", path).strip("_")
    answer: dict[str, Any] = {"description": description.status.phrase}
    if description.answer is not None:
        answer["content"] = _content(description.answer)
    operation: dict[str, Any] = {
        "operationId": f"{method.lower()}_{words}",
        "summary": inspect.getdoc(face),
        "description": inspect.getdoc(getattr(face, f"on_{method.lower()}")),
        "security": security,
        "responses": {
            str(description.status.value): answer,
            **({} if is_open else dict.fromkeys(("4XX", "503"), _FAULT)),
        },
    }
    if method == "GET" and getattr(face, "has_etag", False):
        operation["responses"]["304"] = {"description": HTTPStatus.NOT_MODIFIED.phrase}
    if description.rule:
        operation["x-policy"] = description.rule
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "query", "schema": schema} for name, schema in description.query.items()
    ]
    if method != "GET" and not is_open:
        parameters.append(_COMMENT)
    if parameters:
        operation["parameters"] = parameters
    if description.body is not None:
        operation["requestBody"] = {"content": _content(description.body)}
    return operation


def _content(schema: Any) -> dict[str, Any]:
    return {_JSON: {"schema": schema}}
