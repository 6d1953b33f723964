"""Several values for one parameter, and what they come to."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import Problem
from orchestrator.template.environment import Environment
from orchestrator.template.parameter_types import ParameterType, convert
from tests.unit.orchestrator.template.environments import parsed

KINDS = {
    "s": ParameterType.STRING,
    "n": ParameterType.NUMBER,
    "b": ParameterType.BOOLEAN,
    "l": ParameterType.LIST,
    "j": ParameterType.JSON,
}


def read(*files: dict[str, Any]) -> Environment:
    """Return files, which are called 1, 2 and so on, as one environment."""
    environments = (parsed(json.dumps(content), str(number)) for number, content in enumerate(files, 1))
    return Environment().merge(*environments)


def merged(*files: dict[str, Any], section: str = "parameters") -> dict[str, Any]:
    environment, problems = read(*files).merged(KINDS)
    assert problems == []
    values = getattr(environment, section)
    return {
        name: given.value if given.value is None or name not in KINDS else convert(KINDS[name], given.value)
        for name, given in values.items()
    }


def refused(*files: dict[str, Any]) -> list[Problem]:
    _, problems = read(*files).merged(KINDS)
    assert problems
    return problems


@pytest.mark.parametrize("section", ["parameters", "parameter_defaults"])
@pytest.mark.parametrize(
    ("name", "strategy", "values", "expected"),
    [
        ("s", "overwrite", ["a", "b"], "b"),
        ("s", "merge", ["a", "b", "c"], "abc"),
        ("s", "deep_merge", ["a", "b"], "ab"),
        ("s", "merge", ["a", None, "c"], "ac"),
        ("s", "merge", [None, "b", "c"], "bc"),
        ("s", "overwrite", ["a", None], "a"),
        ("s", "merge", [None, None], None),
        ("s", "merge", [1, "a"], "1a"),
        ("l", "merge", [["a"], ["b", "c"]], ["a", "b", "c"]),
        ("l", "merge", ["a,b", "c"], ["a", "b", "c"]),
        ("l", "merge", ["a,b", ["c"]], ["a", "b", "c"]),
        ("l", "merge", [["a"], "b,c", ["d"]], ["a", "b", "c", "d"]),
        ("l", "deep_merge", [[], "", ["a"]], ["a"]),
        ("l", "overwrite", [["a"], ["b"]], ["b"]),
        ("j", "overwrite", [{"a": 1}, {"b": 2}], {"b": 2}),
        ("j", "merge", [{"a": 1, "b": {"x": 1}}, {"b": {"y": 2}}], {"a": 1, "b": {"y": 2}}),
        ("j", "deep_merge", [{"a": 1, "b": {"x": 1}}, {"b": {"y": 2}}], {"a": 1, "b": {"x": 1, "y": 2}}),
        (
            "j",
            "deep_merge",
            [{"a": {"s": "x", "l": [1]}}, {"a": {"s": "y", "l": [2]}}],
            {"a": {"s": "xy", "l": [1, 2]}},
        ),
        ("j", "merge", [{"s": "x", "l": [1]}, {"s": "y", "l": [2]}], {"s": "y", "l": [2]}),
        ("j", "deep_merge", [{"a": 1, "b": True}, {"a": 2, "b": False}], {"a": 2, "b": False}),
        ("j", "deep_merge", [{"a": "x", "b": [1]}, {"a": {"y": 1}, "b": "z"}], {"a": {"y": 1}, "b": "z"}),
        ("j", "merge", [{"a": 1}, {"a": None, "b": None}], {"a": 1}),
        ("j", "deep_merge", [{"a": {"x": 1}}, {"a": {"x": None}}], {"a": {"x": 1}}),
        ("j", "merge", ['{"a": 1}', {"b": 2}], {"a": 1, "b": 2}),
        ("j", "merge", [[1], "[2]"], [1, 2]),
        ("j", "merge", [{}, {"b": 2}], {"b": 2}),
        ("j", "merge", [{"a": 1}, ""], {"a": 1}),
        ("n", "overwrite", [1, 2], 2),
        ("b", "overwrite", [True, False], False),
        ("n", "merge", [1], 1),
        ("n", "merge", [1, None], 1),
    ],
)
def test_values_are_merged_by_type_and_strategy(
    section: str, name: str, strategy: str, values: list[Any], expected: Any
) -> None:
    strategies = {"parameter_merge_strategies": {name: strategy}}
    files = [{section: {name: value}} | strategies for value in values]
    assert merged(*files, section=section) == {name: expected}


def test_of_a_parameter_that_nobody_declares_the_last_value_counts() -> None:
    first = {"parameters": {"undeclared": "a"}, "parameter_merge_strategies": {"default": "merge"}}
    assert merged(first, {"parameters": {"undeclared": "b"}}) == {"undeclared": "b"}
    defaults = [{"parameter_defaults": {"undeclared": each, "s": each}} for each in "ab"]
    assert read(*defaults).parameter_defaults["undeclared"].value == "b"
    assert merged(*defaults, section="parameter_defaults") == {"s": "b"}


def says(value: str | None, **strategies: str) -> dict[str, Any]:
    return {"parameters": {"s": value}, "parameter_merge_strategies": strategies}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([says("a"), says("b")], "b"),
        ([says("a", default="merge"), says("b")], "ab"),
        ([says("a", default="merge"), says("b", default="overwrite")], "ab"),
        ([says("a", default="merge"), says("b", s="merge")], "ab"),
        ([says("a", default="merge", s="overwrite"), says("b", default="merge")], "b"),
        ([says("a"), says("b", default="merge")], "b"),
        ([says(None, s="overwrite"), says("a", s="merge"), says("b")], "ab"),
        ([says("a", other="merge"), says("b", other="merge")], "b"),
        ([{"parameters": {"n": 1}}, says("a", s="merge"), says("b")], "ab"),
    ],
)
def test_the_first_file_that_sets_a_parameter_says_how_it_is_merged(
    files: list[dict[str, Any]], expected: str
) -> None:
    assert merged(*files)["s"] == expected


def test_both_sections_are_merged_by_the_same_strategy() -> None:
    first = {"parameter_defaults": {"s": "a"}, "parameter_merge_strategies": {"s": "merge"}}
    files = [first, {"parameters": {"s": "b"}}, {"parameters": {"s": "c"}}]
    assert merged(*files) == {"s": "bc"}
    assert merged(*files, section="parameter_defaults") == {"s": "a"}


def test_another_strategy_than_the_first_is_refused() -> None:
    files = [
        says("a", default="merge"),
        says("b", s="overwrite"),
        says("c", s="merge"),
        says("d", s="deep_merge"),
    ]
    found = refused(*files)
    assert [str(each).partition(" (")[0] for each in found] == [
        f"{file}:1:59: parameter_merge_strategies.s: the parameter 's' has the strategy 'merge' since '1', "
        "which sets it first"
        for file in ("2", "4")
    ]
    assert found[0].hint == "set 'overwrite' in '1' as well, or remove this"


def test_a_strategy_for_what_nobody_declares_is_no_conflict() -> None:
    values = {"parameters": {"undeclared": 1}}
    strategies = ["merge", "overwrite"]
    files = [{**values, "parameter_merge_strategies": {"undeclared": each}} for each in strategies]
    assert merged(*files) == {"undeclared": 1}


@pytest.mark.parametrize(
    ("name", "values", "file", "message"),
    [
        ("n", [4711, 4712], "2", "a number cannot be merged"),
        ("b", [True, False], "2", "a boolean cannot be merged"),
        (
            "j",
            [{"a": 4711}, [4712]],
            "2",
            "expected two maps or two lists, found a list to be merged with a map",
        ),
        ("j", ["47{11", {"a": 1}], "1", "not valid JSON"),
        ("j", [4711, {"a": 1}], "2", "found a map to be merged with a number"),
        ("j", [{"a": 4711}, 0], "2", "found a number to be merged with a map"),
        ("j", [False, [4711]], "2", "found a list to be merged with a boolean"),
        ("s", [["4711"], "x"], "1", "expected text, found a list"),
    ],
)
def test_what_cannot_be_merged_is_refused_without_a_word_of_it(
    name: str, values: list[Any], file: str, message: str
) -> None:
    files = [
        {"parameters": {name: value}, "parameter_merge_strategies": {"default": "merge"}} for value in values
    ]
    (problem,) = refused(*files)
    assert message in problem.message
    assert name in problem.hint
    assert problem.path == f"parameters.{name}"
    assert problem.position
    assert problem.position.file == file
    assert "47" not in str(problem)


def test_a_wrong_value_in_the_last_file_is_left_to_whoever_reads_it() -> None:
    files = [says("a", default="merge"), {"parameters": {"s": ["x"]}}]
    environment, problems = read(*files).merged(KINDS)
    assert problems == []
    assert environment.parameters["s"].value == ["x"]


def test_values_that_came_with_the_order_replace_what_files_say() -> None:
    environment = read(says("a", s="merge"), says("b")).merge(Environment.of_parameters({"s": "c"}))
    settled, problems = environment.merged(KINDS)
    assert (settled.parameters["s"].value, problems) == ("c", [])
    nothing = read(says("a", s="merge"), says("b")).merge(Environment.of_parameters({"s": None}))
    assert nothing.merged(KINDS)[0].parameters["s"].value == "ab"


def test_a_merged_value_stands_where_the_last_part_of_it_does_and_files_are_left_as_they_are() -> None:
    environment = read(
        {"parameters": {"j": {"a": [1]}}} | {"parameter_merge_strategies": {"j": "deep_merge"}},
        {"parameters": {"j": {"a": [2]}}},
    )
    settled, _ = environment.merged(KINDS)
    assert str(settled.parameters["j"].position) == "2:1:17"
    assert [layer.parameters["j"].value for layer in environment.layers] == [{"a": [1]}, {"a": [2]}]


VALUES = st.none() | st.text(max_size=3) | st.integers(0, 9)
FILES = st.lists(st.dictionaries(st.sampled_from("snx"), VALUES, max_size=3), max_size=4)


@given(FILES)
def test_without_strategies_the_last_value_counts(values: list[dict[str, Any]]) -> None:
    environment = read(*({"parameters": each} for each in values))
    settled, problems = environment.merged(KINDS)
    expected: dict[str, Any] = {}
    for each in values:
        expected = {**each, **expected, **{name: value for name, value in each.items() if value is not None}}
    found = {name: value.value for name, value in settled.parameters.items()}
    assert (found, problems) == (expected, [])
    assert found == {name: value.value for name, value in environment.parameters.items()}


JSON = st.recursive(
    st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
MAPS = st.dictionaries(st.sampled_from("abc"), JSON, max_size=3)


@given(st.lists(MAPS, min_size=1, max_size=4))
def test_merged_maps_have_every_key_and_of_each_the_last_value(maps: list[dict[str, Any]]) -> None:
    strategies = {"parameter_merge_strategies": {"j": "merge"}}
    expected: dict[str, Any] = {}
    for each in maps:
        expected |= each
    assert merged(*({"parameters": {"j": each}} | strategies for each in maps)) == {"j": expected}


@given(st.lists(st.lists(st.text("ab", max_size=2), max_size=3), min_size=1, max_size=4))
def test_merged_lists_have_every_item_in_order(lists: list[list[str]]) -> None:
    strategies = {"parameter_merge_strategies": {"l": "merge"}}
    together = [item for each in lists for item in each]
    assert merged(*({"parameters": {"l": each}} | strategies for each in lists)) == {"l": together}


@given(MAPS, MAPS, MAPS)
def test_deep_merging_is_the_same_file_by_file_or_the_last_two_first(
    first: dict[str, Any], second: dict[str, Any], third: dict[str, Any]
) -> None:
    def deep(*maps: dict[str, Any]) -> dict[str, Any]:
        strategies = {"parameter_merge_strategies": {"j": "deep_merge"}}
        return dict(merged(*({"parameters": {"j": each}} | strategies for each in maps))["j"])

    same_kinds = deep(first, second, third) == deep(first, deep(second, third))
    assert same_kinds or _kinds_differ(first, second) or _kinds_differ(second, third)


def _kinds_differ(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return any(_kinds_differ(one[key], other[key]) for key in one.keys() & other.keys())
    return type(one) is not type(other)
