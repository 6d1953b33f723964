"""repeat, per version, with nulls, maps, errors and bounds."""

import json
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.limits import Limits
from orchestrator.definition import UNKNOWN, ResourceProxy, StackDefinition
from orchestrator.errors import InvalidInput
from orchestrator.template.template import Template
from tests.unit.orchestrator.template.functions.conftest import Caller

Stack = Callable[..., StackDefinition]

FIRST, MAPS, PERMUTATIONS = "2015-04-30", "newton", "pike"


def repeat(template: Any, for_each: Any, **more: Any) -> dict[str, Any]:
    return {"repeat": {"template": template, "for_each": for_each, **more}}


@pytest.mark.parametrize("version", [FIRST, MAPS, PERMUTATIONS, "wallaby"])
@pytest.mark.parametrize(
    ("template", "for_each", "result"),
    [
        ("this is %x%", {"%x%": ["a", "b"]}, ["this is a", "this is b"]),
        ("x and x", {"x": ["a"]}, ["a and a"]),
        ("no placeholder", {"x": ["a", "b"]}, ["no placeholder", "no placeholder"]),
        (
            {"k-x": "v-x", "l": ["x", 7, None, True]},
            {"x": ["a"]},
            [{"k-a": "v-a", "l": ["a", 7, None, True]}],
        ),
        # The first list is the slowest.
        ("xy", {"x": ["a", "b"], "y": ["1", "2"]}, ["a1", "a2", "b1", "b2"]),
        ("x", {"x": []}, []),
        ("x", {"x": None}, []),
        ("xy", {"x": ["a", "b"], "y": []}, []),
        ("xy", {"x": ["a", "b"], "y": None}, []),
        # One after the other: what was put in is searched for those that follow.
        ("x", {"x": ["y"], "y": ["z"]}, ["z"]),
        ("y", {"x": ["y"], "y": ["x"]}, ["x"]),
        ("xx", {"x": ["xx"]}, ["xxxx"]),
        # Keys that become the same: the later entry stays.
        ({"x": 1, "a": 2}, {"x": ["a"]}, [{"a": 2}]),
        # Without any text there is nothing to replace, and items may be anything.
        (7, {"x": [1, 2]}, [7, 7]),
        ([], {"x": [1, None]}, [[], []]),
        ({}, {"x": [{}]}, [{}]),
        ([None], {"x": ["a"], "y": [True, 1.5]}, [[None], [None]]),
        # Without a copy nobody looks at them.
        ("x", {"x": [1], "y": []}, []),
    ],
)
def test_repeat(call: Any, version: str, template: Any, for_each: dict[str, Any], result: list[Any]) -> None:
    assert call(repeat(template, for_each), version=version) == result


@pytest.mark.parametrize("version", [MAPS, PERMUTATIONS, "wallaby"])
def test_a_map_stands_for_its_keys_from_newton_on(call: Any, version: str) -> None:
    value = repeat("x=y", {"x": {"a": 1, "b": {"c": 2}}, "y": ["1"]})
    assert call(value, version=version) == ["a=1", "b=1"]
    assert call(repeat("x", {"x": {}}), version=version) == []


@pytest.mark.parametrize("version", [FIRST, "2016-04-08"])
def test_a_map_is_refused_before_newton(call: Any, version: str) -> None:
    problem = call.refused(repeat("x", {"x": {"a": 1, "b": 2}}), version)
    assert problem.path == "resources.r.properties.p.repeat.for_each.x"
    assert problem.message == "expected a list, found a map"
    assert "newton" in problem.hint


@pytest.mark.parametrize("version", [PERMUTATIONS, "wallaby"])
@pytest.mark.parametrize(
    ("for_each", "permutations", "result"),
    [
        ({"x": ["a", "b"], "y": ["1", "2"]}, False, ["a1", "b2"]),
        ({"x": ["a", "b"], "y": ["1", "2"]}, True, ["a1", "a2", "b1", "b2"]),
        ({"x": ["a", "b"]}, False, ["ay", "by"]),
        ({"x": [], "y": []}, False, []),
        ({"x": None, "y": ["1", "2"]}, False, []),
        ({"x": {"a": 1, "b": 2}, "y": ["1"]}, True, ["a1", "b1"]),
    ],
)
def test_permutations(call: Any, version: str, for_each: Any, permutations: bool, result: list[str]) -> None:
    assert call(repeat("xy", for_each, permutations=permutations), version=version) == result


@pytest.mark.parametrize("permutations", [False, "text", None])
def test_before_pike_permutations_is_a_key_like_any_other(call: Any, permutations: Any) -> None:
    value = repeat("xy", {"x": ["a", "b"], "y": ["1", "2"]}, permutations=permutations, more=1)
    assert call(value, version="ocata") == ["a1", "a2", "b1", "b2"]


