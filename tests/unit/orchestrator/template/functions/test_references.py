"""get_param, get_resource and get_attr, per version, with paths that lead nowhere."""

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.config.limits import Limits
from orchestrator.definition import UNKNOWN, ResourceProxy, StackDefinition
from orchestrator.errors import PluginMistake
from orchestrator.template.template import Draft, Template

Stack = Callable[..., StackDefinition]
Made = Callable[..., ResourceProxy]

PARAMETERS = {
    "n": 7,
    "s": "text",
    "l": ["x", "y"],
    "j": {"a": {"b": [1, {"c": None}]}, "1": "one"},
    "f": False,
}


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ("n", 7),
        (["n"], 7),
        ("f", False),
        (["l", 0], "x"),
        (["l", "1"], "y"),
        (["l", -1], "y"),
        (["l", "-2"], "x"),
        (["j", "a", "b", 1, "c"], None),
        (["j", "1"], "one"),
        (["s", 0], "t"),
        ({"get_param": "s2"}, "text"),
        ([{"get_param": "s2"}, 1], "e"),
    ],
)
@pytest.mark.parametrize("version", ["2013-05-23", "wallaby"])
def test_get_param(call: Any, stack: Stack, version: str, arguments: Any, value: Any) -> None:
    assert call({"get_param": arguments}, stack({**PARAMETERS, "s2": "s"}), version=version) == value


@pytest.mark.parametrize(
    "path",
    [
        ["l", 2],
        ["l", "x"],
        ["j", "no"],
        ["j", 1],
        ["n", 0],
        ["j", "a", "b", 1, "c", "d"],
        ["j", None],
        ["l", True],
    ],
)
def test_a_path_into_a_parameter_that_leads_nowhere_is_the_empty_text(
    call: Any, stack: Stack, path: list[Any]
) -> None:
    assert call({"get_param": path}, stack(PARAMETERS)) == ""


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (None, "null"),
        ([], "an empty list"),
        ({}, "a map"),
        (7, "a number"),
        ([None], "null"),
        ([[]], "a list"),
    ],
)
def test_get_param_refuses_other_shapes(call: Any, arguments: Any, found: str) -> None:
    problem = call.refused({"get_param": arguments})
    assert problem.message == f"expected the parameter's name, found {found}"
    assert problem.path.startswith("resources.r.properties.p.get_param")


def test_get_param_without_a_value_fails_where_it_stands(call: Any, stack: Stack) -> None:
    problem = call.fails({"get_param": "nope"}, stack(PARAMETERS))
    assert "'nope'" in problem.message
    assert problem.path == "resources.r.properties.p.get_param"
    assert problem.position is not None


def test_a_name_from_a_call_must_be_text(call: Any, stack: Stack) -> None:
    assert "a number" in call.fails({"get_param": {"get_param": "n"}}, stack(PARAMETERS)).message


def test_nobody_can_change_a_parameter_through_what_was_resolved(call: Any, stack: Stack) -> None:
    parameters = {"j": {"a": [1]}}
    call({"get_param": "j"}, stack(parameters))["a"].append(2)
    assert parameters == {"j": {"a": [1]}}


def test_get_resource_is_the_reference_id_or_the_name(call: Any, stack: Stack, resource: Made) -> None:
    value = {"get_resource": "a"}
    assert call(value, stack(resources={"a": resource("a", reference="id-1")})) == "id-1"
    assert call(value, stack(resources={"a": resource("a")})) == "a"
    assert call(value, stack(resources={"a": ResourceProxy(name="a")})) is UNKNOWN
    assert call.definition.requirements == {"a"}


