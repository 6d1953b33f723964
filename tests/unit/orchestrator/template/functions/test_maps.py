"""map_merge and map_replace, with nulls, collisions and errors."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from orchestrator.definition import UNKNOWN, ResourceProxy, StackDefinition
from orchestrator.template.functions.bounds import MOST_PARTS
from tests.unit.orchestrator.template.functions.conftest import Caller

Stack = Callable[..., StackDefinition]

NAMES = st.text("abcd", min_size=1, max_size=2)


@pytest.mark.parametrize("version", ["2016-04-08", "wallaby"])
@pytest.mark.parametrize(
    ("maps", "result"),
    [
        ([], {}),
        ([None], {}),
        ([{}], {}),
        ([{"a": 1}, {"b": 2}], {"a": 1, "b": 2}),
        ([{"a": 1, "b": 1}, None, {"b": 2}], {"a": 1, "b": 2}),
        ([{"a": {"x": 1}}, {"a": {"y": 2}}], {"a": {"y": 2}}),
        ([{"a": 1}, {"a": None}], {"a": None}),
    ],
)
def test_map_merge(call: Any, version: str, maps: list[Any], result: dict[str, Any]) -> None:
    assert call({"map_merge": maps}, version=version) == result


@pytest.mark.parametrize(
    ("arguments", "path", "message"),
    [
        ("text", "", "expected a list of maps, found text"),
        (None, "", "expected a list of maps, found null"),
        ({"a": 1, "b": 2}, "", "expected a list of maps, found a map"),
        ([{"a": 1}, "text"], "[1]", "expected a map, found text"),
        ([["a"]], "[0]", "expected a map, found a list"),
        ([7], "[0]", "expected a map, found a number"),
    ],
)
def test_map_merge_refuses_other_shapes(call: Any, arguments: Any, path: str, message: str) -> None:
    problem = call.refused({"map_merge": arguments})
    assert problem.path == f"resources.r.properties.p.map_merge{path}"
    assert problem.message == message
    assert problem.position is not None


def test_map_merge_takes_calls_everywhere(call: Any, stack: Stack) -> None:
    assert call({"map_merge": [{"a": 1}, {"get_param": "m"}]}, stack({"m": {"b": 2}})) == {"a": 1, "b": 2}
    assert call({"map_merge": {"get_param": "l"}}, stack({"l": [{"a": 1}, None]})) == {"a": 1}
    assert call.fails({"map_merge": [{"get_param": "m"}]}, stack({"m": ""})).path.endswith("map_merge[0]")
    assert "found a map" in call.fails({"map_merge": {"get_param": "l"}}, stack({"l": {}})).message
    to_be_made = stack(resources={"other": ResourceProxy(name="other")})
    assert call({"map_merge": [{"a": {"get_resource": "other"}}]}, to_be_made) is UNKNOWN


def test_map_merge_cannot_fill_the_memory(call: Any, stack: Stack) -> None:
    maps = [{f"{letter}{number}": 0 for number in range(MOST_PARTS // 2 + 1)} for letter in "ab"]
    problem = call.fails({"map_merge": {"get_param": "l"}}, stack({"l": maps}))
    assert (
        problem.message == f"the result would have {MOST_PARTS + 2} entries; at most {MOST_PARTS} are allowed"
    )
    assert (
        len(call({"map_merge": {"get_param": "l"}}, stack({"l": [maps[0], maps[0]]}))) == MOST_PARTS // 2 + 1
    )


# -- map_replace -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["newton", "wallaby"])
@pytest.mark.parametrize(
    ("entries", "tables", "result"),
    [
        ({"a": "x", "b": "y"}, {"keys": {"a": "A"}}, {"A": "x", "b": "y"}),
        ({"a": "x", "b": "y"}, {"values": {"y": "Y"}}, {"a": "x", "b": "Y"}),
        ({"a": "x"}, {"keys": {"a": "A"}, "values": {"x": {"any": [1]}}}, {"A": {"any": [1]}}),
        ({"a": "x"}, {"keys": {"no": "A"}, "values": {"no": "Y"}}, {"a": "x"}),
        ({"a": "x"}, {}, {"a": "x"}),
        ({"a": "x"}, None, {"a": "x"}),
        (None, {"keys": {"a": "b"}}, {}),
        (None, None, {}),
        ({"a": "x"}, {"keys": None, "values": None}, {"a": "x"}),
        # A new key of null keeps the old one; a new value of null is null.
        ({"a": "x"}, {"keys": {"a": None}, "values": {"x": None}}, {"a": None}),
        ({"a": "x", "b": "y"}, {"keys": {"a": 80, "b": True}}, {"80": "x", "true": "y"}),
        ({"a": "x", "b": "y"}, {"keys": {"a": 1.5, "b": False}}, {"1.5": "x", "false": "y"}),
        ({"a": "x"}, {"keys": {"a": "a"}}, {"a": "x"}),
        # Only text is replaced, and keys are no values.
        (
            {"a": 1, "b": True, "c": None},
            {"values": {"1": "x", "True": "y", "": "z"}},
            {"a": 1, "b": True, "c": None},
        ),
        ({"a": ["x"], "b": {"x": "x"}}, {"values": {"x": "y"}}, {"a": ["x"], "b": {"x": "x"}}),
        ({"x": "a"}, {"values": {"x": "y"}}, {"x": "a"}),
        # What was put in is not looked up again.
        ({"a": "x"}, {"values": {"x": "y", "y": "z"}}, {"a": "y"}),
        ({"a": "x"}, {"keys": {"a": "b", "b": "c"}}, {"b": "x"}),
    ],
)
def test_map_replace(call: Any, version: str, entries: Any, tables: Any, result: dict[str, Any]) -> None:
    assert call({"map_replace": [entries, tables]}, version=version) == result


@pytest.mark.parametrize(
    ("entries", "keys", "path", "message"),
    [
        ({"a": 1, "b": 2}, {"a": "b"}, "a", "the new key is a key of the map already"),
        ({"a": 1, "b": 2}, {"b": "a"}, "b", "the new key is a key of the map already"),
        # Not even a swap: the one of them is there while the other is put in.
        ({"a": 1, "b": 2}, {"a": "b", "b": "a"}, "a", "the new key is a key of the map already"),
        ({"a": 1, "b": 2}, {"a": "c", "b": "c"}, "b", "the new key was given to another entry already"),
    ],
)
def test_new_keys_cannot_collide(call: Any, entries: Any, keys: Any, path: str, message: str) -> None:
    problem = call.refused({"map_replace": [entries, {"keys": keys}]})
    assert problem.path == f"resources.r.properties.p.map_replace[1].keys.{path}"
    assert problem.message == message


@pytest.mark.parametrize(
    ("arguments", "path", "message"),
    [
        ("text", "", "expected a list of a map and the tables, found text"),
        (None, "", "expected a list of a map and the tables, found null"),
        ({"a": 1, "b": 2}, "", "expected a list of a map and the tables, found a map"),
        ([{}], "", "expected a map and the tables, found 1 items"),
        ([{}, {}, {}], "", "expected a map and the tables, found 3 items"),
        (["text", {}], "[0]", "expected a map, found text"),
        ([{}, ["keys"]], "[1]", "expected a map, found a list"),
        ([{}, {"keys": ["a"]}], "[1].keys", "expected a map, found a list"),
        ([{}, {"values": "text"}], "[1].values", "expected a map, found text"),
        ([{}, {"key": {}}], "[1].key", "this is none of the two tables"),
        ([{}, {"keys": {"a": {}}}], "[1].keys.a", "expected a key as text, found a map"),
        ([{}, {"keys": {"a": ["b"]}}], "[1].keys.a", "expected a key as text, found a list"),
    ],
)
def test_map_replace_refuses_other_shapes(call: Any, arguments: Any, path: str, message: str) -> None:
    problem = call.refused({"map_replace": arguments})
    assert problem.path == f"resources.r.properties.p.map_replace{path}"
    assert problem.message == message


def test_a_misspelt_table_is_told_the_right_names(call: Any) -> None:
    assert call.refused({"map_replace": [{}, {"vals": {}}]}).hint == "expected 'keys' and 'values'"


def test_map_replace_takes_calls_everywhere(call: Any, stack: Stack) -> None:
    value = {
        "map_replace": [{"get_param": "m"}, {"keys": {"a": {"get_param": "k"}}, "values": {"get_param": "v"}}]
    }
    assert call(value, stack({"m": {"a": "x"}, "k": "b", "v": {"x": "y"}})) == {"b": "y"}
    assert call(value, stack({"m": None, "k": None, "v": None})) == {}
    assert call.fails(value, stack({"m": "text", "k": "b", "v": {}})).path.endswith("map_replace[0]")
    assert call.fails(value, stack({"m": {}, "k": [7], "v": {}})).path.endswith("map_replace[1].keys.a")
    assert call.fails(value, stack({"m": {}, "k": "b", "v": []})).path.endswith("map_replace[1].values")
    whole = {"map_replace": {"get_param": "all"}}
    assert call(whole, stack({"all": [{"a": 1}, None]})) == {"a": 1}
    assert "found 1 items" in call.fails(whole, stack({"all": [{"a": 1}]})).message


def test_a_mistake_in_a_parameter_shows_no_key_of_it(call: Any, stack: Stack) -> None:
    value = {"map_replace": [{"get_param": "m"}, {"get_param": "t"}]}
    mistakes: list[dict[str, Any]] = [{"secret": {}}, {"keys": {"secret": [7]}}, {"keys": {"a": "secret"}}]
    for tables in mistakes:
        problem = call.fails(value, stack({"m": {"a": 1, "secret": 2}, "t": tables}))
        assert "secret" not in str(problem)
        assert problem.path == "resources.r.properties.p.map_replace[1]"


def test_a_collision_shows_no_value(call: Any, stack: Stack) -> None:
    value = {"map_replace": [{"a": 1, "secret": 2}, {"keys": {"a": {"get_param": "k"}}}]}
    assert "secret" not in str(call.fails(value, stack({"k": "secret"})))


def test_map_replace_cannot_fill_the_memory(call: Any) -> None:
    entries = {str(number): "x" for number in range(1000)}
    assert (
        "items and entries" in call.refused({"map_replace": [entries, {"values": {"x": [0] * 1000}}]}).message
    )
    assert "characters" in call.refused({"map_replace": [entries, {"values": {"x": "y" * 10_000}}]}).message


@given(st.dictionaries(NAMES, st.text("xyz", max_size=2)), st.dictionaries(NAMES, NAMES))
def test_replacing_keys_back_gives_the_map_back(entries: dict[str, str], keys: dict[str, str]) -> None:
    back = {new: old for old, new in keys.items()}
    # Only where no key is lost on the way is there a way back.
    assume(len(back) == len(keys))
    assume(not set(back) & set(keys) and not set(back) & set(entries))
    there = Caller()({"map_replace": [entries, {"keys": keys}]})
    assert Caller()({"map_replace": [there, {"keys": back}]}) == entries


@given(
    st.dictionaries(NAMES, NAMES | st.integers(-2, 2) | st.lists(NAMES, max_size=2)),
    st.dictionaries(NAMES, st.none() | NAMES),
)
def test_replacing_values_looks_each_up_once(entries: dict[str, Any], values: dict[str, Any]) -> None:
    found = Caller()({"map_replace": [entries, {"values": values}]})
    assert found == {
        key: values.get(value, value) if isinstance(value, str) else value for key, value in entries.items()
    }
