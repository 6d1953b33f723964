"""str_replace, its strict kin and list_join, per version, with nulls and errors."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.definition import UNKNOWN, ResourceProxy, StackDefinition
from orchestrator.template.functions.text import _substitute

Stack = Callable[..., StackDefinition]

OLD, NEW = "2015-04-30", "2015-10-15"


def replace(template: Any, params: Any) -> dict[str, Any]:
    return {"str_replace": {"template": template, "params": params}}


def join(*arguments: Any) -> dict[str, Any]:
    return {"list_join": list(arguments)}


@pytest.mark.parametrize("version", [OLD, NEW, "wallaby"])
@pytest.mark.parametrize(
    ("template", "params", "result"),
    [
        ("hello NAME", {"NAME": "world"}, "hello world"),
        ("", {"a": "b"}, ""),
        ("a", {}, "a"),
        ("aa", {"aa": "b", "b": "c"}, "b"),
        ("abab", {"a": "b", "b": "a"}, "baba"),
        ("abcd", {"ab": "1", "bcd": "2"}, "a2"),
        ("$ab $a", {"$a": "1", "$ab": "2"}, "2 1"),
        ("x-y-x", {"x": None, "y": True}, "-True-"),
        ("i f", {"i": 7, "f": 1.5}, "7 1.5"),
        ("a.c abc", {"a.c": "x"}, "x abc"),
    ],
)
def test_str_replace(call: Any, version: str, template: str, params: dict[str, Any], result: str) -> None:
    assert call(replace(template, params), version=version) == result


def test_str_replace_writes_maps_and_lists_as_json_from_2015_10_15_on(call: Any) -> None:
    value = replace("is X", {"X": {"b": 1, "a": [True, None]}})
    assert call(value, version=NEW) == 'is {"a": [true, null], "b": 1}'
    problem = call.refused(value, OLD)
    assert problem.path == "resources.r.properties.p.str_replace.params.X"
    assert problem.message == "expected text or a number, found a map"
    assert NEW in problem.hint


@pytest.mark.parametrize(
    ("arguments", "path", "message"),
    [
        ("text", "", "expected a map"),
        ([], "", "expected a map"),
        (None, "", "found null"),
        ({"params": {}}, "", "'template' is missing"),
        ({"template": "x"}, "", "'params' is missing"),
        ({"template": "x", "params": None}, ".params", "found null"),
        ({"template": "x", "params": ["a"]}, ".params", "found a list"),
        ({"template": None, "params": {}}, ".template", "found null"),
        ({"template": 7, "params": {}}, ".template", "found a number"),
        ({"template": "x", "params": {"": "y"}}, ".params.", "cannot be empty"),
    ],
)
def test_str_replace_refuses_other_shapes(call: Any, arguments: Any, path: str, message: str) -> None:
    problem = call.refused({"str_replace": arguments})
    assert problem.path == f"resources.r.properties.p.str_replace{path}"
    assert message in problem.message
    assert problem.position is not None


def test_str_replace_ignores_other_keys(call: Any) -> None:
    assert call({"str_replace": {"template": "a", "params": {"a": "b"}, "more": 1}}) == "b"


def test_str_replace_takes_calls_everywhere(call: Any, stack: Stack) -> None:
    value = replace({"get_param": "t"}, {"get_param": "ps"})
    assert call(value, stack({"t": "a b", "ps": {"a": "1", "b": 2}})) == "1 2"
    assert "a list" in call.fails(value, stack({"t": "a", "ps": []})).message


def test_an_error_shows_no_key_of_a_parameter(call: Any, stack: Stack) -> None:
    problem = call.fails(replace("x", {"get_param": "ps"}), stack({"ps": {"": "x", "secret": 1}}))
    assert problem.path == "resources.r.properties.p.str_replace.params"
    problem = call.fails(join(",", {"get_param": "l"}), stack({"l": ["x", 7]}))
    assert problem.path == "resources.r.properties.p.list_join[1][1]"


def test_an_error_shows_no_value(call: Any, stack: Stack) -> None:
    problem = call.fails(replace({"get_param": "t"}, {}), stack({"t": ["secret"]}))
    assert "secret" not in str(problem)
    assert problem.path == "resources.r.properties.p.str_replace.template"
    assert problem.position is not None


def test_unknown_arguments_make_the_result_unknown(call: Any, stack: Stack) -> None:
    to_be_made = stack(resources={"other": ResourceProxy(name="other")})
    reference = {"get_resource": "other"}
    assert call(replace("a", {"a": reference}), to_be_made) is UNKNOWN
    assert call(join(",", ["a", [reference]]), to_be_made) is UNKNOWN
    assert call(join(",", [replace("a", {"a": reference})]), to_be_made) is UNKNOWN


def test_replacing_does_not_go_through_all_pieces_for_each_placeholder(call: Any) -> None:
    pairs = {chr(a) + chr(b): "x" for a in range(0x100, 0x130) for b in range(0x100, 0x130)}
    text = "aa" * 50_000 + " ".join(pairs)
    assert call(replace(text, {"aa": "b", **pairs})) == "b" * 50_000 + " ".join("x" * len(pairs))


def test_replacing_cannot_fill_the_memory(call: Any) -> None:
    assert "at most" in call.refused(replace("a" * 10_000, {"a": "b" * 10_000})).message
    assert "too many" in call.refused(replace("a" * 500_000, {f"p{i}": "" for i in range(3_000)})).message
    assert "at most" in call.refused(join("b" * 10_000, ["a"] * 10_000)).message


def strict(name: str, template: Any, params: Any) -> dict[str, Any]:
    return {name: {"template": template, "params": params}}


@pytest.mark.parametrize("name", ["str_replace_strict", "str_replace_vstrict"])
@pytest.mark.parametrize(
    ("template", "params", "result"),
    [
        ("hello NAME", {"NAME": "world"}, "hello world"),
        ("a", {}, "a"),
        ("aa", {"aa": "b"}, "b"),
        ("x y", {"x": 0, "y": False}, "0 False"),
        ("x", {"x": {"b": [1], "a": None}}, '{"a": null, "b": [1]}'),
    ],
)
def test_strict_replacing_is_replacing(
    call: Any, name: str, template: str, params: dict[str, Any], result: str
) -> None:
    assert call(strict(name, template, params)) == result


@pytest.mark.parametrize("name", ["str_replace_strict", "str_replace_vstrict"])
@pytest.mark.parametrize(
    ("template", "params", "missing"),
    [
        ("a", {"a": "1", "b": "2"}, "'b'"),
        ("", {"b": "x", "aa": "x", "a": "x"}, "'aa', 'a', 'b'"),
        # The longer one takes every place, and what was put in is not searched.
        ("aa", {"aa": "a", "a": "x"}, "'a'"),
        ("z", {f"p{number}": "x" for number in range(12)}, "'p3', 'p4', 'p5', 'p6', 'p7' and 2 more"),
    ],
)
def test_strict_replacing_needs_every_placeholder(
    call: Any, name: str, template: str, params: dict[str, Any], missing: str
) -> None:
    problem = call.refused(strict(name, template, params))
    assert problem.path == f"resources.r.properties.p.{name}.params"
    assert problem.message.startswith("the text lacks placeholders: ")
    assert problem.message.endswith(missing)
    assert call({"str_replace": {"template": template, "params": params}}) is not None


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, "null"),
        ("", "text that is empty"),
        ([], "a list that is empty"),
        ({}, "a map that is empty"),
    ],
)
def test_very_strict_replacing_needs_values(call: Any, value: Any, found: str) -> None:
    problem = call.refused(strict("str_replace_vstrict", "x", {"x": value}))
    assert problem.path == "resources.r.properties.p.str_replace_vstrict.params.x"
    assert problem.message == f"expected a value, found {found}"
    assert call(strict("str_replace_strict", "x", {"x": value})) is not None


@pytest.mark.parametrize("name", ["str_replace_strict", "str_replace_vstrict"])
def test_strict_replacing_refuses_what_replacing_refuses(call: Any, stack: Stack, name: str) -> None:
    assert "found a list" in call.refused({name: []}).message
    assert "'params' is missing" in call.refused({name: {"template": ""}}).message
    value = strict(name, {"get_param": "t"}, {"a": {"get_param": "v"}})
    assert call(value, stack({"t": "a", "v": "1"})) == "1"
    assert call.fails(value, stack({"t": "b", "v": "1"})).path.endswith(f"{name}.params")
    problem = call.fails(strict(name, "x", {"get_param": "ps"}), stack({"ps": {"secret": 1, "x": 2}}))
    assert problem.message == "the text lacks 1 of the placeholders"
    assert "secret" not in str(problem)


@given(
    st.text("abc", max_size=12),
    st.dictionaries(st.text("abc", min_size=1, max_size=3), st.text("abcX", max_size=3)),
)
def test_replacing_in_one_go_is_replacing_longest_first_behind_a_veil(
    text: str, params: dict[str, str]
) -> None:
    veiled = text
    ordered = sorted(params, key=lambda key: (-len(key), key))
    for index, key in enumerate(ordered):
        veiled = veiled.replace(key, chr(0xE000 + index))
    for index, key in enumerate(ordered):
        veiled = veiled.replace(chr(0xE000 + index), params[key])
    pieces, unused = _substitute(text, params)
    assert "".join(pieces) == veiled
    assert set(unused) <= set(params)


@pytest.mark.parametrize("version", [OLD, NEW, "wallaby"])
@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        ([",", ["a", "b"]], "a,b"),
        (["", []], ""),
        ([", ", None], ""),
        (["-", ["a", None, "", "b"]], "a---b"),
    ],
)
def test_list_join(call: Any, version: str, arguments: list[Any], result: str) -> None:
    assert call(join(*arguments), version=version) == result


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        ([",", ["a"], ["b", "c"], None], "a,b,c"),
        ([",", ["a"], "", {}], "a"),
        ([" ", [{"b": 1, "a": None}, [1, "x"]]], '{"a": null, "b": 1} [1, "x"]'),
    ],
)
def test_list_join_takes_more_from_2015_10_15_on(call: Any, arguments: list[Any], result: str) -> None:
    assert call(join(*arguments), version=NEW) == result
    assert call.refused(join(*arguments), OLD).path.startswith("resources.r.properties.p.list_join")


@pytest.mark.parametrize(
    ("arguments", "path", "message"),
    [
        ("a", "", "found text"),
        ({"a": 1, "b": 2}, "", "found a map"),
        ([], "", "found 0 items"),
        ([","], "", "found 1 items"),
        ([None, []], "[0]", "found null"),
        ([7, []], "[0]", "found a number"),
        ([",", "text"], "[1]", "found text"),
        ([",", {"a": 1, "b": 2}], "[1]", "found a map"),
        ([",", ["a", 7]], "[1][1]", "found a number"),
        ([",", [True]], "[1][0]", "found a boolean"),
    ],
)
@pytest.mark.parametrize("version", [OLD, NEW])
def test_list_join_refuses_other_shapes(
    call: Any, version: str, arguments: Any, path: str, message: str
) -> None:
    problem = call.refused({"list_join": arguments}, version)
    assert problem.path == f"resources.r.properties.p.list_join{path}"
    assert message in problem.message


def test_list_join_of_a_path_that_leads_nowhere_is_empty(call: Any, stack: Stack) -> None:
    value = join(",", {"get_param": ["p", "no"]}, ["a"])
    assert call(value, stack({"p": {}}), version=NEW) == "a"


@given(
    st.text(max_size=3),
    st.lists(st.lists(st.none() | st.text(max_size=5), max_size=4), min_size=1, max_size=3),
)
def test_list_join_is_join_of_all_lists(delimiter: str, lists: list[list[str | None]]) -> None:
    from tests.unit.orchestrator.template.functions.conftest import Caller

    found = Caller()(json.loads(json.dumps(join(delimiter, *lists))))
    assert found == delimiter.join(item or "" for items in lists for item in items)
