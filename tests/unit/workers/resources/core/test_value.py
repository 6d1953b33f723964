"""``OS::Heat::Value``."""

from typing import Any

import pytest

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.properties import PropertyError
from tests.unit.workers.resources.core.made import errors, make, validate
from workers.resources.core.value import Value


@pytest.mark.parametrize(
    ("type_name", "value", "converted"),
    [
        (None, {"a": [1.5]}, {"a": [1.5]}),
        (None, 1.5, 1.5),
        ("string", 7, "7"),
        ("number", "1.5", 1.5),
        ("number", "3", 3),
        ("boolean", "True", True),
        ("comma_delimited_list", "a,b", ["a", "b"]),
        ("comma_delimited_list", "", []),
        ("comma_delimited_list", ["a", 1], ["a", 1]),
        ("json", '{"a": [1]}', {"a": [1]}),
        ("json", [1], [1]),
        ("json", {"a": 1}, {"a": 1}),
        ("number", None, None),
    ],
)
def test_attribute_has_the_type_asked_for(type_name: str | None, value: Any, converted: Any) -> None:
    given = {"value": value} if type_name is None else {"value": value, "type": type_name}
    validate(Value, given)
    resource = make(Value, given)
    resource.handle_create()
    assert resource.attribute("value") == converted
    assert type(resource.attribute("value")) is type(converted)


@pytest.mark.parametrize(
    ("type_name", "value", "message"),
    [
        ("string", 1.5, "expected a text, found 1.5"),
        ("number", "x", "expected a number, found 'x'"),
        ("boolean", 1, "expected true or false, found 1"),
        ("comma_delimited_list", {}, "expected a list, found a map"),
        ("json", "{", "expected JSON text, found '{'"),
        ("json", "3", "expected a map, a list or the JSON text of one, found '3'"),
        ("json", 3, "expected a map, a list or the JSON text of one, found 3"),
    ],
)
def test_value_that_does_not_fit_is_refused(type_name: str, value: Any, message: str) -> None:
    given = {"value": value, "type": type_name}
    with pytest.raises(PropertyError) as caught:
        validate(Value, given)
    assert (caught.value.path, caught.value.message) == (("value",), message)


def test_what_is_not_known_yet_is_not_judged() -> None:
    validate(Value, {"value": [UNKNOWN], "type": "number"})
    validate(Value, {"value": "x", "type": UNKNOWN})


def test_type_is_one_of_the_types_of_parameters() -> None:
    (error,) = errors(Value, {"value": 1, "type": "integer"})
    assert error.startswith("type: 'integer' is not allowed")


def test_both_properties_are_changed_in_place() -> None:
    assert all(schema.update_allowed for schema in Value.properties_schema.values())
    assert make(Value, {"value": 1}).attribute("other") is None
