"""Fn::FindInMap, Fn::GetAZs, Fn::Select, Fn::MemberListToMap."""

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.limits import Limits
from orchestrator.definition import UNKNOWN, StackDefinition
from orchestrator.errors import Problem
from orchestrator.template.functions.cfn_lookups import FnGetAZs, FnMemberListToMap
from orchestrator.template.functions.growth import Growth
from orchestrator.template.template import Draft, Template

VERSIONS = ("2010-09-09", "2012-12-12", "2013-05-23")

MAPPINGS = {
    "sizes": {
        "small": {"memory": 512, "zones": ["a", "b"], "notes": {"by": "us", "of": "them"}},
        "large": {"memory": 8192, "Ref": {"Ref": "large"}},
    },
    "archs": {"small": {"arch": "32"}, "large": {"arch": "64"}},
    "images": {"F17": {"32": "F17-i386", "64": "F17-x86_64"}},
    "text": "no map",
    "flat": {"small": 1},
}
PARAMETERS = {"size": {"Type": "String"}, "key": {"Type": "String"}, "number": {"Type": "Number"}}
VALUES = {"size": "small", "key": "memory", "number": 512}


def under(
    value: Any,
    values: Mapping[str, Any] | None = None,
    resources: Any = None,
    max_bytes: int | None = None,
) -> Template:
    body = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Parameters": PARAMETERS,
        "Mappings": MAPPINGS,
        "Resources": {"r": {"Type": "X", "Properties": {"p": value}}, **(resources or {})},
    }
    limits = Limits(max_bytes=max_bytes) if max_bytes else Limits()
    draft = Draft.read(json.dumps(body), file="t.json", files={}, limits=limits)
    return draft.under(VALUES if values is None else values)


def found(value: Any, values: Mapping[str, Any] | None = None) -> Any:
    template = under(value, values)
    assert template.problems == ()
    definition = template.resources["r"]
    # All is decided: what a worker gets is what was found.
    resolved = definition.resolve_properties(StackDefinition(name="s", id="1"))["p"]
    assert definition.properties["p"] == resolved
    return resolved


def refused(value: Any) -> Problem:
    (problem,) = under(value).problems
    return problem


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        (["sizes", "small", "memory"], 512),
        (["sizes", "small", "zones"], ["a", "b"]),
        (["sizes", "small", "notes"], {"by": "us", "of": "them"}),
        (["sizes", {"Ref": "size"}, {"Ref": "key"}], 512),
        ([{"Fn::Join": ["", ["si", "zes"]]}, "large", "memory"], 8192),
    ],
)
def test_finding_in_a_map(arguments: Any, result: Any) -> None:
    assert found({"Fn::FindInMap": arguments}) == result


def test_what_is_not_found_yet_can_be_all_the_arguments_of_a_call() -> None:
    value = {"Fn::Join": {"Fn::FindInMap": ["sizes", {"Ref": "size"}, "zones"]}}
    template = under(value, {**VALUES, "size": UNKNOWN})
    assert template.problems == ()
    properties = template.resources["r"].resolve_properties(StackDefinition(name="s", id="1"))
    assert properties == {"p": UNKNOWN}


def test_what_is_found_can_be_a_key_again() -> None:
    arch = {"Fn::FindInMap": ["archs", {"Ref": "size"}, "arch"]}
    assert found({"Fn::FindInMap": ["images", "F17", arch]}) == "F17-i386"
    first = {"Fn::Select": [0, {"Fn::FindInMap": ["sizes", "small", "zones"]}]}
    assert refused({"Fn::FindInMap": ["sizes", first, "memory"]}).hint == "entries: small, large"


def test_what_is_found_is_a_copy() -> None:
    template = under([{"Fn::FindInMap": ["sizes", "small", "zones"]}] * 2)
    first, second = template.resources["r"].properties["p"]
    first.append("c")
    assert second == ["a", "b"]
    assert template.draft.section(("Mappings", "sizes", "small", "zones")) == ["a", "b"]


@pytest.mark.parametrize("name", ["size", "key"])
def test_while_a_parameter_has_no_value_nothing_is_found(name: str) -> None:
    value = {"Fn::FindInMap": ["sizes", {"Ref": "size"}, {"Ref": "key"}]}
    template = under(value, {**VALUES, name: UNKNOWN})
    assert template.problems == ()
    properties = template.resources["r"].resolve_properties(StackDefinition(name="s", id="1"))
    assert properties == {"p": UNKNOWN}


