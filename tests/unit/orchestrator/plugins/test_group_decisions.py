"""Every decision of docs/properties-groups.md has a test of its own, here or in the files on paths and on versions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from orchestrator.definition import UNKNOWN
from orchestrator.errors import PluginMistake
from orchestrator.plugins.group_declarations import parse_groups
from orchestrator.plugins.groups import (
    AND,
    API_VERSIONS,
    AT_MOST_ONE,
    CLIENT_PLUGIN,
    OR,
    PROPERTIES,
    VERSIONS,
    XOR,
    Operator,
)
from orchestrator.plugins.properties import Property, PropertyError, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.validating import property_faults, valid_properties
from tests.unit.orchestrator.plugins.cases import case

ROOT = Path(__file__).parents[4]


def test_every_case_of_the_page_has_a_test_and_every_test_a_case() -> None:
    table = (ROOT / "docs" / "properties-groups.md").read_text().partition("| case | decision |")[2]
    told = re.findall(r"^\| (?!-)([^|]+?) \|", table, re.MULTILINE)
    stories = ROOT / "tests" / "scenarios" / "test_properties_groups.py"
    texts = [each.read_text() for each in (*Path(__file__).parent.glob("test_group_*.py"), stories)]
    tested = [name for text in texts for name in re.findall(r'^@case\("(.+)"\)$', text, re.MULTILINE)]
    assert sorted(told) == sorted(set(tested))
    assert len(told) > 25


TEXT = Property(type=PropertyType.STRING)
_ITEM = Property(type=PropertyType.MAP, schema={"port": TEXT, "network": TEXT})
SCHEMA: Mapping[str, Property] = {
    **dict.fromkeys(("a", "b", "c", "d"), TEXT),
    "filled": Property(type=PropertyType.STRING, default="x"),
    "needed": Property(type=PropertyType.STRING, required=True),
    "ready": Property(type=PropertyType.MAP, schema={"tcp": TEXT, "http": TEXT}),
    "networks": Property(type=PropertyType.LIST, schema=_ITEM),
    "free": Property(type=PropertyType.MAP),
    "any": Property(type=PropertyType.ANY),
}


def kind_of(*groups: Any, schema: Mapping[str, Property] | None = None) -> type[Resource]:
    """Return a type with these groups; without the property that is needed, unless a group names it."""
    if schema is None:
        schema = {name: each for name, each in SCHEMA.items() if name != "needed" or "needed" in repr(groups)}
    return type("Kind", (Resource,), {"properties_schema": schema, "properties_groups_schema": groups})


@dataclass
class Speaks:
    """A client that speaks a version, or fails, and counts how often it was asked."""

    version: str | Exception
    asked: int = 0

    @property
    def api_version(self) -> str:
        self.asked += 1
        if isinstance(self.version, Exception):
            raise self.version
        return self.version

    def find(self, entity: str, name: str, *, use_cache: bool = False) -> str:
        raise AssertionError("nothing is looked up")


@dataclass
class Speaking:
    """The clients of a project: one, called ``cloud``."""

    version: str | Exception = "2.1"
    cloud: Speaks = field(init=False)

    def __post_init__(self) -> None:
        self.cloud = Speaks(self.version)

    def get(self, name: str) -> Speaks:
        assert name == "cloud"
        return self.cloud


def said(group: Any, given: Mapping[str, Any], version: str | Exception | None = None) -> list[str]:
    """Return what is wrong with what is given, in words; other systems are asked where there is a version."""
    clients = None if version is None else Speaking(version)
    return [str(error) for error in property_faults(kind_of(group), given, clients=clients)]


def fine(group: Any, given: Mapping[str, Any]) -> bool:
    return said(group, given) == []


def mistake(*groups: Any, schema: Mapping[str, Property] | None = None) -> str:
    """Return the mistake that defining a type with these groups is."""
    with pytest.raises(PluginMistake) as refused:
        kind_of(*groups, schema=schema)
    owner, _, sentence = str(refused.value).partition(": ")
    assert owner == f"{__name__}:Kind"
    return sentence


def versioned(versions: Sequence[Any] = ("2.1",), plugin: Any = "cloud", paths: Any = (["a"],)) -> Any:
    return {API_VERSIONS: {CLIENT_PLUGIN: plugin, VERSIONS: versions, PROPERTIES: paths}}


EITHER = {XOR: [["a"], ["b"]]}


def trees() -> SearchStrategy[Any]:
    """Return a strategy for groups of different paths."""

    def combined(operands: SearchStrategy[Any]) -> SearchStrategy[Any]:
        several = st.lists(operands, min_size=1, max_size=3, unique_by=repr)
        return st.builds(lambda operator, of: {operator: of}, st.sampled_from(Operator), several)

    paths = st.sampled_from("abcd").map(lambda name: [name])
    return combined(st.recursive(paths, combined, max_leaves=6))


def in_lower_case(declared: Any) -> Any:
    """Return a group with its operators in lower case, as plain texts."""
    if isinstance(declared, dict):
        return {str(operator).lower(): in_lower_case(of) for operator, of in declared.items()}
    return list(map(in_lower_case, declared)) if isinstance(declared, list) else declared


# -- what counts as given ----------------------------------------------------------------------------------------


@case("an empty value")
@pytest.mark.parametrize("empty", ["", [], {}, 0, False], ids=repr)
def test_an_empty_value_is_given(empty: Any) -> None:
    either = {XOR: [["any"], ["b"]]}
    assert fine(either, {"any": empty})
    assert not fine(either, {"any": empty, "b": "x"})


@case("a null")
def test_a_null_is_not_given() -> None:
    assert fine(EITHER, {"a": None, "b": "x"})
    assert not fine(EITHER, {"a": None})


@case("a default")
def test_a_default_is_not_given() -> None:
    group = {XOR: [["filled"], ["b"]]}
    assert fine(group, {"b": "x"})
    assert not fine(group, {})


@case("a value that is not known yet")
def test_a_value_that_is_not_known_yet_is_given_and_judged_again_once_it_is() -> None:
    assert fine(EITHER, {"a": UNKNOWN})
    assert not fine(EITHER, {"a": UNKNOWN, "b": UNKNOWN})
    with pytest.raises(PropertyError, match="found none of them"):
        valid_properties(kind_of(EITHER), {"a": None})


@case("what is inside a value that is not known yet")
def test_what_is_inside_a_value_that_is_not_known_yet_is_refused_only_if_it_cannot_be_right() -> None:
    group = {XOR: [["ready", "tcp"], ["ready", "http"]]}
    assert fine(group, {"ready": UNKNOWN})
    assert fine({AND: [["ready", "tcp"], ["a"]]}, {"ready": UNKNOWN, "a": "x"})
    assert not fine({AND: [["ready", "tcp"], ["a"]]}, {"ready": UNKNOWN})
    assert fine({AND: [["networks", "*", "port"]]}, {"networks": [UNKNOWN]})


# -- operators ---------------------------------------------------------------------------------------------------


@case("AND")
def test_and_demands_all_also_where_none_is_given() -> None:
    both = {AND: [["a"], ["b"]]}
    assert fine(both, {"a": "x", "b": "x"})
    assert said(both, {"a": "x"}) == ["a: expected both a and b, found a"]
    assert said(both, {}) == ["expected both a and b, found none of them"]


@case("all or none")
def test_all_or_none_is_at_most_one_of_all() -> None:
    group = {AT_MOST_ONE: [{AND: [["a"], ["b"]]}]}
    assert fine(group, {})
    assert fine(group, {"a": "x", "b": "x"})
    assert said(group, {"b": "x"}) == [
        "b: expected all or none of a and b, found b (b may be given only as both a and b)"
    ]


@case("OR of none")
def test_or_demands_one_and_takes_more() -> None:
    group = {OR: [["a"], ["b"]]}
    assert not fine(group, {})
    assert fine(group, {"b": "x"})
    assert fine(group, {"a": "x", "b": "x"})


@case("XOR of three")
def test_xor_of_three_is_exactly_one_and_not_an_odd_number() -> None:
    group = {XOR: [["a"], ["b"], ["c"]]}
    assert fine(group, {"c": "x"})
    assert not fine(group, {"a": "x", "c": "x"})
    assert not fine(group, {"a": "x", "b": "x", "c": "x"})


@case("XOR of none")
def test_xor_demands_one_where_at_most_one_does_not() -> None:
    assert not fine(EITHER, {})
    assert fine({AT_MOST_ONE: [["a"], ["b"]]}, {})
    assert not fine({AT_MOST_ONE: [["a"], ["b"]]}, {"a": "x", "b": "x"})


@case("half of an alternative")
def test_half_of_an_alternative_beside_a_whole_one_is_refused_and_named() -> None:
    group = {XOR: [["a"], {AND: [["b"], ["c"]]}]}
    assert said(group, {"a": "x", "b": "x"}) == [
        "b: expected exactly one of a and (both b and c), found a and b (b may be given only as both b and c)"
    ]
    # What the alternative that was chosen names too is no half of the other.
    assert fine({XOR: [{AND: [["a"], ["b"]]}, {AND: [["a"], ["c"]]}]}, {"a": "x", "b": "x"})
    # To OR, alternatives do not exclude each other.
    assert fine({OR: [["a"], {AND: [["b"], ["c"]]}]}, {"a": "x", "b": "x"})


@case("an operator inside itself")
def test_an_operator_inside_itself_counts_by_itself() -> None:
    group = {XOR: [["a"], {XOR: [["b"], ["c"]]}]}
    assert fine(group, {"b": "x"})
    assert not fine(group, {"b": "x", "c": "x"})


@case("depth")
def test_groups_are_inside_each_other_32_times_at_most() -> None:
    def nested(times: int) -> Any:
        group: Any = ["a"]
        for _ in range(times):
            group = {AND: [group]}
        return group

    assert fine(nested(32), {"a": "x"})
    assert "groups are inside each other more than 32 times" in mistake(nested(33))
    itself: list[Any] = []
    itself.append({AND: itself})
    assert "more than 32 times" in mistake({AND: itself})


@case("one operand")
@pytest.mark.parametrize("operator", [AND, OR, XOR])
def test_one_operand_is_what_a_group_of_one_means(operator: str) -> None:
    assert said({operator: [["a"]]}, {}) == ["a: expected a, found none of them"]
    assert fine({operator: [["a"]]}, {"a": "x"})
    assert mistake({AT_MOST_ONE: [["a"]]}).endswith("at most one of a may be given: that excludes nothing")


@case("no operand")
@pytest.mark.parametrize("operator", [AND, OR, XOR, AT_MOST_ONE])
def test_no_operand_is_a_mistake(operator: str) -> None:
    where = f"properties_groups_schema[0].{operator}"
    assert mistake({operator: []}) == f"{where}: expected a list of paths and groups, found an empty one"
    assert mistake({operator: [[]]}).startswith(f"{where}[0]: expected a list of names")


@case("no group")
def test_a_type_without_groups_has_none() -> None:
    assert kind_of().properties_groups == ()
    assert Resource.properties_groups == ()
    assert mistake({}) == "properties_groups_schema[0]: expected a map with one operator, found none"


# -- the declared form -------------------------------------------------------------------------------------------


@case("the form of a group")
@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"Xor": [["a"], ["b"]]}, "[0]: there is no operator 'Xor' (did you mean 'XOR'?)"),
        ({"xor": [["a"], {"adn": [["b"]]}]}, "[0].xor[1]: there is no operator 'adn' (did you mean 'AND'?)"),
        ({"api_versions": {}}, "[0]: there is no operator 'api_versions' (did you mean 'API_VERSIONS'?)"),
        ({"NAND": [["a"]]}, "[0]: there is no operator 'NAND' (did you mean 'AND'?)"),
        ({7: [["a"]]}, "[0]: there is no operator 7 (there are: AND, OR, XOR, AT_MOST_ONE, API_VERSIONS)"),
        ({AND: [["a"]], OR: [["b"]]}, "[0]: expected a map with one operator, found AND, OR"),
        ([["a"]], "[0]: expected a map with one operator, found a list"),
        ({XOR: "a"}, "[0].XOR: expected a list of paths and groups, found 'a'"),
        ({XOR: ["a", "b"]}, "[0].XOR[0]: expected a path, which is a list, found 'a': write ['a']"),
        ({XOR: [{}]}, "[0].XOR[0]: expected a map with one operator, found none"),
        (
            {XOR: [["networks", 0]]},
            "[0].XOR[0]: the steps of a path are names, or '*' for any item of a list, not 0",
        ),
        ({XOR: [["a"], None]}, "[0].XOR[1]: expected a list of names, the path of a property, found null"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_a_malformed_group_is_found_when_the_class_is_defined(declared: Any, message: str) -> None:
    assert mistake(declared) == f"properties_groups_schema{message}"


@case("the form of a group")
@given(trees())
def test_operators_in_lower_case_mean_the_same(declared: Any) -> None:
    assert parse_groups([in_lower_case(declared)]) == parse_groups([declared])


@case("the form of all groups")
def test_the_groups_are_a_list() -> None:
    with pytest.raises(
        PluginMistake, match="properties_groups_schema: expected a list of groups, found a map"
    ):
        type("Kind", (Resource,), {"properties_schema": SCHEMA, "properties_groups_schema": EITHER})


@case("types that inherit")
def test_a_type_that_inherits_groups_is_held_to_its_own_properties() -> None:
    parent = kind_of(EITHER)

    class More(parent):  # type: ignore[misc, valid-type]
        properties_schema: ClassVar[Mapping[str, Property]] = {**parent.properties_schema, "e": TEXT}

    assert More.properties_groups == parent.properties_groups
    with pytest.raises(PluginMistake, match="the path b leads nowhere"):
        type("Less", (parent,), {"properties_schema": {"a": TEXT}})


@case("types that take anything")
def test_a_type_that_takes_anything_may_have_groups_of_anything() -> None:
    kind = type("Kind", (Resource,), {"accepts_anything": True, "properties_groups_schema": [EITHER]})
    assert property_faults(kind, {"a": 1}) == []
    assert property_faults(kind, {"a": 1, "b": 1}) != []
    # Where it says what a map holds, that is all there is.
    group = {XOR: [["ready", "nothing"], ["a"]]}
    with pytest.raises(PluginMistake, match="there is no property 'nothing' in ready"):
        type("Kind", (kind,), {"properties_schema": SCHEMA, "properties_groups_schema": [group]})


# -- errors ------------------------------------------------------------------------------------------------------


@case("several errors")
def test_every_group_that_fails_is_told_once_and_in_order() -> None:
    kind = kind_of({OR: [["c"], ["d"]]}, EITHER, {AND: [["a"]]})
    assert [error.message.split(",")[0] for error in property_faults(kind, {"b": "x"})] == [
        "expected at least one of c and d",
        "expected a",
    ]
    with pytest.raises(PropertyError, match="expected at least one of c and d"):
        valid_properties(kind, {"b": "x"})


@case("wrong values besides")
def test_groups_come_after_the_schema_and_before_what_the_type_itself_says() -> None:
    class Kind(Resource):
        properties_schema = SCHEMA
        properties_groups_schema = (EITHER,)

        @classmethod
        def validate(cls, properties: Mapping[str, Any]) -> None:
            raise PropertyError(("c",), "never right")

    def found(given: Mapping[str, Any]) -> list[str]:
        return [error.message for error in property_faults(Kind, {"needed": "x", **given})]

    assert found({"a": "x", "b": []}) == ["expected a text, found a list"]
    assert found({"a": "x", "b": "x"}) == ["expected exactly one of a and b, found a and b"]
    assert found({"a": "x"}) == ["never right"]


@case("where an error is")
@pytest.mark.parametrize(
    ("group", "given", "path"),
    [
        (EITHER, {"a": "x", "b": "x"}, ()),
        (EITHER, {}, ()),
        ({AND: [["a"], ["b"]]}, {"b": "x"}, ("b",)),
        ({XOR: [["ready", "tcp"], ["ready", "http"]]}, {"a": "x"}, ("ready",)),
        ({XOR: [["networks", "*", "port"], ["a"]]}, {"networks": [{"port": "x"}], "a": "x"}, ()),
        ({AND: [["networks", "*", "port"], ["a"]]}, {"networks": [{"port": "x"}]}, ("networks",)),
    ],
    ids=str,
)
def test_an_error_is_where_all_that_was_found_is(group: Any, given: dict[str, Any], path: Any) -> None:
    [error] = property_faults(kind_of(group), given)
    assert error.path == path


@case("the text of an error")
def test_an_error_says_what_is_expected_and_what_was_found_and_shows_no_value() -> None:
    group = {XOR: [["ready", "tcp"], {AND: [["a"], {OR: [["b"], ["networks", "*", "port"]]}]}]}
    given = {"ready": {"tcp": "s3cret"}, "a": "s3cret", "networks": [{"port": "s3cret"}]}
    [error] = property_faults(kind_of(group), given)
    assert str(error) == (
        "expected exactly one of ready.tcp and (both a and (at least one of b and networks.*.port)), "
        "found ready.tcp, a and networks.*.port"
    )
    assert error.full_message == f"properties: {error}"
