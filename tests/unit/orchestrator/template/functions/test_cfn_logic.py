"""Fn::If, and what only conditions can call: Fn::Equals, Fn::Not, Fn::And, Fn::Or, Condition."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.config.limits import Limits
from orchestrator.definition import UNKNOWN, StackDefinition
from orchestrator.errors import Problem
from orchestrator.template.template import Draft, Template

VALUES = {"env": "prod", "count": 1, "secret": "s", "big": True}


def under(
    conditions: Mapping[str, Any] | None = None,
    *,
    value: Any = None,
    condition: Any = True,
    values: Mapping[str, Any] | None = None,
) -> Template:
    body = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Parameters": {
            "env": {"Type": "String"},
            "count": {"Type": "Number"},
            "big": {"Type": "Boolean"},
            "secret": {"Type": "String", "NoEcho": True},
        },
        "Mappings": {
            "stages": {"prod": {"guarded": True, "size": "L"}, "dev": {"guarded": False, "size": "S"}}
        },
        "Conditions": conditions or {},
        "Resources": {
            "other": {"Type": "X"},
            "r": {"Type": "X", "Properties": {"p": value}, "Condition": condition},
        },
    }
    draft = Draft.read(json.dumps(body), file="t.json", files={}, limits=Limits())
    return draft.under({**VALUES, **(values or {})}, hidden={"secret"})


def holds(condition: Any, conditions: Mapping[str, Any] | None = None, **values: Any) -> bool:
    """Return whether a resource with this condition is there; the same by name as in its place."""
    template = under(conditions, condition=condition, values=values)
    assert template.problems == ()
    if isinstance(condition, dict):
        by_name = under({**(conditions or {}), "named": condition}, condition="named", values=values)
        assert by_name.resources.keys() == template.resources.keys()
    return "r" in template.resources


def problem_of(condition: Any, conditions: Mapping[str, Any] | None = None) -> Problem:
    (problem,) = under(conditions, condition=condition).problems
    return problem


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (True, True),
        (False, False),
        (None, True),
        ({"Fn::Equals": [1, 1]}, True),
        ({"Fn::Equals": ["1", 1]}, False),
        ({"Fn::Equals": [{"Ref": "env"}, "prod"]}, True),
        ({"Fn::Equals": [{"Ref": "env"}, "dev"]}, False),
        ({"Fn::Equals": [{"Ref": "count"}, 1]}, True),
        ({"Fn::Equals": [{"Ref": "secret"}, "s"]}, True),
        ({"Fn::Equals": [{"Fn::FindInMap": ["stages", {"Ref": "env"}, "size"]}, "L"]}, True),
        ({"Fn::FindInMap": ["stages", {"Ref": "env"}, "guarded"]}, True),
        ({"Fn::FindInMap": ["stages", "dev", "guarded"]}, False),
        ({"Ref": "big"}, True),
        ({"Fn::Not": [{"Ref": "big"}]}, False),
        ({"Fn::Not": [False]}, True),
        ({"Fn::Not": ["yes"]}, False),
        ({"Fn::And": [True, "yes"]}, True),
        ({"Fn::And": ["yes", "no", {"Ref": "big"}]}, False),
        ({"Fn::Or": ["no", "yes"]}, True),
        ({"Fn::Or": [False, "no", {"Fn::Not": ["yes"]}]}, False),
        ("yes", True),
        ("no", False),
        ({"Condition": "yes"}, True),
        ({"Fn::Not": [{"Condition": "no"}]}, True),
        ({"Fn::And": [{"Condition": "yes"}, {"Condition": "no"}]}, False),
    ],
)
def test_what_holds(condition: Any, expected: bool) -> None:
    conditions = {"yes": {"Fn::Equals": ["a", "a"]}, "no": {"Fn::Not": ["yes"]}}
    assert holds(condition, conditions) is expected


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"Fn::Not": "yes"}, "expected a list of one condition, found text"),
        ({"Fn::Not": True}, "expected a list of one condition, found a boolean"),
        ({"Fn::Not": []}, "expected one condition, found 0 items"),
        ({"Fn::Not": ["yes", "yes"]}, "expected one condition, found 2 items"),
        ({"Fn::Not": [7]}, "expected a condition's name, true, false or a call, found a number"),
        ({"Fn::Not": ["yess"]}, "there is no condition 'yess'"),
        ({"Fn::And": ["yes"]}, "expected at least two conditions, found 1"),
        ({"Fn::Or": "yes"}, "expected a list of conditions, found text"),
        ({"Fn::Equals": ["a"]}, "expected two values, found 1 items"),
        ({"Condition": "yess"}, "there is no condition 'yess'"),
        ({"Condition": ["yes"]}, "expected a condition's name, found a list"),
        ({"Fn::Join": ["", []]}, "the function Fn::Join cannot be called in a condition"),
        ({"Ref": "other"}, "Ref of a resource cannot stand in a condition"),
        ({"Fn::FindInMap": ["stages", "prod", "size"]}, "found text"),
        ({"Fn::FindInMap": ["stages", {"Ref": "other"}, "size"]}, "Ref of a resource cannot stand"),
        ({"equals": [1, 1]}, "found a map"),
        ("yess", "there is no condition 'yess'"),
    ],
)
def test_what_is_no_condition_is_refused_in_its_place_and_by_name(condition: Any, message: str) -> None:
    conditions = {"yes": {"Fn::Equals": ["a", "a"]}}
    assert message in problem_of(condition, conditions).message
    if isinstance(condition, dict):
        problem = problem_of("named", {**conditions, "named": condition})
        assert message in problem.message
        assert problem.path.startswith("Conditions.named")


def test_a_parameter_that_a_condition_does_not_find_is_told() -> None:
    problem = problem_of("named", {"named": {"Fn::Equals": [{"Ref": "envi"}, "prod"]}})
    assert problem.message == "there is no parameter or resource 'envi'"
    assert problem.hint == "did you mean 'env'?"
    assert problem.path == "Conditions.named.Fn::Equals[0].Ref"


def chosen(value: Any, conditions: Mapping[str, Any] | None = None, **values: Any) -> Any:
    template = under(conditions, value=value, values=values)
    assert [*template.problems, *template.check_references()] == []
    return template.resources["r"].properties["p"]


@pytest.mark.parametrize(("env", "result"), [("prod", "L"), ("dev", "S")])
def test_if_chooses_by_name_by_call_and_in_calls(env: str, result: str) -> None:
    conditions = {"production": {"Fn::Equals": [{"Ref": "env"}, "prod"]}}
    for condition in ("production", conditions["production"], {"Condition": "production"}):
        assert chosen({"Fn::If": [condition, "L", "S"]}, conditions, env=env) == result
    value = {"Fn::Join": ["", ["size ", {"Fn::If": ["production", "L", "S"]}]]}
    assert chosen(value, conditions, env=env) == {"Fn::Join": ["", ["size ", result]]}


def test_what_if_does_not_choose_is_not_looked_at() -> None:
    assert chosen({"Fn::If": [True, {"Ref": "other"}, {"Ref": "nothing"}]}) == {"Ref": "other"}
    template = under(value={"Fn::If": [False, {"Ref": "other"}, 1]})
    assert template.resources["r"].requirements == frozenset()


def test_if_is_not_known_while_its_parameter_is_not() -> None:
    value = {"Fn::If": [{"Fn::Equals": [{"Ref": "env"}, "prod"]}, 1, 2]}
    template = under(value=value, values={"env": UNKNOWN})
    assert template.problems == ()
    stack = StackDefinition(name="s", id="1")
    assert template.resources["r"].resolve_properties(stack) == {"p": UNKNOWN}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("a", "expected a list of a condition and two values, found text"),
        ([True, 1], "expected a condition and two values, found 2 items"),
        ([True, 1, 2, 3], "expected a condition and two values, found 4 items"),
        ([7, 1, 2], "expected a condition's name, true, false or a call, found a number"),
    ],
)
def test_what_if_refuses(arguments: Any, message: str) -> None:
    (problem,) = under(value={"Fn::If": arguments}).problems
    assert (problem.message, problem.hint) == (message, "")


@pytest.mark.parametrize("version", ["2012-12-12", "2013-05-23", "wallaby"])
@pytest.mark.parametrize(
    "data",
    [
        {"Fn::If": [True, 1, 2]},
        {"Fn::Equals": [1, 1]},
        {"Fn::Not": [True]},
        {"Condition": "production"},
    ],
)
def test_without_the_aws_format_all_of_them_are_data(call: Any, data: Any, version: str) -> None:
    assert call(data, version=version) == data


@pytest.mark.parametrize("name", ["Fn::Equals", "Fn::Not", "Fn::And", "Fn::Or", "Condition"])
def test_outside_conditions_what_decides_is_data(name: str) -> None:
    assert chosen({name: [1, 1]}) == {name: [1, 1]}


@pytest.mark.parametrize("value", ["false", "true", "", 0, 1, [], {}, None])
@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize(
    ("wrap", "path"),
    [
        (lambda call: call, ""),
        (lambda call: {"Fn::Not": [call]}, ".Fn::Not[0]"),
        (lambda call: {"Fn::And": [True, call]}, ".Fn::And[1]"),
        (lambda call: {"Fn::Or": [False, call]}, ".Fn::Or[1]"),
        (lambda call: {"Fn::Not": [{"Fn::Or": [call, True]}]}, ".Fn::Not[0].Fn::Or[0]"),
    ],
)
def test_only_a_boolean_or_a_name_is_a_condition(wrap: Any, path: str, by_name: bool, value: Any) -> None:
    condition = wrap({"Ref": "env"})
    if by_name:
        template = under({"c": condition}, condition="c", values={"env": value})
    else:
        template = under(condition=condition, values={"env": value})
    (problem,) = template.problems
    assert problem.path == ("Conditions.c" if by_name else "Resources.r.Condition") + path
    assert problem.message.startswith("expected ")


def test_a_text_that_a_map_gives_is_no_condition_but_may_name_one() -> None:
    call = {"Fn::FindInMap": ["stages", "prod", "size"]}
    assert "found text" in problem_of(call).message
    assert holds({"Fn::Not": [call]}, {"L": {"Fn::Equals": [1, 2]}})