@pytest.mark.parametrize(
    ("for_each", "path", "message"),
    [
        ({"x": ["a", "b"], "y": ["1"]}, "", "lists side by side must have one length, found 2 and 1"),
        ({"x": ["a", "b"], "y": [], "z": None}, "", "lists side by side must have one length, found 2 and 0"),
        ({"x": {"a": 1, "b": 2}, "y": ["1", "2"]}, ".x", "expected a list, found a map"),
    ],
)
def test_lists_side_by_side_match(call: Any, for_each: Any, path: str, message: str) -> None:
    problem = call.refused(repeat("xy", for_each, permutations=False))
    assert problem.path == f"resources.r.properties.p.repeat.for_each{path}"
    assert problem.message == message


@pytest.mark.parametrize(
    ("permutations", "message"),
    [
        ("false", "expected true or false, found text"),
        (0, "expected true or false, found a number"),
        (None, "expected true or false, found null"),
        ({"get_param": "p"}, "expected true or false written out, found a call of get_param"),
    ],
)
def test_permutations_must_be_written_out(call: Any, permutations: Any, message: str) -> None:
    problem = call.refused(repeat("x", {"x": []}, permutations=permutations))
    assert problem.path == "resources.r.properties.p.repeat.permutations"
    assert problem.message == message


def test_permutations_may_come_from_a_condition(call: Any) -> None:
    for_each = {"x": ["a", "b"], "y": ["1", "2"]}
    value = repeat("xy", for_each, permutations={"if": [{"equals": [1, 2]}, True, False]})
    assert call(value) == ["a1", "b2"]
    undecided = {"if": [{"equals": [{"get_param": "p"}, 2]}, True, False]}
    body = {
        "heat_template_version": "wallaby",
        "parameters": {"p": {"type": "number"}},
        "outputs": {"o": {"value": repeat("xy", for_each, permutations=undecided)}},
    }
    template = Template.parse(json.dumps(body), file="t", files={}, limits=Limits())
    assert template.outputs["o"].resolve(StackDefinition(name="s", id="1")) is UNKNOWN


@pytest.mark.parametrize(
    ("arguments", "path", "message"),
    [
        ("text", "", "expected a map with 'template' and 'for_each', found text"),
        ([], "", "expected a map with 'template' and 'for_each', found a list"),
        (None, "", "expected a map with 'template' and 'for_each', found null"),
        ({"get_param": "p"}, "", "expected a map with 'template' and 'for_each', found a call of get_param"),
        ({"for_each": {}}, "", "the key 'template' is missing"),
        ({"template": "x"}, "", "the key 'for_each' is missing"),
        (
            {"template": "x", "for_each": None},
            ".for_each",
            "expected a map of placeholders and lists, found null",
        ),
        (
            {"template": "x", "for_each": ["a"]},
            ".for_each",
            "expected a map of placeholders and lists, found a list",
        ),
        ({"template": "x", "for_each": {}}, ".for_each", "there is nothing to repeat for: the map is empty"),
        ({"template": "x", "for_each": {"": ["a"]}}, ".for_each.", "a placeholder cannot be empty"),
        ({"template": "x", "for_each": {"x": "abc"}}, ".for_each.x", "expected a list, found text"),
        ({"template": "x", "for_each": {"x": ""}}, ".for_each.x", "expected a list, found text"),
        ({"template": "x", "for_each": {"x": 7}}, ".for_each.x", "expected a list, found a number"),
        ({"template": "x", "for_each": {"x": ["a", 7]}}, ".for_each.x[1]", "expected text, found a number"),
        (
            {"template": {"k": 1}, "for_each": {"x": [True]}},
            ".for_each.x[0]",
            "expected text, found a boolean",
        ),
        ({"template": [["y"]], "for_each": {"x": [None]}}, ".for_each.x[0]", "expected text, found null"),
        (
            {"template": "y", "for_each": {"y": ["a"], "x": [{}]}},
            ".for_each.x[0]",
            "expected text, found a map",
        ),
    ],
)
@pytest.mark.parametrize("version", [FIRST, "wallaby"])
def test_repeat_refuses_other_shapes(
    call: Any, version: str, arguments: Any, path: str, message: str
) -> None:
    problem = call.refused({"repeat": arguments}, version)
    assert problem.path == f"resources.r.properties.p.repeat{path}"
    assert problem.message == message
    assert problem.position is not None


def test_repeat_takes_calls_everywhere(call: Any, stack: Stack) -> None:
    value = repeat({"k": {"get_param": "t"}}, {"x": {"get_param": "l"}, "y": ["1"]})
    assert call(value, stack({"t": "x-y", "l": ["a", "b"]})) == [{"k": "a-1"}, {"k": "b-1"}]
    assert call(value, stack({"t": "x", "l": None})) == []
    assert call.fails(value, stack({"t": "x", "l": "ab"})).path.endswith("repeat.for_each.x")
    assert call.fails(value, stack({"t": "x", "l": [1]})).path.endswith("repeat.for_each.x[0]")
    whole = repeat("x", {"get_param": "f"})
    assert call(whole, stack({"f": {"x": ["a"]}})) == ["a"]
    assert call.fails(whole, stack({"f": {}})).path.endswith("repeat.for_each")
    to_be_made = stack(resources={"other": ResourceProxy(name="other")})
    assert call(repeat("x", {"x": [{"get_resource": "other"}]}), to_be_made) is UNKNOWN


