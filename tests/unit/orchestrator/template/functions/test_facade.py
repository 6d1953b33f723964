"""resource_facade: what a template used as a resource can read of that resource."""

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.definition import UNKNOWN, ParentResourceProxy, StackDefinition
from tests.unit.orchestrator.template.functions.conftest import stack_with

PARENT = ParentResourceProxy(
    name="group", metadata={"a": [1]}, deletion_policy="Retain", update_policy={"batch": {"size": 2}}
)


def nested(parent: ParentResourceProxy = PARENT) -> StackDefinition:
    return replace(stack_with(), parent=parent)


@pytest.mark.parametrize("version", ["2013-05-23", "wallaby"])
@pytest.mark.parametrize(
    ("part", "value", "default"),
    [
        ("metadata", {"a": [1]}, {}),
        ("deletion_policy", "Retain", "Delete"),
        ("update_policy", {"batch": {"size": 2}}, {}),
    ],
)
def test_resource_facade(call: Any, version: str, part: str, value: Any, default: Any) -> None:
    assert call({"resource_facade": part}, nested(), version=version) == value
    assert call({"resource_facade": part}, nested(ParentResourceProxy(name="g")), version=version) == default


def test_nobody_can_change_the_parent_through_it(call: Any) -> None:
    call({"resource_facade": "metadata"}, nested())["a"].append(2)
    assert PARENT.metadata == {"a": [1]}


def test_what_the_parent_does_not_know_yet_is_unknown(call: Any) -> None:
    parent = ParentResourceProxy(name="g", metadata={"a": UNKNOWN})
    assert call({"resource_facade": "metadata"}, nested(parent)) == {"a": UNKNOWN}
    assert call({"list_join": [",", [{"resource_facade": "metadata"}]]}, nested(parent)) is UNKNOWN


def test_without_a_parent_it_says_who_has_one(call: Any) -> None:
    problem = call.fails({"resource_facade": "metadata"})
    assert problem.message == "there is no parent: only a template that is used as a resource has one"
    assert problem.path == "resources.r.properties.p.resource_facade"
    assert problem.position is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (None, "expected one of: metadata, deletion_policy, update_policy, found null"),
        (["metadata"], "expected one of: metadata, deletion_policy, update_policy, found a list"),
        (
            {"get_param": "p"},
            "expected one of: metadata, deletion_policy, update_policy, found a call of get_param",
        ),
        ("Metadata", "a resource has no part 'Metadata' here"),
        ("", "a resource has no part '' here"),
    ],
)
def test_resource_facade_refuses_other_parts(call: Any, arguments: Any, message: str) -> None:
    problem = call.refused({"resource_facade": arguments})
    assert problem.message == message
    assert problem.path == "resources.r.properties.p.resource_facade"


def test_a_misspelt_part_is_told_the_right_name(call: Any) -> None:
    assert call.refused({"resource_facade": "Metadata"}).hint == "did you mean 'metadata'?"


def test_the_part_may_come_from_a_condition(call: Any) -> None:
    value = {"resource_facade": {"if": [{"equals": [1, 1]}, "metadata", "update_policy"]}}
    assert call(value, nested()) == {"a": [1]}
    undecided = {
        "resource_facade": {"if": [{"equals": [{"get_param": "OS::stack_name"}, 1]}, "metadata", "x"]}
    }
    assert call(undecided, nested()) is UNKNOWN


def test_it_makes_no_edge_and_nothing_of_it_is_shown(call: Any) -> None:
    definition = call.build({"resource_facade": "metadata"})
    assert definition.requirements == frozenset()
    assert definition.properties_expression.covered((), ()) is not None