@pytest.mark.parametrize("arguments", [None, 7, ["a"], {"a": 1}, True])
def test_get_resource_needs_a_name(call: Any, arguments: Any) -> None:
    assert call.refused({"get_resource": arguments}).message.startswith("expected the resource's name")


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"get_resource": {"get_attr": ["x", "y"]}}, "get_resource"),
        ({"get_attr": [{"get_attr": ["x", "y"]}, "y"]}, "get_attr[0]"),
        ({"get_attr": ["x", {"get_attr": ["x", "y"]}]}, "get_attr[1]"),
    ],
)
def test_a_name_cannot_come_from_another_resource(call: Any, value: Any, path: str) -> None:
    problem = call.refused(value)
    assert "cannot come from another resource" in problem.message
    assert problem.path == f"resources.r.properties.p.{path}"


NAMED_BY_PARAMETERS = """
heat_template_version: wallaby
parameters:
  which: {type: string}
  attribute: {type: string}
  index: {type: number}
  code: {type: string, hidden: true}
resources:
  server: {type: X}
  r:
    type: X
    properties:
      id: {get_resource: {get_param: which}}
      part: {get_attr: [{get_param: which}, {get_param: attribute}, {get_param: index}]}
"""


def named_by(values: dict[str, Any], body: str = NAMED_BY_PARAMETERS) -> Template:
    draft = Draft.read(body, file="t", files={}, limits=Limits())
    return draft.under({**draft.unknown_values(), **values}, {"code"})


def test_names_may_come_from_parameters() -> None:
    template = named_by({"which": "server", "attribute": "ports", "index": 1})
    definition = template.resources["r"]
    assert template.check_references() == []
    assert definition.requirements == {"server"}
    assert definition.required_attributes == {("server", ("ports", 1))}
    assert definition.properties == {
        "id": {"get_resource": "server"},
        "part": {"get_attr": ["server", "ports", 1]},
    }
    (first, second) = named_by({"which": "serve", "attribute": "a", "index": 0}).check_references()
    assert first.hint == second.hint == "did you mean 'server'?"


def test_names_from_parameters_without_a_value_are_not_known_yet(stack: Stack) -> None:
    template = named_by({})
    assert template.problems == ()
    assert template.check_references() == []
    definition = template.resources["r"]
    assert definition.requirements == set()
    assert definition.required_attributes == set()
    assert definition.resolve_properties(stack()) == {"id": UNKNOWN, "part": UNKNOWN}


def test_a_name_does_not_come_from_a_hidden_parameter() -> None:
    body = NAMED_BY_PARAMETERS.replace("get_param: which", "get_param: code")
    problems = named_by({"code": "server"}, body).problems
    assert [problem.path for problem in problems] == [
        "resources.r.properties.id.get_resource",
        "resources.r.properties.part.get_attr[0]",
    ]


def test_a_resource_that_does_not_exist_fails_with_its_place(call: Any, stack: Stack, resource: Made) -> None:
    problem = call.fails({"get_resource": "serer"}, stack(resources={"server": resource("server")}))
    assert "did you mean 'server'?" in problem.message
    assert problem.position is not None


@pytest.mark.parametrize(
    ("version", "collected"),
    [("2013-05-23", ("nets",)), ("2014-10-16", ("nets", "x", 0)), ("wallaby", ("nets", "x", 0))],
)
def test_what_get_attr_asks_to_be_collected(
    call: Any, version: str, collected: tuple[str | int, ...]
) -> None:
    definition = call.build({"get_attr": ["a", "nets", "x", 0]}, version)
    assert definition.required_attributes == {("a", collected)}
    assert definition.requirements == {"a"}


@pytest.mark.parametrize("version", ["2013-05-23", "2014-10-16", "wallaby"])
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ([], {"x": ["v", {"k": 1}]}),
        (["x", 0], "v"),
        (["x", -1, "k"], 1),
        (["x", "0"], None),
        (["no"], None),
        (["x", 7], None),
        (["x", 0, "deeper"], None),
    ],
)
def test_get_attr_of_a_whole_attribute(
    call: Any, stack: Stack, resource: Made, version: str, path: list[Any], value: Any
) -> None:
    around = stack(resources={"a": resource("a", nets={"x": ["v", {"k": 1}]})})
    assert call({"get_attr": ["a", "nets", *path]}, around, version=version) == value