def test_the_inner_repeat_comes_first(call: Any) -> None:
    inner = repeat("x-y", {"y": ["1", "2"]})
    assert call(repeat(inner, {"x": ["a", "b"]})) == [["a-1", "a-2"], ["b-1", "b-2"]]
    # So the outer one's placeholders are text to it, in its lists too ...
    assert call(repeat(repeat("y", {"y": ["x1", "x2"]}), {"x": ["a"]})) == [["a1", "a2"]]
    # ... and its own are replaced before theirs can be.
    assert call(repeat(repeat("x", {"x": ["1"]}), {"x": ["a"]})) == [["1"]]


def test_no_two_copies_share_a_part(call: Any) -> None:
    first, second = call(repeat({"l": []}, {"x": ["a", "b"]}))
    first["l"].append(1)
    assert second == {"l": []}


# -- bounds ----------------------------------------------------------------------------------------------------


def refused_under(limits: Limits, value: Any) -> str:
    body = {"heat_template_version": "wallaby", "outputs": {"o": {"value": value}}}
    with pytest.raises(InvalidInput) as caught:
        Template.parse(json.dumps(body), file="t", files={}, limits=limits)
    (problem,) = caught.value.problems
    assert "max_repeat_items" in problem.hint
    return problem.message


@pytest.mark.parametrize(
    ("for_each", "permutations"),
    [
        ({"x": ["a"] * 11}, True),
        ({"x": ["a"] * 11}, False),
        ({"x": ["a"] * 4, "y": ["a"] * 3}, True),
        # So many that the number alone would fill pages.
        ({f"x{number}": ["a"] * 10 for number in range(10_000)}, True),
    ],
)
def test_the_setting_bounds_how_many_copies_there_are(for_each: Any, permutations: bool) -> None:
    limits = Limits(max_repeat_items=10)
    message = refused_under(limits, repeat("x", for_each, permutations=permutations))
    assert message == "there would be more than 10 copies"


def test_as_many_copies_as_the_setting_says_are_fine(call: Any) -> None:
    most = Limits().max_repeat_items
    assert len(call(repeat("x", {"x": ["a"] * most}))) == most
    assert call(repeat("x", {"x": ["a"] * (most + 1), "y": []})) == []


@pytest.mark.parametrize(
    ("template", "for_each", "message"),
    [
        (["x"] * 100, {"x": ["a"] * 5_000}, "items and entries; at most"),
        ({f"k{number}": 1 for number in range(100)}, {"x": ["a"] * 5_000}, "items and entries; at most"),
        ("-" * 1_000, {"x": ["a"] * 5_000}, "characters; at most"),
        ({"-" * 1_000: 1}, {"x": ["a"] * 5_000}, "characters; at most"),
        ("x" * 1_000, {"x": ["a" * 10_000]}, "characters together"),
        ({"x" * 1_000: 1}, {"x": ["a" * 10_000]}, "characters together"),
        (["x"] * 10, {"x": ["a" * 1_000] * 1_000}, "characters together"),
        # Each doubles what is there.
        ("a", {chr(97 + number): [chr(98 + number) * 2] for number in range(25)}, "characters together"),
        (["a"] * 1_000, {f"x{number}": ["b"] for number in range(11_000)}, "too many placeholders"),
        ("-" * 100_000, {f"x{number}": ["b"] for number in range(11_000)}, "too many placeholders"),
    ],
)
def test_repeating_cannot_fill_the_memory_nor_the_day(
    call: Any, template: Any, for_each: Any, message: str
) -> None:
    assert message in call.refused(repeat(template, for_each)).message


def test_repeats_in_repeats_cannot_fill_the_memory(call: Any, stack: Stack) -> None:
    value: Any = "abcdefgh"
    for placeholder in "abcdefgh":
        value = repeat(value, {placeholder: [str(number) for number in range(10)]})
    assert "items and entries; at most" in call.fails(value, stack()).message


# -- properties ------------------------------------------------------------------------------------------------

TEMPLATES = st.recursive(
    st.none() | st.integers(-2, 2) | st.text("xy-", max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("xy", max_size=2), inner, max_size=2),
)


def replaced(template: Any, pairs: list[tuple[str, str]]) -> Any:
    if isinstance(template, str):
        for placeholder, item in pairs:
            template = template.replace(placeholder, item)
        return template
    if isinstance(template, dict):
        return {replaced(key, pairs): replaced(part, pairs) for key, part in template.items()}
    return [replaced(part, pairs) for part in template] if isinstance(template, list) else template


@given(
    TEMPLATES,
    st.dictionaries(
        st.text("xy", min_size=1, max_size=2), st.lists(st.text("xyz", max_size=2), max_size=3), min_size=1
    ),
)
def test_repeat_gives_a_replaced_copy_for_each_combination(
    template: Any, for_each: dict[str, list[str]]
) -> None:
    rows = [list(zip(for_each, row, strict=True)) for row in product(*for_each.values())]
    assert Caller()(repeat(template, for_each)) == [replaced(template, row) for row in rows]
