"""What is wrong with the properties of an HTTP object is said before anything is touched."""

from typing import Any

import pytest

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.validating import property_faults
from workers.resources.http.http_object import HttpObject

CREATE: dict[str, Any] = {"path": "/n"}


def faults(**given: Any) -> list[str]:
    return [str(fault) for fault in property_faults(HttpObject, {"create": CREATE, **given})]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"create": UNKNOWN},
        {"create": {"path": UNKNOWN}, "find": UNKNOWN, "id": UNKNOWN, "values": UNKNOWN, "headers": UNKNOWN},
        {"create": {"path": "/n/{id}"}, "id": {"value": UNKNOWN}},
        {"body": UNKNOWN, "compare": {"name": "name"}},
        {"body": {"a": UNKNOWN}, "compare": {"a": UNKNOWN}, "headers": {"X": UNKNOWN}, "requires": [UNKNOWN]},
        {"api": UNKNOWN, "requires": ["/x"]},
        {"api": "images", "requires": ["images:/x", "default:/y"]},
        {"find": {"path": "/n?t={token}", "json": "id"}, "create": {"path": "/n", "token_field": "t"}},
        {"find": {"path": UNKNOWN, "json": "id"}},
    ],
    ids=range(10),
)
def test_what_may_be_right_is_let_be(given: dict[str, Any]) -> None:
    assert faults(**given) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"create": {"path": "n"}}, "create.path: a path begins with one slash"),
        ({"create": {"path": "/../n"}}, "create.path: a path holds neither '.' nor '..'"),
        ({"create": {"path": "/n/{id}"}}, "create.path: nobody knows what {id} is here (there are: {token})"),
        (
            {"read": {"path": "/n/{ID}"}},
            "read.path: nobody knows what {ID} is here (there are: {id}, {token})",
        ),
        ({"find": {"path": "/n/{id}", "json": "{token}"}}, "find.path: nobody knows what {id} is here"),
        ({"id": {"json": "a b"}}, "id.json: it is no JMESPath expression, such as id"),
        ({"values": {"x": "a b"}}, "values.x: it is no JMESPath expression"),
        ({"values": {"x": 5}}, "values.x: expected a text: a JMESPath expression"),
        ({"status": {"json": "a..b", "ready": [1]}}, "status.json: it is no JMESPath expression"),
        ({"status": {"json": "a", "ready": []}}, "status.ready: the length is 0"),
        (
            {"headers": {"Authorization": "s3cret"}},
            "headers: the header 'Authorization' belongs to the connection",
        ),
        ({"headers": {"X": 1}}, "headers: the value of the header 'X' must be a text"),
        ({"create": {"path": "/n", "token_header": "a b"}}, "create.token_header: 'a b' cannot be the name"),
        (
            {"body": {"name": 1}, "compare": {"nmae": "x"}},
            "compare.nmae: the body has no such field (did you mean 'name'?)",
        ),
        (
            {"update": {"content_type": "a\n"}},
            "update.content_type: the value of the header 'Content-Type' holds",
        ),
        ({"find": {"path": "/n", "json": "id"}}, "find: it must look for the token"),
        ({"find": {"path": "/n/{token}", "json": "id"}}, "find: it looks for a token that is never sent"),
        (
            {"api": "images", "requires": ["/x"]},
            "of the API 'images': of which is this path? (write 'images:/x', or 'default:/x')",
        ),
        ({"requires": ["x"]}, "requires[0]: 'x' is no path of an HTTP API: a path begins with one slash"),
        ({"id": {"json": "id", "value": "x"}}, "id.json"),
        ({"create": {"path": "/n", "method": "GET"}}, "create.method: 'GET' is not allowed"),
    ],
    ids=range(21),
)
def test_what_is_wrong_is_said_with_its_path(given: dict[str, Any], said: str) -> None:
    (found,) = faults(**given)
    assert said in found
    assert "s3cret" not in found