@pytest.mark.parametrize(
    ("arguments", "message", "hint", "place"),
    [
        ("sizes", "expected a list of the name of a map and two keys, found text", "", ""),
        (["sizes", "small"], "expected the name of a map and two keys, found 2 items", "", ""),
        (
            ["size", "small", "memory"],
            "the section Mappings has no entry 'size'",
            "did you mean 'sizes'?",
            "[0]",
        ),
        (["sizes", "smal", "memory"], "the map has no entry 'smal'", "did you mean 'small'?", "[1]"),
        (["sizes", "qqq", "memory"], "the map has no entry 'qqq'", "entries: small, large", "[1]"),
        (
            ["sizes", "small", "memories"],
            "the entry of the map has no entry 'memories'",
            "did you mean 'memory'?",
            "[2]",
        ),
        (
            ["sizes", {"Ref": "key"}, "memory"],
            "the map has no entry of the name that this gives",
            "entries: small, large",
            "[1]",
        ),
        (["sizes", 1, "memory"], "expected the name of an entry as text, found a number", "", "[1]"),
        (
            ["sizes", {"Ref": "number"}, "memory"],
            "expected the name of an entry as text, found a number",
            "",
            "[1]",
        ),
        (
            ["text", "small", "memory"],
            "nothing can be found in the map: expected a map, found text",
            "",
            "[1]",
        ),
        (
            ["flat", "small", "memory"],
            "nothing can be found in the entry of the map: expected a map, found a number",
            "",
            "[2]",
        ),
        (
            ["sizes", "large", "Ref"],
            "this finds a map with the one key 'Ref', which would be a call",
            "the section Mappings is for plain values",
            "",
        ),
        (
            ["sizes", {"Ref": "r"}, "memory"],
            "Ref of a resource cannot stand here",
            "this is decided before any resource is made",
            "[1]",
        ),
    ],
)
def test_what_finding_in_a_map_refuses(arguments: Any, message: str, hint: str, place: str) -> None:
    problem = refused({"Fn::FindInMap": arguments})
    assert (problem.message, problem.hint) == (message, hint)
    assert problem.path == f"Resources.r.Properties.p.Fn::FindInMap{place}"


def test_a_long_list_of_entries_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MAPPINGS, "long", {f"entry{number}": {} for number in range(21)})
    hint = refused({"Fn::FindInMap": ["long", "qqq", "memory"]}).hint
    assert hint.startswith("entries: entry0, entry1,")
    assert hint.endswith("entry19, ...")


def test_all_that_is_found_in_maps_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MAPPINGS, "long", {"k": {"v": ["x" * 1000, {"key": "y" * 500}]}})
    # The list, the map and three texts are five parts.
    size = 1000 + 3 + 500 + 5
    value = [{"Fn::FindInMap": ["long", "k", "v"]}] * 3
    assert under(value, max_bytes=3 * size).problems == ()
    (problem,) = under(value, max_bytes=3 * size - 1).problems
    assert problem.message == "what is found here makes the template too large"
    assert problem.path == "Resources.r.Properties.p[2].Fn::FindInMap"


def test_a_reference_beside_it_does_not_disturb() -> None:
    value = [{"Ref": "other"}, {"Fn::FindInMap": ["sizes", {"Ref": "size"}, "memory"]}]
    template = under(value, resources={"other": {"Type": "X"}})
    assert template.problems == ()
    definition = template.resources["r"]
    assert definition.requirements == {"other"}
    assert definition.properties == {"p": [{"Ref": "other"}, 512]}


def test_zones_are_those_of_the_scope_whatever_the_region() -> None:
    limits = Limits(availability_zones=("east", "west"))
    builder: Any = SimpleNamespace(scope=SimpleNamespace(limits=limits, growth=Growth()))
    for region in ("", {"Ref": "AWS::Region"}, None):
        assert FnGetAZs.expand(region, builder) == ["east", "west"]


@pytest.mark.parametrize("version", [*VERSIONS, "2014-10-16", "2015-04-30"])
@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        ([0, ["a", "b"]], "a"),
        (["1", ["a", "b"]], "b"),
        ([1.0, ["a", "b"]], "b"),
        ([-1, ["a", "b"]], "b"),
        ([2, ["a", "b"]], ""),
        ([-3, ["a", "b"]], ""),
        ([0, []], ""),
        ([0, [None]], None),
        ([0, [{"a": [1]}]], {"a": [1]}),
        (["a", {"a": 1}], 1),
        (["b", {"a": 1}], ""),
        (["1", {"1": "one"}], "one"),
        ([0, '["a", "b"]'], "a"),
        (["a", '{"a": {"b": null}}'], {"b": None}),
        (["a", "null"], ""),
        ([0, ""], ""),
        (["a", None], ""),
    ],
)
def test_selecting(call: Any, arguments: Any, result: Any, version: str) -> None:
    assert call({"Fn::Select": arguments}, version=version) == result


def test_selecting_by_and_from_what_parameters_hold(call: Any, stack: Any) -> None:
    parameters = {"which": 1, "items": ["a", "b"], "json": '["c", "d"]'}
    for name, result in {"items": "b", "json": "d"}.items():
        value = {"Fn::Select": [{"Ref": "which"}, {"Ref": name}]}
        assert call(value, stack(parameters), version="2010-09-09") == result


