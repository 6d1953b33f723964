"""Ref, Fn::GetAtt, Fn::ResourceFacade."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.config.limits import Limits
from orchestrator.definition import UNKNOWN, ParentResourceProxy, ResourceProxy, StackDefinition
from orchestrator.template.definitions import ResourceDefinition
from orchestrator.template.template import Draft, Template

VALUES = {"text": "t", "name": "other", "secret": "s", "AWS::StackName": "stack"}


def under(
    value: Any, *, more: Mapping[str, Any] | None = None, values: Mapping[str, Any] | None = None
) -> Template:
    """Return a template whose resource ``r`` has this property, beside a resource ``other``."""
    body = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Parameters": {
            "text": {"Type": "String"},
            "name": {"Type": "String"},
            "secret": {"Type": "String", "NoEcho": True},
        },
        "Resources": {
            "other": {"Type": "X", **(more or {})},
            "r": {"Type": "X", "Properties": {"p": value}},
        },
    }
    draft = Draft.read(json.dumps(body), file="t.json", files={}, limits=Limits())
    return draft.under(VALUES if values is None else values, hidden={"secret"})


def sound(value: Any, **options: Any) -> ResourceDefinition:
    template = under(value, **options)
    assert [*template.problems, *template.check_references()] == []
    return template.resources["r"]


def test_a_reference_is_to_a_parameter_or_to_a_resource(stack: Any, resource: Any) -> None:
    definition = sound([{"Ref": "text"}, {"Ref": "other"}, {"Ref": "AWS::StackName"}])
    assert definition.requirements == {"other"}
    assert definition.required_attributes == frozenset()
    whole = stack(VALUES, resources={"other": resource("other", reference="id-7")})
    assert definition.resolve_properties(whole) == {"p": ["t", "id-7", "stack"]}


def test_a_worker_knows_a_resource_by_its_being_there(stack: Any, resource: Any) -> None:
    definition = sound([{"Ref": "text"}, {"Ref": "other"}])
    rebuilt = ResourceDefinition.from_fragment("r", json.loads(json.dumps(definition.fragment())))
    around = stack(VALUES, resources={"other": resource("other", reference="id-7")})
    assert rebuilt.resolve_properties(around) == {"p": ["t", "id-7"]}


def test_a_resource_still_to_be_made_is_not_known(stack: Any) -> None:
    definition = sound({"Ref": "other"})
    around = stack(VALUES, resources={"other": ResourceProxy(name="other")})
    assert definition.resolve_properties(around) == {"p": UNKNOWN}


def test_a_name_can_come_from_a_parameter(stack: Any, resource: Any) -> None:
    definition = sound({"Ref": {"Ref": "name"}})
    assert definition.requirements == {"other"}
    around = stack(VALUES, resources={"other": resource("other", reference="id-7")})
    assert definition.resolve_properties(around) == {"p": "id-7"}
    definition = sound({"Ref": {"Ref": "name"}}, values={**VALUES, "name": UNKNOWN})
    assert definition.resolve_properties(around) == {"p": UNKNOWN}


@pytest.mark.parametrize(
    ("value", "message", "hint"),
    [
        ({"Ref": 7}, "expected the name of a resource or a parameter, found a number", ""),
        ({"Ref": ["text"]}, "expected the name of a resource or a parameter, found a list", ""),
        ({"Ref": {"Ref": "other"}}, "a name cannot come from another resource", "write the name out"),
        (
            {"Fn::GetAtt": "other.a"},
            "expected a list of a resource's name and an attribute's, found text",
            "",
        ),
        ({"Fn::GetAtt": ["other"]}, "expected a resource's name and an attribute's, found 1 items", ""),
        (
            {"Fn::GetAtt": ["other", "a", "b"]},
            "expected a resource's name and an attribute's, found 3 items",
            "",
        ),
        ({"Fn::GetAtt": ["other", 7]}, "expected the attribute's name, found a number", ""),
        ({"Fn::GetAtt": [7, "a"]}, "expected the resource's name, found a number", ""),
        (
            {"Fn::GetAtt": ["other", {"Ref": "other"}]},
            "an attribute's name cannot come from another resource",
            "write it out",
        ),
    ],
)
def test_what_is_no_reference_is_refused(value: Any, message: str, hint: str) -> None:
    (problem,) = under(value).problems
    assert (problem.message, problem.hint) == (message, hint)


@pytest.mark.parametrize(
    ("value", "message", "hint", "place"),
    [
        ({"Ref": "txt"}, "there is no parameter or resource 'txt'", "did you mean 'text'?", ""),
        ({"Ref": "othr"}, "there is no parameter or resource 'othr'", "did you mean 'other'?", ""),
        (
            {"Ref": "AWS::StackNames"},
            "there is no parameter or resource 'AWS::StackNames'",
            "did you mean 'AWS::StackName'?",
            "",
        ),
        ({"Fn::GetAtt": ["othr", "a"]}, "there is no resource 'othr'", "did you mean 'other'?", "[0]"),
    ],
)
def test_what_does_not_exist_is_told_with_what_is_like_it(
    value: Any, message: str, hint: str, place: str
) -> None:
    template = under(value)
    assert template.problems == ()
    (problem,) = template.check_references()
    assert (problem.message, problem.hint) == (message, hint)
    (name,) = value
    assert problem.path == f"Resources.r.Properties.p.{name}{place}"


@pytest.mark.parametrize("value", [{"Ref": "other"}, {"Fn::GetAtt": ["other", "a"]}])
def test_a_resource_that_its_condition_disables_cannot_be_referred_to(value: Any) -> None:
    template = under(value, more={"Condition": False})
    (problem,) = template.check_references()
    assert problem.message == "the resource 'other' does not exist under its condition"


def test_a_worker_that_knows_neither_says_so(call: Any) -> None:
    problem = call.fails({"Ref": "nothing"}, version="2010-09-09")
    assert problem.message == "there is no parameter or resource 'nothing', or it has no value"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"Ref": "text"}, True),
        ({"Ref": "secret"}, False),
        ({"Ref": "other"}, False),
        ({"Fn::Join": ["", [{"Ref": "text"}]]}, True),
        ({"Fn::Join": ["", [{"Ref": "text"}, {"Ref": "secret"}]]}, False),
        ({"Fn::GetAtt": ["other", "a"]}, False),
    ],
)
def test_only_what_comes_from_open_parameters_may_be_shown(value: Any, shown: bool) -> None:
    definition = sound(value)
    covered = definition.properties_expression.covered(("p",), {"secret"})
    assert (covered is None) == shown
    rebuilt = ResourceDefinition.from_fragment("r", definition.fragment())
    # A check cannot tell a parameter from a resource before it is resolved.
    assert rebuilt.properties_expression.covered(("p",), {"secret"}) is not None


def test_an_attribute_is_collected_whole(stack: Any, resource: Any) -> None:
    definition = sound({"Fn::GetAtt": ["other", "Outputs.ip"]})
    assert definition.requirements == {"other"}
    assert definition.required_attributes == {("other", ("Outputs.ip",))}
    there = stack(resources={"other": resource("other", **{"Outputs.ip": "10.0.0.4"})})
    assert definition.resolve_properties(there) == {"p": "10.0.0.4"}
    gone = stack(resources={"other": resource("other", action="DELETE", **{"Outputs.ip": "10.0.0.4"})})
    assert definition.resolve_properties(gone) == {"p": None}


def test_the_names_of_an_attribute_can_come_from_parameters() -> None:
    definition = sound({"Fn::GetAtt": [{"Ref": "name"}, {"Ref": "text"}]})
    assert definition.required_attributes == {("other", ("t",))}
    assert definition.properties == {"p": {"Fn::GetAtt": ["other", "t"]}}


PARENT = ParentResourceProxy(
    name="p", metadata={"a": [1]}, deletion_policy="Retain", update_policy={"b": {"c": 2}}
)


@pytest.mark.parametrize(
    ("part", "result"),
    [("Metadata", {"a": [1]}), ("DeletionPolicy", "Retain"), ("UpdatePolicy", {"b": {"c": 2}})],
)
def test_a_part_of_the_resource_that_the_template_is(call: Any, part: str, result: Any) -> None:
    nested = StackDefinition(name="s", id="1", parent=PARENT)
    for version in ("2010-09-09", "2012-12-12", "2013-05-23"):
        assert call({"Fn::ResourceFacade": part}, nested, version=version) == result


@pytest.mark.parametrize(
    ("part", "hint"),
    [
        ("metadata", "did you mean 'Metadata'?"),
        ("x", "expected one of: Metadata, DeletionPolicy, UpdatePolicy"),
    ],
)
def test_parts_have_the_names_of_cfn(call: Any, part: str, hint: str) -> None:
    problem = call.refused({"Fn::ResourceFacade": part}, "2010-09-09")
    assert (problem.message, problem.hint) == (f"a resource has no part {part!r} here", hint)
