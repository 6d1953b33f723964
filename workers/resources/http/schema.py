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
        "Which of the APIs that the settings know: the name of one of [clients.http.apis], or default.",
        default=DEFAULT,
        constraints=(Custom("http.api"),),
    ),
    "body": mapping(
        "What the object is to be, as JSON: what creating it sends, and changing it. A change replaces the "
        "object unless update is given.",
        default={},
        update_allowed=True,
    ),
    "headers": mapping(
        "Headers of every request for this object, besides those of the settings.",
        default={},
        update_allowed=True,
    ),
    "create": mapping(
        "How the object is made. Another path or method replaces it.",
        required=True,
        update_allowed=True,
        schema={
            "path": _place(
                "Where, such as /networks; {token} in it is a text that is this object's own.", required=True
            ),
            "method": _method(POST, PUT),
            "token_header": text(
                "A header that takes the token, such as Idempotency-Key, where the API promises that sending the same "
                "one again makes nothing. Then a create that was interrupted is sent again."
            ),
            "token_field": text(
                "The field of the body that takes the token, such as metadata.token, for find to look for."
            ),
        },
    ),
    "id": mapping(
        "Where the object's id comes from: one of json, header and value. Without it, of the field id of "
        "what POST answers, or the end of the path of a PUT.",
        update_allowed=True,
        schema={
            "json": text("Where it is in the answer (JMESPath), such as data.id."),
            "header": text("The header that holds it; of a URL, such as Location's, the last part."),
            "value": text(
                "The id itself, which may be used in the path of create. Another one replaces the object."
            ),
        },
    ),
    "find": mapping(
        "How to look, by its token, for what a create that was interrupted may have made. It must tell "
        "of nothing else.",
        update_allowed=True,
        schema={
            "path": _place("What is read, such as /networks?token={token}.", required=True),
            "json": text(
                "Where the id is in the answer (JMESPath), such as items[0].id; null: none is. It may use {token}.",
                required=True,
            ),
        },
    ),
    "read": mapping(
        "How the object is read.",
        update_allowed=True,
        schema={
            "path": _place("Where; without it, the path of create, and {id} after it where that is a POST.")
        },
    ),
    "update": mapping(
        "How the object is changed in place; without it, another takes its place. It may be sent again, so "
        "the body says what is to be, and not by how much.",
        update_allowed=True,
        schema={
            "path": _place("Where; without it, as read."),
            "method": _method(PUT, "PATCH", POST),
            "content_type": text(
                "What the body is called where the API wants another name for it, such as application/merge-patch+json."
            ),
            "body": mapping("What is sent, where that is something else than body."),
        },
    ),
    "delete": mapping(
        "How the object is deleted. One that is not there is deleted already.",
        default={},
        update_allowed=True,
        schema={
            "path": _place("Where; without it, as read."),
            "method": _method("DELETE", POST, PUT),
            "body": mapping("What is sent; nothing without it."),
            "awaited": boolean(
                "Whether it is only deleted once reading it finds nothing, or a state of status.gone.",
                default=True,
            ),
        },
    ),
    "status": mapping(
        "What the object's state means; without it, an object that was made can be used.",
        update_allowed=True,
        schema={
            "json": text("Where the state is in what reading it answers (JMESPath).", required=True),
            "ready": listing(
                "The states in which it can be used.", required=True, constraints=(Length(min=1),)
            ),
            "failed": listing("The states in which it never will be."),
            "gone": listing("The states in which it is deleted, although it can still be read."),
            "reason": text("Where the answer says why (JMESPath)."),
            "interval": number("Seconds between two looks.", default=2, constraints=(Range(0.1, 3600),)),
            "timeout": number(
                "Seconds after which it is too late; 0: only the stack's own time counts.",
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
