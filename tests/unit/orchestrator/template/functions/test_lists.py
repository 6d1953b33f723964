"""str_split, list_concat, list_concat_unique, contains and filter, with nulls and errors."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.limits import Limits
from orchestrator.definition import UNKNOWN, ResourceProxy, StackDefinition
from orchestrator.template.functions.bounds import MOST_PARTS
from orchestrator.template.functions.lists import _key_of
from orchestrator.template.template import Draft, Template
from tests.unit.orchestrator.template.functions.conftest import Caller

Stack = Callable[..., StackDefinition]

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 1.0, 1.5, -2.0])
    | st.text("a1", max_size=2)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=1), inner, max_size=2),
)


def split(*arguments: Any) -> dict[str, Any]:
    return {"str_split": list(arguments)}


@pytest.mark.parametrize("version", ["2015-10-15", "wallaby"])
@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        ([",", "a,b"], ["a", "b"]),
        ([",", ""], [""]),
        ([",", ",a,"], ["", "a", ""]),
        ([", ", "a, b,c"], ["a", "b,c"]),
        ([",", "a,b,c", 0], "a"),
        ([",", "a,b,c", "1"], "b"),
        ([",", "a,b,c", " 2 "], "c"),
        ([",", "a,b,c", -1], "c"),
        ([",", "a,b,c", "-3"], "a"),
        ([",", "a,b,c", 1.0], "b"),
        ([",", None], None),
        ([",", None, 7], None),
        ([None, None], None),
        # A null splits at white space.
        ([None, " a\tb\n\u00a0c "], ["a", "b", "c"]),
        ([None, "a"], ["a"]),
        ([None, ""], []),
        ([None, " \n"], []),
        ([None, " a  b ", 1], "b"),
        ([None, " a  b ", "-2"], "a"),
    ],
)
def test_str_split(call: Any, version: str, arguments: list[Any], result: Any) -> None:
    assert call(split(*arguments), version=version) == result


@pytest.mark.parametrize(
    ("arguments", "path", "message"),
    [
        ("a,b", "", "expected a list of a delimiter and a text, found text"),
        ({"a": "b"}, "", "expected a list of a delimiter and a text, found a map"),
        (None, "", "expected a list of a delimiter and a text, found null"),
        ([], "", "expected a delimiter, a text and perhaps an index, found 0 items"),
        ([","], "", "expected a delimiter, a text and perhaps an index, found 1 items"),
        ([",", "a", 0, 0], "", "expected a delimiter, a text and perhaps an index, found 4 items"),
        (["", "a"], "[0]", "the delimiter cannot be empty"),
        ([False, "a"], "[0]", "expected the delimiter as text, found a boolean"),
        ([None, 7], "[1]", "expected text, found a number"),
        ([None, " a b ", 2], "[2]", "the index is out of range: the text has 2 parts"),
        ([None, " ", 0], "[2]", "the index is out of range: the text has 0 parts"),
        ([7, "a"], "[0]", "expected the delimiter as text, found a number"),
        ([",", 7], "[1]", "expected text, found a number"),
        ([",", ["a"]], "[1]", "expected text, found a list"),
        ([",", "a", "x"], "[2]", "expected a whole number as index, found text"),
        ([",", "a", ""], "[2]", "expected a whole number as index, found text"),
        ([",", "a", "1" * 5000], "[2]", "expected a whole number as index, found text"),
        ([",", "a", None], "[2]", "expected a whole number as index, found null"),
        ([",", "a", True], "[2]", "expected a whole number as index, found a boolean"),
        ([",", "a", 0.5], "[2]", "expected a whole number as index, found a number"),
        ([",", None, "x"], "[2]", "expected a whole number as index, found text"),
        ([",", "a,b", 2], "[2]", "the index is out of range: the text has 2 parts"),
        ([",", "a,b", -3], "[2]", "the index is out of range: the text has 2 parts"),
    ],
)
def test_str_split_refuses_other_shapes(call: Any, arguments: Any, path: str, message: str) -> None:
    problem = call.refused({"str_split": arguments})
    assert problem.path == f"resources.r.properties.p.str_split{path}"
    assert problem.message == message
    assert problem.position is not None


def test_str_split_takes_calls_everywhere(call: Any, stack: Stack) -> None:
    value = split({"get_param": "d"}, {"get_param": "t"}, {"get_param": "i"})
    assert call(value, stack({"d": "/", "t": "a/b", "i": 1})) == "b"
    assert call(value, stack({"d": "/", "t": None, "i": 1})) is None
    assert call.fails(value, stack({"d": "", "t": "a/b", "i": 1})).path.endswith("str_split[0]")
    assert call.fails(value, stack({"d": "/", "t": 7, "i": 1})).path.endswith("str_split[1]")
    assert call.fails(value, stack({"d": "/", "t": "a/b", "i": "secret"})).path.endswith("str_split[2]")
    assert call(value, stack({"d": None, "t": " a  b ", "i": 1})) == "b"
    whole = {"str_split": {"get_param": "all"}}
    assert call(whole, stack({"all": ["/", "a/b", 0]})) == "a"
    assert "found text" in call.fails(whole, stack({"all": "a/b"})).message


def test_str_split_cannot_fill_the_memory(call: Any) -> None:
    assert f"at most {MOST_PARTS} are allowed" in call.refused(split(",", "," * MOST_PARTS)).message
    assert len(call(split(",", "," * (MOST_PARTS - 1)))) == MOST_PARTS
    assert f"at most {MOST_PARTS} are allowed" in call.refused(split(None, "a " * (MOST_PARTS + 5))).message
    assert len(call(split(None, "a " * MOST_PARTS))) == MOST_PARTS


@given(st.text(",-", min_size=1, max_size=2), st.lists(st.text("ab", max_size=3), min_size=1, max_size=4))
def test_splitting_undoes_joining(delimiter: str, items: list[str]) -> None:
    assert Caller()(split(delimiter, {"list_join": [delimiter, items]})) == items


@given(st.text("ab,", max_size=8))
def test_joining_undoes_splitting(text: str) -> None:
    assert Caller()({"list_join": [",", split(",", text)]}) == text


# -- list_concat and list_concat_unique ------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["pike", "wallaby"])
@pytest.mark.parametrize(
    ("lists", "all_items", "each_once"),
    [
        ([], [], []),
        ([None], [], []),
        ([[]], [], []),
        ([["a", "b"], ["b", "c"]], ["a", "b", "b", "c"], ["a", "b", "c"]),
        ([["b", "a"], None, ["b"]], ["b", "a", "b"], ["b", "a"]),
        ([["x", "x"]], ["x", "x"], ["x"]),
        ([[1, "1"], [None, ""]], [1, "1", None, ""], [1, "1", None, ""]),
        ([[{"a": 1, "b": 2}], [{"b": 2, "a": 1}]], [{"a": 1, "b": 2}, {"b": 2, "a": 1}], [{"a": 1, "b": 2}]),
        ([[["a"]], [["a"], "a"]], [["a"], ["a"], "a"], [["a"], "a"]),
    ],
)
def test_list_concat(call: Any, version: str, lists: list[Any], all_items: Any, each_once: Any) -> None:
    assert call({"list_concat": lists}, version=version) == all_items
    assert call({"list_concat_unique": lists}, version=version) == each_once


@pytest.mark.parametrize(
    "items", [[1, 1.0, True], [True, 1], [1.0, 1], [[1], [True]], [{"a": 0}, {"a": False}]]
)
def test_of_equal_items_the_first_stays(call: Any, items: list[Any]) -> None:
    found = call({"list_concat_unique": [items]})
    assert repr(found) == repr(items[:1])


@pytest.mark.parametrize("name", ["list_concat", "list_concat_unique"])
@pytest.mark.parametrize(
    ("arguments", "path", "message"),
    [
        ("text", "", "expected a list of lists, found text"),
        (None, "", "expected a list of lists, found null"),
        ({"a": [], "b": []}, "", "expected a list of lists, found a map"),
        ([["a"], "text"], "[1]", "expected a list, found text"),
        ([{"a": 1, "b": 2}], "[0]", "expected a list, found a map"),
        ([7], "[0]", "expected a list, found a number"),
    ],
)
def test_list_concat_refuses_other_shapes(
    call: Any, name: str, arguments: Any, path: str, message: str
) -> None:
    problem = call.refused({name: arguments})
    assert problem.path == f"resources.r.properties.p.{name}{path}"
    assert problem.message == message


@pytest.mark.parametrize("name", ["list_concat", "list_concat_unique"])
def test_list_concat_takes_calls_everywhere(call: Any, stack: Stack, name: str) -> None:
    assert call({name: [["a"], {"get_param": "l"}]}, stack({"l": ["b"]})) == ["a", "b"]
    assert call({name: {"get_param": "l"}}, stack({"l": [["b"], None]})) == ["b"]
    assert call.fails({name: [{"get_param": "l"}]}, stack({"l": ""})).path.endswith(f"{name}[0]")
    assert "found null" in call.fails({name: {"get_param": "l"}}, stack({"l": None})).message
    to_be_made = stack(resources={"other": ResourceProxy(name="other")})
    assert call({name: [["a"], [{"get_resource": "other"}]]}, to_be_made) is UNKNOWN


def test_list_concat_cannot_fill_the_memory(call: Any, stack: Stack) -> None:
    value = {"list_concat": [{"get_param": "l"}, {"get_param": "l"}]}
    assert len(call(value, stack({"l": [0] * (MOST_PARTS // 2)}))) == MOST_PARTS
    problem = call.fails(value, stack({"l": [0] * (MOST_PARTS // 2 + 1)}))
    assert (
        problem.message == f"the result would have {MOST_PARTS + 2} items; at most {MOST_PARTS} are allowed"
    )


def test_long_lists_of_maps_are_not_compared_each_with_each(call: Any, stack: Stack) -> None:
    items = [{"a": [number % 40_000]} for number in range(50_000)]
    around = stack({"l": items})
    assert call({"list_concat_unique": [{"get_param": "l"}]}, around) == items[:40_000]
    assert call({"filter": [{"get_param": "l"}, {"get_param": "l"}]}, around) == []


@given(st.lists(st.none() | st.lists(VALUES, max_size=4), max_size=3))
def test_list_concat_is_the_sum_of_lists(lists: list[list[Any] | None]) -> None:
    assert Caller()({"list_concat": lists}) == [item for items in lists if items for item in items]


@given(st.lists(VALUES, max_size=8))
def test_list_concat_unique_keeps_what_is_equal_to_nothing_before(items: list[Any]) -> None:
    expected: list[Any] = []
    for item in items:
        if item not in expected:
            expected.append(item)
    found = Caller()({"list_concat_unique": [items]})
    assert repr(found) == repr(expected)
    assert Caller()({"list_concat_unique": [found, found]}) == found


@given(VALUES, VALUES)
def test_keys_are_equal_where_values_are(first: Any, second: Any) -> None:
    assert (_key_of(first) == _key_of(second)) == (first == second)


@pytest.mark.parametrize(
    ("first", "second"),
    [(2**53, float(2**53)), (2**53 + 1, float(2**53)), (-0.0, 0), (1e300, int(1e300)), (0.1, "0.1")],
)
def test_keys_of_numbers_are_as_exact_as_numbers(first: Any, second: Any) -> None:
    assert (_key_of(first) == _key_of(second)) == (first == second)


# -- contains ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "among", "result"),
    [
        ("a", ["a", "b"], True),
        ("c", ["a", "b"], False),
        ("a", [], False),
        ("ell", "hello", True),
        ("", "hello", True),
        ("a", "", False),
        (1, ["1"], False),
        ("1", [1], False),
        (1, [True], True),
        (1.0, [1], True),
        (None, [None], True),
        (None, [""], False),
        ({"a": [1]}, [{"a": [1]}], True),
        (["a"], ["a"], False),
        (["a"], [["a"]], True),
    ],
)
def test_contains(call: Any, value: Any, among: Any, result: bool) -> None:
    for version in ("pike", "wallaby"):
        assert call({"contains": [value, among]}, version=version) is result


@pytest.mark.parametrize(
    ("arguments", "path", "message"),
    [
        ("text", "", "expected a list of a value and a list, found text"),
        (None, "", "expected a list of a value and a list, found null"),
        ({"a": 1, "b": 2}, "", "expected a list of a value and a list, found a map"),
        ([], "", "expected a value and a list, found 0 items"),
        (["a"], "", "expected a value and a list, found 1 items"),
        (["a", [], []], "", "expected a value and a list, found 3 items"),
        (["a", None], "[1]", "expected a list or text, found null"),
        (["a", {"a": 1, "b": 2}], "[1]", "expected a list or text, found a map"),
        ([1, 1], "[1]", "expected a list or text, found a number"),
        ([1, "123"], "[0]", "expected text, found a number"),
        ([None, ""], "[0]", "expected text, found null"),
    ],
)
def test_contains_refuses_other_shapes(call: Any, arguments: Any, path: str, message: str) -> None:
    problem = call.refused({"contains": arguments})
    assert problem.path == f"resources.r.properties.p.contains{path}"
    assert problem.message == message


def test_contains_must_be_given_a_list_written_out(call: Any) -> None:
    problem = call.refused({"contains": {"get_param": "l"}})
    assert problem.message == "expected a list of a value and a list, found a call of get_param"


def test_contains_takes_calls_in_its_list(call: Any, stack: Stack) -> None:
    value = {"contains": [{"get_param": "v"}, {"get_param": "l"}]}
    assert call(value, stack({"v": "a", "l": ["a"]})) is True
    assert call(value, stack({"v": "b", "l": "abc"})) is True
    assert call.fails(value, stack({"v": 1, "l": "abc"})).path.endswith("contains[0]")
    assert call.fails(value, stack({"v": 1, "l": None})).path.endswith("contains[1]")


def conditional(condition: Any, version: str, zones: list[str]) -> Template:
    body = {
        "heat_template_version": version,
        "parameters": {"zones": {"type": "json"}},
        "conditions": {"there": condition},
        "outputs": {"o": {"value": {"if": ["there", "yes", "no"]}}},
    }
    return Draft.read(json.dumps(body), file="t", files={}, limits=Limits()).under({"zones": zones})


@pytest.mark.parametrize("version", ["pike", "wallaby"])
@pytest.mark.parametrize(("zones", "result"), [(["a", "b"], "yes"), (["b"], "no")])
def test_contains_decides_conditions(version: str, zones: list[str], result: str) -> None:
    template = conditional({"contains": ["a", {"get_param": "zones"}]}, version, zones)
    assert template.problems == ()
    assert template.outputs["o"].resolve(StackDefinition(name="s", id="1")) == result


@pytest.mark.parametrize(
    ("condition", "version", "message"),
    [
        ({"contains": ["a", {"get_param": "zones"}]}, "ocata", "found a map"),
        ({"filter": [[], {"get_param": "zones"}]}, "pike", "filter cannot be called in a condition"),
        (
            {"equals": [{"list_concat": [["a"]]}, ["a"]]},
            "pike",
            "list_concat cannot be called in a condition",
        ),
    ],
)
def test_other_functions_over_lists_decide_nothing(condition: Any, version: str, message: str) -> None:
    problem, *_ = conditional(condition, version, []).problems
    assert message in problem.message
    assert problem.path.startswith("conditions.there")


@given(VALUES, st.lists(VALUES, max_size=4))
def test_contains_is_in(value: Any, among: list[Any]) -> None:
    assert Caller()({"contains": [value, among]}) is (value in among)


# -- filter --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["ocata", "wallaby"])
@pytest.mark.parametrize(
    ("values", "items", "result"),
    [
        (["a"], ["a", "b", "a"], ["b"]),
        ([], ["a"], ["a"]),
        (None, ["a"], ["a"]),
        ("", ["a"], ["a"]),
        (["a"], [], []),
        (["a"], None, None),
        (["a"], "", ""),
        ([None, ""], ["a", None, "", 0], ["a", 0]),
        ([1], ["1", True, 1.0, 2], ["1", 2]),
        ([{"a": 1}, ["b"]], [{"a": 1}, {"a": 2}, ["b"], "b"], [{"a": 2}, "b"]),
    ],
)
def test_filter(call: Any, version: str, values: Any, items: Any, result: Any) -> None:
    assert call({"filter": [values, items]}, version=version) == result


@pytest.mark.parametrize(
    ("arguments", "path", "message"),
    [
        ("text", "", "expected a list of the values and a list, found text"),
        (None, "", "expected a list of the values and a list, found null"),
        ({"a": 1, "b": 2}, "", "expected a list of the values and a list, found a map"),
        ([["a"]], "", "expected the values and a list, found 1 items"),
        ([[], [], []], "", "expected the values and a list, found 3 items"),
        (["a", ["a"]], "[0]", "expected a list, found text"),
        ([["a"], "a"], "[1]", "expected a list, found text"),
        ([{"a": 1, "b": 2}, []], "[0]", "expected a list, found a map"),
        ([["a"], 7], "[1]", "expected a list, found a number"),
    ],
)
def test_filter_refuses_other_shapes(call: Any, arguments: Any, path: str, message: str) -> None:
    problem = call.refused({"filter": arguments})
    assert problem.path == f"resources.r.properties.p.filter{path}"
    assert problem.message == message


def test_filter_takes_calls_in_its_list(call: Any, stack: Stack) -> None:
    value = {"filter": [{"get_param": "v"}, {"get_param": "l"}]}
    assert call(value, stack({"v": ["a"], "l": ["a", "b"]})) == ["b"]
    assert call(value, stack({"v": "text", "l": None})) is None
    assert call.fails(value, stack({"v": "text", "l": ["a"]})).path.endswith("filter[0]")
    assert call.fails(value, stack({"v": ["a"], "l": "text"})).path.endswith("filter[1]")
    assert "found a call" in call.refused({"filter": {"get_param": "l"}}).message


@given(st.lists(VALUES, max_size=3), st.lists(VALUES, max_size=6))
def test_filter_leaves_what_is_not_in_the_values(values: list[Any], items: list[Any]) -> None:
    assert repr(Caller()({"filter": [values, items]})) == repr([item for item in items if item not in values])