@pytest.mark.parametrize(
    ("arguments", "message", "place"),
    [
        ("a", "expected a list of an index or a key, and a list or a map, found text", ""),
        ([0], "expected an index or a key, and a list or a map, found 1 items", ""),
        ([True, ["a"]], "expected an index or a key, found a boolean", "[0]"),
        ([None, ["a"]], "expected an index or a key, found null", "[0]"),
        ([0, 7], "expected a list, a map or JSON text, found a number", "[1]"),
        ([0, "7"], "expected a list, a map or JSON text, found a number", "[1]"),
        (["a", ["a"]], "expected the index of a list, found text that is none", "[0]"),
        ([0.5, ["a"]], "expected the index of a list, found a number that is none", "[0]"),
        (["9" * 5000, ["a"]], "expected the index of a list, found text that is none", "[0]"),
        ([0, {"a": 1}], "expected the key of a map as text, found a number", "[0]"),
        ([0, "["], "expected a list, a map or JSON text: not valid JSON", "[1]"),
        ([0, "[" * 100_000], "expected a list, a map or JSON text: nested deeper", "[1]"),
        ([0, "[NaN]"], "expected a list, a map or JSON text: expected a finite number", "[1]"),
    ],
)
def test_what_selecting_refuses(call: Any, arguments: Any, message: str, place: str) -> None:
    problem = call.refused({"Fn::Select": arguments}, "2010-09-09")
    assert problem.message.startswith(message)
    assert problem.path == f"Resources.r.Properties.p.Fn::Select{place}"


def test_what_a_parameter_gives_to_select_by_is_checked_as_well(call: Any, stack: Any) -> None:
    value = {"Fn::Select": [{"Ref": "flag"}, ["a", "b"]]}
    problem = call.fails(value, stack({"flag": True}), version="2010-09-09")
    assert problem.message == "expected the index of a list, found a boolean that is none"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("items", "result"),
    [
        ([], {}),
        ([".member.0.Name=a", ".member.0.Value=b"], {"a": "b"}),
        ([".member.1.Value=b=c", ".member.1.Name="], {"": "b=c"}),
        ([".member.10.Name=a", ".member.10.Value=2", ".member.9.Name=a", ".member.9.Value=1"], {"a": "2"}),
        ([".member.0.Name=a", ".member.1.Value=b", "other=x", ".member.0.More=y"], {}),
        ([".member.0.Name=a", ".member.0.Name=b", ".member.0.Value=c"], {"b": "c"}),
    ],
)
def test_a_list_of_members_is_a_map(call: Any, items: list[str], result: Any, version: str) -> None:
    assert call({"Fn::MemberListToMap": ["Name", "Value", items]}, version=version) == result


def test_the_list_of_members_may_be_a_parameter(call: Any, stack: Any) -> None:
    value = {"Fn::MemberListToMap": ["K", "V", {"Ref": "items"}]}
    items = [".member.0.K=a", ".member.0.V=b"]
    assert call(value, stack({"items": items}), version="2010-09-09") == {"a": "b"}
    assert (
        call.fails(value, stack({"items": 1}), version="2010-09-09").message
        == "expected a list, found a number"
    )


@pytest.mark.parametrize(
    ("arguments", "message", "place"),
    [
        ("a", "expected a list of a key's name, a value's name and a list, found text", ""),
        (["a", []], "expected a key's name, a value's name and a list, found 2 items", ""),
        ([1, "V", []], "expected text, found a number", "[0]"),
        (["K", {"Ref": "x"}, []], "expected text, found a call of Ref", "[1]"),
        (["K", "V", "text"], "expected a list, found text", "[2]"),
        (["K", "V", [1]], "expected text, found a number", "[2][0]"),
        (["K", "V", ["", "a"]], "expected an item with '='", "[2][0]"),
    ],
)
def test_what_a_list_of_members_refuses(call: Any, arguments: Any, message: str, place: str) -> None:
    problem = call.refused({"Fn::MemberListToMap": arguments}, "2010-09-09")
    assert problem.message == message
    assert problem.path == f"Resources.r.Properties.p.Fn::MemberListToMap{place}"


@given(st.dictionaries(st.text(), st.text()))
def test_every_map_of_texts_can_be_said_as_a_list_of_members(entries: dict[str, str]) -> None:
    items = [
        f".member.{number}.{what}={text}"
        for number, entry in enumerate(entries.items())
        for what, text in zip(("Name", "Value"), entry, strict=True)
    ]
    source = {"heat_template_version": "2013-05-23", "outputs": {"o": {"value": None}}}
    source["outputs"]["o"]["value"] = {"Fn::MemberListToMap": ["Name", "Value", items]}  # type: ignore[index]
    template = Template.parse(json.dumps(source), file="t.json", files={}, limits=Limits())
    assert template.outputs["o"].resolve(StackDefinition(name="s", id="1")) == entries
    assert FnMemberListToMap.pure
