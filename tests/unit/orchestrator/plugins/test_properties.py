"""Properties: conversion by type, defaults and nulls, and errors all at once."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.constraints import Length, Range
from orchestrator.plugins.properties import (
    Property,
    PropertyError,
    PropertyType,
    check_properties,
    convert_properties,
)
from orchestrator.plugins.support import Support, SupportStatus

STRING, INTEGER, NUMBER = PropertyType.STRING, PropertyType.INTEGER, PropertyType.NUMBER
BOOLEAN, MAP, LIST, ANY = PropertyType.BOOLEAN, PropertyType.MAP, PropertyType.LIST, PropertyType.ANY

SERVER = {
    "name": Property(type=STRING, required=True, constraints=(Length(max=8),)),
    "size": Property(type=INTEGER, default=1, constraints=(Range(1, 10),)),
    "networks": Property(
        type=LIST,
        schema=Property(
            type=MAP,
            schema={
                "port": Property(type=STRING, required=True),
                "tags": Property(type=MAP),
                "fixed": Property(type=BOOLEAN, default=True),
            },
        ),
    ),
}


def convert(type_: PropertyType, value: Any) -> Any:
    return convert_properties({"it": Property(type=type_)}, {"it": value})["it"]


@pytest.mark.parametrize(
    ("type_", "value", "converted"),
    [
        (STRING, "text", "text"),
        (STRING, True, "True"),
        (STRING, 7, "7"),
        (INTEGER, 1.9, 1),
        (INTEGER, "12", 12),
        (INTEGER, True, 1),
        (NUMBER, 1.5, 1.5),
        (NUMBER, "12", 12),
        (NUMBER, "1.5", 1.5),
        (BOOLEAN, False, False),
        (BOOLEAN, "TRUE", True),
        (BOOLEAN, "false", False),
        (MAP, {"a": 1.5}, {"a": 1.5}),
        (LIST, ("a", 1), ["a", 1]),
        (ANY, {"a": [1.5]}, {"a": [1.5]}),
    ],
)
def test_value_takes_the_type(type_: PropertyType, value: Any, converted: Any) -> None:
    result = convert(type_, value)
    assert result == converted
    assert type(result) is type(converted)


@pytest.mark.parametrize(
    ("type_", "value", "message"),
    [
        (STRING, 1.5, "expected a text, found 1.5"),
        (STRING, {}, "expected a text, found a map"),
        (STRING, [], "expected a text, found a list"),
        (INTEGER, "1.5", "expected a whole number, found '1.5'"),
        (INTEGER, [1], "expected a whole number, found a list"),
        (INTEGER, float("inf"), "expected a whole number, found inf"),
        (NUMBER, "many", "expected a number, found 'many'"),
        (NUMBER, {}, "expected a number, found a map"),
        (BOOLEAN, 1, "expected true or false, found 1"),
        (BOOLEAN, "yes", "expected true or false, found 'yes'"),
        (MAP, "{}", "expected a map, found '{}'"),
        (LIST, "a,b", "expected a list, found 'a,b'"),
        (LIST, {}, "expected a list, found a map"),
    ],
)
def test_value_of_another_type_is_refused(type_: PropertyType, value: Any, message: str) -> None:
    with pytest.raises(PropertyError) as caught:
        convert(type_, value)
    assert caught.value.message == message
    assert caught.value.path == ("it",)


@pytest.mark.parametrize(
    ("type_", "empty"),
    [(STRING, ""), (INTEGER, 0), (NUMBER, 0), (BOOLEAN, False), (MAP, {}), (LIST, []), (ANY, None)],
)
def test_given_null_is_the_empty_value_even_if_required(type_: PropertyType, empty: Any) -> None:
    schema = {"it": Property(type=type_, required=True)}
    assert convert_properties(schema, {"it": None}) == {"it": empty}


def test_given_null_is_the_default_where_there_is_one() -> None:
    assert convert_properties({"it": Property(type=INTEGER, default=5)}, {"it": None}) == {"it": 5}
    assert convert_properties({"it": Property(type=ANY, default=5)}, {"it": None}) == {"it": None}


def test_every_name_is_a_key_and_defaults_are_filled_in() -> None:
    assert convert_properties(SERVER, {"name": "web"}) == {"name": "web", "size": 1, "networks": None}


def test_nested_map_has_all_its_keys() -> None:
    converted = convert_properties(SERVER, {"name": "web", "networks": [{"port": 80}]})
    assert converted["networks"] == [{"port": "80", "tags": None, "fixed": True}]


def test_default_of_a_map_has_all_its_keys() -> None:
    schema = {"it": Property(type=MAP, default={}, schema={"a": Property(type=INTEGER, default="3")})}
    assert convert_properties(schema, {}) == {"it": {"a": 3}}


def test_changing_a_default_that_was_filled_in_changes_no_other() -> None:
    schema = {"it": Property(type=LIST, default=[["a"]])}
    convert_properties(schema, {})["it"][0].append("b")
    convert_properties(schema, {"it": None})["it"].append("c")
    assert convert_properties(schema, {}) == {"it": [["a"]]}


def test_all_errors_are_told_at_once() -> None:
    given_properties = {
        "nmae": "web",
        "size": 11,
        "networks": [{"port": 1.5, "fixed": "no"}, {"prot": "x"}, "none"],
    }
    assert [str(error) for error in check_properties(SERVER, given_properties)] == [
        "name: a value is required: expected a text, found nothing",
        "size: 11 is out of range; it must be from 1 to 10",
        "networks[0].port: expected a text, found 1.5 (put it in quotes)",
        (
            "networks[0].fixed: expected true or false, found 'no' "
            "(other spellings, such as yes or 1, are not understood here)"
        ),
        "networks[1].port: a value is required: expected a text, found nothing",
        "networks[1].prot: there is no property 'prot' (did you mean 'port'?)",
        "networks[2]: expected a map, found 'none'",
        "nmae: there is no property 'nmae' (did you mean 'name'?)",
    ]


def test_name_near_to_none_is_answered_with_all() -> None:
    (error,) = check_properties(SERVER, {"name": "web", "flavour": 1})
    assert error.hint == "there are: name, networks, size"
    (error,) = check_properties({}, {"flavour": 1})
    assert error.hint == "there are: none at all"


def test_only_what_can_be_relied_on_is_offered() -> None:
    old = SupportStatus(status=Support.DEPRECATED)
    schema = {"net": Property(type=STRING, support_status=old), "network": Property(type=STRING)}
    (error,) = check_properties(schema, {"netw": 1})
    assert error.hint == "did you mean 'network'?"
    (error,) = check_properties(schema, {"flavour": 1})
    assert error.hint == "there are: network"


def test_unknown_values_are_skipped_wherever_they_are() -> None:
    given_properties = {"name": UNKNOWN, "networks": [UNKNOWN, {"port": UNKNOWN, "tags": UNKNOWN}]}
    assert check_properties(SERVER, given_properties) == []
    converted = convert_properties(SERVER, given_properties)
    assert converted["name"] is UNKNOWN
    assert converted["networks"][1]["port"] is UNKNOWN


def test_what_holds_an_unknown_value_is_not_asked_about_its_constraints() -> None:
    schema = {"it": Property(type=LIST, constraints=(Length(5),))}
    assert check_properties(schema, {"it": [UNKNOWN]}) == []
    assert len(check_properties(schema, {"it": ["known"]})) == 1


def test_constraints_hold_when_converting_unless_told_otherwise() -> None:
    with pytest.raises(PropertyError, match="out of range"):
        convert_properties(SERVER, {"name": "web", "size": 11})
    assert convert_properties(SERVER, {"name": "web", "size": 11}, constraints=False)["size"] == 11


def test_anything_is_accepted_where_the_type_says_so() -> None:
    anything = {"any": {"thing": 1.5}, "size": "3", "name": "web"}
    assert check_properties(SERVER, anything, accepts_anything=True) == []
    converted = convert_properties(SERVER, anything, accepts_anything=True)
    assert converted == {"any": {"thing": 1.5}, "size": 3, "name": "web", "networks": None}


def test_what_is_not_implemented_or_not_supported_takes_no_value() -> None:
    schema = {
        "missing": Property(type=STRING, implemented=False),
        "gone": Property(
            type=STRING,
            support_status=SupportStatus(status=Support.UNSUPPORTED, version="5.0", message="use name"),
        ),
        "nested": Property(type=MAP, schema={"missing": Property(type=STRING, implemented=False)}),
    }
    given_properties = {"missing": UNKNOWN, "gone": "x", "nested": {"missing": "x"}}
    assert [str(error) for error in check_properties(schema, given_properties)] == [
        "missing: it is not implemented, so nothing can be given (take it away)",
        "gone: it is not supported since 5.0 (use name)",
        "nested.missing: it is not implemented, so nothing can be given (take it away)",
    ]
    assert check_properties(schema, {"missing": None, "gone": None}) == []
    assert convert_properties(schema, {"gone": "x"}, constraints=False)["gone"] == "x"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(UNKNOWN),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
NAMES = st.sampled_from(["name", "size", "networks", "port", "other"])
GIVEN = st.dictionaries(NAMES, VALUES | st.lists(st.dictionaries(NAMES, VALUES, max_size=3), max_size=3))


@given(properties=GIVEN)
def test_checking_and_converting_agree(properties: Mapping[str, Any]) -> None:
    errors = check_properties(SERVER, properties)
    if errors:
        with pytest.raises(PropertyError) as caught:
            convert_properties(SERVER, properties)
        assert str(caught.value) == str(errors[0])
    else:
        assert set(convert_properties(SERVER, properties)) == set(SERVER)
