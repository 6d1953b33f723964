"""The properties of ``Isotherm::Http::Object``, and the rules beyond the schema."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from hooks.values.nearest import Nearest
from orchestrator.definition import UNKNOWN, is_unknown
from orchestrator.plugins.constraints import AllowedValues, Length, Range
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import Property, PropertyError, PropertyPath
from workers.clients.http_failures import fault_of_path
from workers.clients.http_options import DEFAULT, fault_of_headers
from workers.resources.http.answers import fault_of_expression
from workers.resources.http.requests import POST, PUT, places_in
from workers.resources.schemas import boolean, listing, mapping, number, text

_place: Final = partial(text, constraints=(Length(min=1),))
_expressions: Final = partial(mapping, default={}, update_allowed=True)


def _method(default: str, *others: str) -> Property:
    return text(
        "The method of the request.", default=default, constraints=(AllowedValues((default, *others)),)
    )


PROPERTIES: Final[Mapping[str, Property]] = {
    "api": text(
        "The name of an API in the settings [clients.http.apis], or default.",
        default=DEFAULT,
        constraints=(Custom("http.api"),),
    ),
    "body": mapping(
        "The desired object, as JSON: the body of the requests that create and change it. A change "
        "replaces the object unless update is given.",
        default={},
        update_allowed=True,
    ),
    "headers": mapping(
        "Headers of every request for this object, in addition to those of the settings.",
        default={},
        update_allowed=True,
    ),
    "create": mapping(
        "How the object is made. Another path or method replaces it.",
        required=True,
        update_allowed=True,
        schema={
            "path": _place(
                "The path, such as /networks; {token} in it is replaced by a text that is unique to this object.",
                required=True,
            ),
            "method": _method(POST, PUT),
            "token_header": text(
                "A header for the token, such as Idempotency-Key, if the API guarantees that a repeated request "
                "with the same token makes nothing. Then an interrupted create is sent again."
            ),
            "token_field": text(
                "The field of the body for the token, such as metadata.token, by which find identifies the object."
            ),
        },
    ),
    "id": mapping(
        "The source of the object's id: one of json, header and value. Without it, the field id in the "
        "answer to a POST, or the end of the path of a PUT.",
        update_allowed=True,
        schema={
            "json": text("Its place in the answer (JMESPath), such as data.id."),
            "header": text("The header that has it; of a URL, such as Location's, the last part."),
            "value": text(
                "The id itself, which may be used in the path of create. A change replaces the object."
            ),
        },
    ),
    "find": mapping(
        "How to find, by its token, the object of an interrupted create. It must find no other object.",
        update_allowed=True,
        schema={
            "path": _place("The path to read, such as /networks?token={token}.", required=True),
            "json": text(
                "The place of the id in the answer (JMESPath), such as items[0].id; null means that there is no "
                "object. It may use {token}.",
                required=True,
            ),
        },
    ),
    "read": mapping(
        "How the object is read.",
        update_allowed=True,
        schema={
            "path": _place("The path; without it, the path of create, followed by {id} if that is a POST.")
        },
    ),
    "update": mapping(
        "How the object is changed in place; without it, a change replaces the object. The request may "
        "be repeated, so the body must have the desired values, not increments.",
        update_allowed=True,
        schema={
            "path": _place("The path; without it, that of read."),
            "method": _method(PUT, "PATCH", POST),
            "content_type": text("The content type of the body, such as application/merge-patch+json."),
            "body": mapping("The body of the request, if it differs from body."),
        },
    ),
    "delete": mapping(
        "How the object is deleted. A missing object counts as deleted.",
        default={},
        update_allowed=True,
        schema={
            "path": _place("The path; without it, that of read."),
            "method": _method("DELETE", POST, PUT),
            "body": mapping("The body of the request; without it, empty."),
            "awaited": boolean(
                "Whether to wait until reading it finds nothing, or a state of status.gone.",
                default=True,
            ),
        },
    ),
    "status": mapping(
        "The meaning of the object's states; without it, an object is ready once it was made.",
        update_allowed=True,
        schema={
            "json": text("The place of the state in the answer to reading it (JMESPath).", required=True),
            "ready": listing("The states in which it is ready.", required=True, constraints=(Length(min=1),)),
            "failed": listing("The states in which it has failed."),
            "gone": listing("The states in which it counts as deleted, although it can still be read."),
            "reason": text("The place of the reason in the answer (JMESPath)."),
            "interval": number("Seconds between two polls.", default=2, constraints=(Range(0.1, 3600),)),
            "timeout": number(
                "Seconds to wait at most; 0: only the stack's time-out applies.",
                default=0,
                constraints=(Range(min=0),),
            ),
        },
    ),
    "values": _expressions(
        "Values of the object for other resources: names, and the place of each in the answer to reading it "
        "(JMESPath)."
    ),
    "compare": _expressions(
        "How a check detects changes of the object: fields of the body, and the place of each in the answer "
        "to reading it (JMESPath)."
    ),
    "requires": listing(
        "Paths that must exist before the object is made or changed, such as /images/cirros, or "
        "images:/cirros of the API images.",
        default=[],
        update_allowed=True,
        schema=text(constraints=(Custom("http.exists"),)),
    ),
}
#: The properties with paths, and the names that may stand in braces there besides the token.
_PATHS: Final = {"create": "", "find": "", "read": "id", "update": "id", "delete": "id"}


def refuse_misfits(properties: Mapping[str, Any]) -> None:
    """Refuse inconsistent properties; unknown values are left out.

    Raises:
        PropertyError: with the path of the first fault.
    """
    for path, fault, hint in _faults(properties):
        raise PropertyError(path, fault, hint)


def _faults(properties: Mapping[str, Any]) -> Iterator[tuple[PropertyPath, str, str]]:
    known = {name: value for name, value in properties.items() if value is not UNKNOWN and value is not None}
    yield from _faults_of_paths(known)
    yield from _faults_of_expressions(known)
    headers = {name: value for name, value in known.get("headers", {}).items() if value is not UNKNOWN}
    if fault := fault_of_headers(headers):
        yield ("headers",), fault, ""
    create, body = known.get("create", {}), properties.get("body")
    token_header = create.get("token_header")
    if isinstance(token_header, str) and token_header and (fault := fault_of_headers({token_header: ""})):
        yield ("create", "token_header"), fault, ""
    content_type = known.get("update", {}).get("content_type")
    if isinstance(content_type, str) and (fault := fault_of_headers({"Content-Type": content_type})):
        yield ("update", "content_type"), fault, ""
    for name in known.get("compare", {}):
        if isinstance(body, Mapping) and name not in body:
            hint = Nearest().hint(str(name), body, "name one of those that the object is made with")
            yield ("compare", name), "the body has no such field", hint
    yield from _faults_of_find(known)
    api = known.get("api")
    for index, path in enumerate(known.get("requires", ())):
        if isinstance(path, str) and isinstance(api, str) and api != DEFAULT and path.startswith("/"):
            hint = f"write '{api}:{path}', or '{DEFAULT}:{path}'"
            yield ("requires", index), f"the object is one of the API {api!r}: of which is this path?", hint


def _faults_of_paths(known: Mapping[str, Any]) -> Iterator[tuple[PropertyPath, str, str]]:
    for name, place in _PATHS.items():
        path = (known.get(name) or {}).get("path") if known.get(name) is not UNKNOWN else None
        if not isinstance(path, str):
            continue
        if fault := fault_of_path(path):
            yield (name, "path"), fault, ""
        allowed = {"token", place or ("id" if name == "create" and _may_have(known, "value") else "token")}
        for wrong in [each for each in places_in(path) if each not in allowed]:
            hint = f"there are: {', '.join(f'{{{each}}}' for each in sorted(allowed))}"
            yield (name, "path"), f"nobody knows what {{{wrong}}} is here", hint


def _may_have(known: Mapping[str, Any], name: str) -> bool:
    return bool(known.get("id", {}).get(name))


def _faults_of_expressions(known: Mapping[str, Any]) -> Iterator[tuple[PropertyPath, str, str]]:
    places = [("id", "json"), ("find", "json"), ("status", "json"), ("status", "reason")]
    places += [(name, key) for name in ("values", "compare") for key in known.get(name, {})]
    for name, key in places:
        expression = (known.get(name) or {}).get(key)
        if expression is None or expression is UNKNOWN or expression == "":
            continue
        if not isinstance(expression, str):
            yield (name, key), "expected a text: a JMESPath expression", ""
        elif fault := fault_of_expression(expression):
            yield (name, key), fault, ""


def _faults_of_find(known: Mapping[str, Any]) -> Iterator[tuple[PropertyPath, str, str]]:
    find, create = known.get("find"), known.get("create")
    if not find or is_unknown(find) or not create or is_unknown(create):
        return
    if "token" not in places_in(find["path"]) and "{token}" not in find["json"]:
        hint = "use {token} in path or json"
        yield ("find",), "it must look for the token, or it may find what somebody else has made", hint
    sent = create.get("token_field") or create.get("token_header") or "{token}" in create["path"]
    if not sent:
        hint = "give create.token_field, create.token_header, or {token} in create.path"
        yield ("find",), "it looks for a token that is never sent", hint