def test_get_attr_reads_what_was_collected_under_its_path(call: Any, stack: Stack, resource: Made) -> None:
    around = stack(resources={"a": resource("a", nets__x=["v"])})
    assert call({"get_attr": ["a", "nets", "x"]}, around) == ["v"]
    assert call({"get_attr": ["a", "nets", "x", 0]}, around) == "v"


@pytest.mark.parametrize("version", ["2013-05-23", "2014-10-16", "2015-04-30"])
def test_get_attr_of_a_resource_alone_needs_2015_10_15(call: Any, version: str) -> None:
    problem = call.refused({"get_attr": ["a"]}, version)
    assert "found one item" in problem.message
    assert "2015-10-15" in problem.hint


@pytest.mark.parametrize("version", ["2015-10-15", "wallaby"])
def test_get_attr_of_a_resource_alone_gives_all_its_attributes(
    call: Any, stack: Stack, resource: Made, version: str
) -> None:
    around = stack(resources={"a": resource("a", **{"*": {"x": 1, "y": None}})})
    assert call({"get_attr": ["a"]}, around, version=version) == {"x": 1, "y": None}
    assert call.definition.required_attributes == {("a", ("*",))}
    assert call({"get_attr": ["a"]}, stack(resources={"a": resource("a", action="INIT")})) is None
    assert call({"get_attr": ["a"]}, stack(resources={"a": ResourceProxy(name="a")})) is UNKNOWN


def test_a_call_in_the_path_is_followed_in_the_part_before_it(
    call: Any, stack: Stack, resource: Made
) -> None:
    around = stack({"key": "x"}, resources={"a": resource("a", nets={"x": ["v"]})})
    value = {"get_attr": ["a", "nets", {"get_param": "key"}, 0]}
    assert call(value, around) == "v"
    assert call.definition.required_attributes == {("a", ("nets",))}
    assert call(value, stack({"key": None}, resources=around.resources)) is None


@pytest.mark.parametrize(
    ("action", "value"), [("INIT", None), ("DELETE", None), ("CREATE", "v"), ("CHECK", "v"), ("UPDATE", "v")]
)
def test_attributes_mean_something_after_an_action_only(
    call: Any, stack: Stack, resource: Made, action: str, value: Any
) -> None:
    around = stack(resources={"a": resource("a", action=action, nets="v")})
    assert call({"get_attr": ["a", "nets"]}, around) == value


@pytest.mark.parametrize("path", [[], ["x"], [{"get_param": "key"}]])
def test_attributes_of_a_resource_to_be_made_are_unknown(call: Any, stack: Stack, path: list[Any]) -> None:
    around = stack({"key": "x"}, resources={"a": ResourceProxy(name="a")})
    assert call({"get_attr": ["a", "nets", *path]}, around) is UNKNOWN


def test_asking_for_what_was_not_collected_is_a_mistake_of_the_engine(
    call: Any, stack: Stack, resource: Made
) -> None:
    with pytest.raises(PluginMistake):
        call({"get_attr": ["a", "nets"]}, stack(resources={"a": resource("a", other=1)}))


@pytest.mark.parametrize(
    ("arguments", "path", "message"),
    [
        ("a", "", "found text"),
        (None, "", "found null"),
        ([], "", "empty list"),
        ([7, "x"], "[0]", "found a number"),
        (["a", 7], "[1]", "found a number"),
        (["a", "b", None], "[2]", "found null"),
        (["a", "b", 1.5], "[2]", "found a number"),
        (["a", "b", ["c"]], "[2]", "found a list"),
    ],
)
def test_get_attr_refuses_other_shapes(call: Any, arguments: Any, path: str, message: str) -> None:
    problem = call.refused({"get_attr": arguments})
    assert problem.path == f"resources.r.properties.p.get_attr{path}"
    assert message in problem.message
