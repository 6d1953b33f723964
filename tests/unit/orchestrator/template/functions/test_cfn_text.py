"""Fn::Join, Fn::Split, Fn::Replace, Fn::Base64."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.limits import Limits
from orchestrator.definition import StackDefinition
from orchestrator.template.document import PackedPositions
from orchestrator.template.functions.base import Scope
from orchestrator.template.functions.bounds import MOST_PARTS
from orchestrator.template.functions.cfn_text import FnJoin, FnReplace, FnSplit
from orchestrator.template.functions.text import StrReplace
from orchestrator.template.versions import V2013_05_23

VERSIONS = ("2010-09-09", "2012-12-12", "2013-05-23")
STACK = StackDefinition(name="s", id="1")
SCOPE = Scope(version=V2013_05_23, positions=PackedPositions("t", {}), limits=Limits())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("value", "result"),
    [
        ({"Fn::Join": [",", ["a", "b"]]}, "a,b"),
        ({"Fn::Join": ["", []]}, ""),
        ({"Fn::Join": ["-", None]}, ""),
        ({"Fn::Join": ["-", ["a", None, "b"]]}, "a--b"),
        ({"Fn::Join": ["-", {"Ref": "list"}]}, "x-y"),
        ({"Fn::Join": [{"Ref": "text"}, ["a", {"Ref": "text"}]]}, "aa,b,ca,b,c"),
        ({"Fn::Split": [",", "a,b,,c"]}, ["a", "b", "", "c"]),
        ({"Fn::Split": ["--", ""]}, [""]),
        ({"Fn::Split": [",", {"Ref": "text"}]}, ["a", "b", "c"]),
        ({"Fn::Replace": [{"a": "b", "b": "c"}, "aab"]}, "bbc"),
        ({"Fn::Replace": [{"a": None, "aa": 1, "c": True, "d": 1.5}, "aaacd"]}, "1True1.5"),
        ({"Fn::Replace": [{}, "text"]}, "text"),
        ({"Fn::Replace": [{"a": {"Ref": "text"}}, {"Ref": "text"}]}, "a,b,c,b,c"),
        ({"Fn::Replace": [{"Ref": "map"}, "key"]}, "value"),
        ({"Fn::Base64": "#!/bin/sh"}, "#!/bin/sh"),
        ({"Fn::Base64": ""}, ""),
        ({"Fn::Base64": {"Fn::Join": ["", ["a", {"Ref": "text"}]]}}, "aa,b,c"),
    ],
)
def test_what_each_gives(call: Any, stack: Any, value: Any, result: Any, version: str) -> None:
    parameters = {"list": ["x", "y"], "text": "a,b,c", "map": {"key": "value"}}
    assert call(value, stack(parameters), version=version) == result


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("value", "message", "place"),
    [
        ({"Fn::Join": "a"}, "expected a list of a delimiter and a list, found text", ""),
        ({"Fn::Join": [","]}, "expected a delimiter and a list, found 1 items", ""),
        ({"Fn::Join": [",", ["a"], ["b"]]}, "expected a delimiter and a list, found 3 items", ""),
        ({"Fn::Join": [1, ["a"]]}, "expected the delimiter as text, found a number", "[0]"),
        ({"Fn::Join": [",", "a"]}, "expected a list, found text", "[1]"),
        ({"Fn::Join": [",", [1]]}, "expected text, found a number", "[1][0]"),
        ({"Fn::Join": [",", [{"a": 1, "b": 2}]]}, "expected text, found a map", "[1][0]"),
        ({"Fn::Split": "a"}, "expected a list of a delimiter and a text, found text", ""),
        ({"Fn::Split": ["a"]}, "expected a delimiter and a text, found 1 items", ""),
        ({"Fn::Split": [",", None]}, "expected text, found null", "[1]"),
        ({"Fn::Split": [1, "a"]}, "expected text, found a number", "[0]"),
        ({"Fn::Split": ["", "a"]}, "the delimiter cannot be empty", "[0]"),
        ({"Fn::Replace": {"a": "b"}}, "expected a list of a map of placeholders and a text, found a map", ""),
        ({"Fn::Replace": ["text", {"a": "b"}]}, "expected a map of placeholders, found text", "[0]"),
        ({"Fn::Replace": [{"a": "b"}, 1]}, "expected text, found a number", "[1]"),
        ({"Fn::Replace": [{"a": ["b"]}, "a"]}, "expected text or a number, found a list", "[0].a"),
        ({"Fn::Replace": [{"": "b"}, "a"]}, "a placeholder cannot be empty", "[0]."),
        ({"Fn::Base64": 80}, "expected text, found a number", ""),
        ({"Fn::Base64": ["a"]}, "expected text, found a list", ""),
    ],
)
def test_what_each_refuses(call: Any, value: Any, message: str, place: str, version: str) -> None:
    problem = call.refused(value, version)
    assert (problem.message, problem.hint) == (message, "")
    (name,) = value
    assert problem.path.endswith(f".p.{name}{place}")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"Fn::Split": [",", {"Ref": "number"}]}, "expected text, found a number"),
        ({"Fn::Split": [{"Ref": "empty"}, "a"]}, "the delimiter cannot be empty"),
        ({"Fn::Base64": {"Ref": "number"}}, "expected text, found a number"),
        ({"Fn::Replace": [{"Ref": "number"}, "a"]}, "expected a map of placeholders, found a number"),
        ({"Fn::Join": [",", {"Ref": "number"}]}, "expected a list, found a number"),
    ],
)
def test_what_a_parameter_gave_is_checked_as_well(call: Any, stack: Any, value: Any, message: str) -> None:
    problem = call.fails(value, stack({"number": 7, "empty": ""}), version="2010-09-09")
    assert problem.message == message


def test_a_text_is_not_split_into_more_pieces_than_a_value_may_have(call: Any, stack: Any) -> None:
    value = {"Fn::Split": [",", {"Ref": "text"}]}
    assert len(call(value, stack({"text": "," * (MOST_PARTS - 1)}), version="2010-09-09")) == MOST_PARTS
    problem = call.fails(value, stack({"text": "," * MOST_PARTS}), version="2010-09-09")
    assert f"at most {MOST_PARTS}" in problem.message


@given(st.lists(st.text("ab "), min_size=1), st.text(",-", min_size=1))
def test_splitting_undoes_joining(items: list[str], delimiter: str) -> None:
    joined = FnJoin([delimiter, items], scope=SCOPE, path=()).resolve(STACK)
    assert FnSplit([delimiter, joined], scope=SCOPE, path=()).resolve(STACK) == items


@given(
    st.dictionaries(st.text("abc", min_size=1), st.text("abc") | st.integers() | st.none()), st.text("abcd")
)
def test_replacing_is_that_of_hot_with_its_arguments_in_the_other_order(params: Any, text: str) -> None:
    ours = FnReplace([params, text], scope=SCOPE, path=()).resolve(STACK)
    theirs = StrReplace({"template": text, "params": params}, scope=SCOPE, path=()).resolve(STACK)
    assert ours == theirs
