"""Every decision of docs/properties-groups.md, held by a test of its own."""

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
from orchestrator.errors import NotVerified, PluginMistake, Unavailable
from orchestrator.plugins.client_plugin import ClientPlugin
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
from orchestrator.plugins.properties import Property, PropertyError, PropertyNotVerified, PropertyType
from orchestrator.plugins.registry import refuse_unknown_clients
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.support import Support, SupportStatus
from orchestrator.plugins.translation import Replace, Rule
from orchestrator.plugins.validating import property_faults, valid_properties
from tests.unit.orchestrator.plugins.cases import case

ROOT = Path(__file__).parents[4]


def test_every_case_of_the_page_has_a_test_and_every_test_a_case() -> None:
    table = (ROOT / "docs" / "properties-groups.md").read_text().partition("| case | decision |")[2]
    told = re.findall(r"^\| (?!-)([^|]+?) \|", table, re.MULTILINE)
    stories = ROOT / "tests" / "scenarios" / "test_properties_groups.py"
    texts = [Path(__file__).read_text(), stories.read_text()]
    tested = [name for text in texts for name in re.findall(r'^@case\("(.+)"\)$', text, re.MULTILINE)]
    assert sorted(told) == sorted(set(tested))
    assert len(told) > 25


_TEXT = Property(type=PropertyType.STRING)
_ITEM = Property(type=PropertyType.MAP, schema={"port": _TEXT, "network": _TEXT})
SCHEMA: Mapping[str, Property] = {
    **dict.fromkeys(("a", "b", "c", "d"), _TEXT),
    "filled": Property(type=PropertyType.STRING, default="x"),
    "needed": Property(type=PropertyType.STRING, required=True),
    "ready": Property(type=PropertyType.MAP, schema={"tcp": _TEXT, "http": _TEXT}),
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


# -- paths -------------------------------------------------------------------------------------------------------


@case("a path into a map")
def test_a_path_leads_into_maps_and_what_is_around_it_may_be_absent() -> None:
    group = {OR: [["ready", "tcp"], ["a"]]}
    assert fine(group, {"ready": {"tcp": "80"}})
    without: list[dict[str, Any]] = [{}, {"ready": None}, {"ready": {}}, {"ready": {"tcp": None}}]
    assert not any(fine(group, given) for given in without)


@case("a path through a list")
def test_a_path_leads_through_a_list_by_a_star_and_any_item_will_do() -> None:
    group = {XOR: [["networks", "*", "port"], ["a"]]}
    assert fine(group, {"networks": [{"network": "x"}, {"port": "y"}]})
    assert not fine(group, {"networks": [{"network": "x"}]})
    assert not fine(group, {"networks": []})
    assert mistake({XOR: [["networks", "port"], ["a"]]}).endswith(
        "the path networks.port leads nowhere: networks is a list, of which '*' is any item"
    )


@case("a path into what has no schema")
def test_inside_what_has_no_schema_only_what_is_given_is_looked_at() -> None:
    for name in ("free", "any"):
        group = {OR: [[name, "whatever", "*", "is"], ["a"]]}
        assert fine(group, {name: {"whatever": [{"is": 1}]}})
        assert not fine(group, {name: {"whatever": "is"}})


@case("a path that leads nowhere")
def test_a_path_that_leads_nowhere_is_found_when_the_class_is_defined() -> None:
    where = "properties_groups_schema[1]"
    assert mistake(EITHER, {OR: [["networs"], ["a"]]}) == (
        f"{where}: the path networs leads nowhere: there is no property 'networs' (did you mean 'networks'?)"
    )
    assert mistake(EITHER, {OR: [["ready", "tpc"], ["a"]]}) == (
        f"{where}: the path ready.tpc leads nowhere: there is no property 'tpc' in ready (did you mean 'tcp'?)"
    )
    assert mistake(EITHER, versioned(paths=[["a", "b"]])) == (
        f"{where}: the path a.b leads nowhere: nothing is inside a"
    )


@case("the same operand twice")
def test_the_same_operand_twice_is_a_mistake() -> None:
    assert mistake({XOR: [["a"], ["b"], ["a"]]}) == (
        "properties_groups_schema[0].XOR[2]: it is there already, as properties_groups_schema[0].XOR[0]"
    )
    assert "it is there already" in mistake({OR: [EITHER, ["c"], EITHER]})
    assert fine({XOR: [{AND: [["a"], ["b"]]}, {AND: [["a"], ["c"]]}]}, {"a": "x", "c": "x"})


@case("a path and what is inside it")
def test_what_is_around_a_path_is_given_with_it() -> None:
    assert fine({AND: [["ready"], ["ready", "tcp"]]}, {"ready": {"tcp": "80"}})
    assert fine({OR: [["ready"], ["ready", "tcp"]]}, {"ready": {}})
    assert mistake({XOR: [["ready"], ["ready", "tcp"]]}).endswith(
        "exactly one of ready and ready.tcp must be given: so ready.tcp could never be given"
    )


@case("a required property")
def test_a_required_property_that_leaves_no_choice_is_a_mistake() -> None:
    sentence = (
        "properties_groups_schema[0]: exactly one of needed and a must be given: so a could never be given"
    )
    assert mistake({XOR: [["needed"], ["a"]]}) == f"{sentence}, since needed is required"
    assert "so a could never be given" in mistake({AT_MOST_ONE: [["needed"], ["a"]]})
    assert "excludes nothing, since needed is required" in mistake({OR: [["needed"], ["a"]]})
    assert "so a could never be given" in mistake({XOR: [["a"], {AND: [["needed"], ["b"]]}]})
    # One that is required of a map that may be absent leaves a choice.
    inside = Property(type=PropertyType.MAP, schema={"it": Property(type=PropertyType.STRING, required=True)})
    assert kind_of({XOR: [["box", "it"], ["a"]]}, schema={"box": inside, "a": _TEXT}).properties_groups


@case("a group of no use")
def test_a_group_that_nothing_satisfies_is_a_mistake() -> None:
    assert mistake({AND: [["a"], {XOR: [["a"], ["b"]]}, ["b"]]}).endswith("must be given: that can never be")
    assert mistake({XOR: [["a"], {AND: [["a"], ["b"]]}]}).endswith("so b could never be given")


@case("a hidden or deprecated property")
def test_a_property_that_is_going_is_one_like_others_and_one_that_is_gone_is_a_mistake() -> None:
    def with_status(status: Support) -> dict[str, Property]:
        return {
            "old": Property(type=PropertyType.STRING, support_status=SupportStatus(status=status)),
            "new": _TEXT,
        }

    group = {XOR: [["old"], ["new"]]}
    for status in (Support.HIDDEN, Support.DEPRECATED):
        kind = kind_of(group, schema=with_status(status))
        assert property_faults(kind, {"old": "x"}) == []
        assert property_faults(kind, {"old": "x", "new": "x"}) != []
    refused = mistake(group, schema=with_status(Support.UNSUPPORTED))
    assert refused == "properties_groups_schema[0]: old can never be given: old is not supported"


@case("an old name")
def test_a_group_sees_what_translation_leaves() -> None:
    class Kind(Resource):
        properties_schema: ClassVar[Mapping[str, Property]] = {"old": _TEXT, "new": _TEXT, "other": _TEXT}
        properties_groups_schema = ({XOR: [["new"], ["other"]]},)

        @classmethod
        def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:
            return [Replace(path=("new",), source=("old",))]

    assert property_faults(Kind, {"old": "x"}) == []
    [error] = property_faults(Kind, {"old": "x", "other": "x"})
    assert str(error) == "expected exactly one of new and other, found new and other"


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
        properties_schema: ClassVar[Mapping[str, Property]] = {**parent.properties_schema, "e": _TEXT}

    assert More.properties_groups == parent.properties_groups
    with pytest.raises(PluginMistake, match="the path b leads nowhere"):
        type("Less", (parent,), {"properties_schema": {"a": _TEXT}})


@case("types that take anything")
def test_a_type_that_takes_anything_may_have_groups_of_anything() -> None:
    kind = type("Kind", (Resource,), {"accepts_anything": True, "properties_groups_schema": [EITHER]})
    assert property_faults(kind, {"a": 1}) == []
    assert property_faults(kind, {"a": 1, "b": 1}) != []
    # Where it says what a map holds, that is all there is.
    group = {XOR: [["ready", "nothing"], ["a"]]}
    with pytest.raises(PluginMistake, match="there is no property 'nothing' in ready"):
        type("Kind", (kind,), {"properties_schema": SCHEMA, "properties_groups_schema": [group]})


# -- API versions ------------------------------------------------------------------------------------------------


@case("which API version")
def test_versions_are_compared_by_their_numbers() -> None:
    assert said(versioned(["2.9"]), {"a": "x"}, "2.9.0") == []
    assert said(versioned(["2.9"]), {"a": "x"}, "v2.9") == []
    assert said(versioned([">=2.9"]), {"a": "x"}, "2.10") == []
    assert said(versioned(["2.9"]), {"a": "x"}, "2.90") != []


@case("ranges of API versions")
@pytest.mark.parametrize(
    ("listed", "inside", "outside"),
    [
        (["2.1", "2.3"], ["2.1", "2.3"], ["2.2", "2", "2.1.1"]),
        (["2.1-2.90"], ["2.1", "2.9", "2.90"], ["2.0", "2.91", "3"]),
        ([">=2.1,<3"], ["2.1", "2.999"], ["2.0", "3", "3.1"]),
        ([">=2.1, <3, !=2.5"], ["2.4"], ["2.5"]),
        (["~=2.1"], ["2.1", "2.9"], ["3.0", "2.0"]),
        (["==2.*"], ["2.0", "2.7"], ["3.0"]),
        (["1", ">=3"], ["1.0", "3"], ["2", ""]),
    ],
    ids=str,
)
def test_versions_are_listed_one_by_one_as_spans_or_as_ranges(
    listed: list[str], inside: list[str], outside: list[str]
) -> None:
    assert [version for version in inside if said(versioned(listed), {"a": "x"}, version)] == []
    assert [version for version in outside if not said(versioned(listed), {"a": "x"}, version)] == []


@case("the form of API versions")
@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (versioned(["2.x"]), ".VERSIONS[0]: expected a version such as"),
        (versioned(["2.1", ""]), ".VERSIONS[1]: expected a version such as"),
        (versioned(["2024-01-01"]), ".VERSIONS[0]: expected a version such as"),
        (versioned(["=>2.1"]), ".VERSIONS[0]: expected a version such as"),
        (versioned([">=2.1,"]), ".VERSIONS[0]: expected a version such as"),
        (versioned(["~=2"]), ".VERSIONS[0]: expected a version such as"),
        (versioned(["latest"]), ".VERSIONS[0]: expected a version such as"),
        (versioned(["2.90-2.1"]), ".VERSIONS[0]: no version satisfies '2.90-2.1'"),
        (versioned([">=3,<2"]), ".VERSIONS[0]: no version satisfies '>=3,<2'"),
        (versioned([2.1]), ".VERSIONS[0]: expected a text such as '2.1', found 2.1"),
        (versioned(["2.1", "2.1"]), ".VERSIONS[1]: it is there already"),
        (versioned([]), ".VERSIONS: expected a list of versions, found an empty one"),
        (versioned("2.1"), ".VERSIONS: expected a list of versions, found '2.1'"),
        (versioned(paths=[]), ".PROPERTIES: expected a list of paths, found an empty one"),
        (versioned(paths=["a"]), ".PROPERTIES[0]: expected a path, which is a list, found 'a'"),
        ({API_VERSIONS: []}, ": expected a map of CLIENT_PLUGIN, VERSIONS, PROPERTIES, found a list"),
        ({API_VERSIONS: {}}, ": expected CLIENT_PLUGIN, VERSIONS, PROPERTIES; CLIENT_PLUGIN is missing"),
        ({API_VERSIONS: {"VERSION": []}}, ": there is no 'VERSION' here (did you mean 'VERSIONS'?)"),
    ],
)
def test_malformed_versions_are_found_when_the_class_is_defined(declared: Any, message: str) -> None:
    assert mistake(declared).startswith(f"properties_groups_schema[0].API_VERSIONS{message}")


@case("a property that the API version does not have")
def test_a_property_that_the_version_does_not_have_is_refused() -> None:
    group = versioned(["2.26-2.90", ">=3"], paths=[["a"], ["b"]])
    assert said(group, {"a": "x"}, "2.1") == [
        "a: expected a only with API versions 2.26 to 2.90 or >=3 of the client plugin 'cloud', found version 2.1"
    ]
    assert said(group, {"a": "x", "b": "x"}, "2.1")[0].startswith("expected a and b only with API versions")


@case("versioned properties that are not given")
@pytest.mark.parametrize("given", [{}, {"a": None}, {"b": "x"}], ids=str)
def test_nobody_is_asked_for_a_version_unless_a_property_is_given(given: dict[str, Any]) -> None:
    clients = Speaking()
    assert property_faults(kind_of(versioned()), given, clients=clients) == []
    assert clients.cloud.asked == 0


@case("a system without API versions")
def test_a_system_without_versions_has_none_of_them() -> None:
    [sentence] = said(versioned([">=0"]), {"a": "x"}, "")
    assert sentence.endswith("found a system without versions")


@case("a version that is none")
def test_a_client_plug_in_that_tells_no_version_breaks_its_contract() -> None:
    with pytest.raises(PluginMistake, match="the client plugin 'cloud' is invalid: 'newest' is no version"):
        said(versioned(), {"a": "x"}, "newest")


@case("before other systems are called")
def test_where_no_system_may_be_asked_versions_are_left_out() -> None:
    assert said(versioned(["9"]), {"a": "x"}) == []


@case("the client plugin")
@pytest.mark.parametrize("plugin", ["", None, 7, int, Resource, ClientPlugin, b"cloud"])
def test_a_client_plugin_is_given_by_its_name_or_as_a_class_with_one(plugin: Any) -> None:
    where = "properties_groups_schema[0].API_VERSIONS.CLIENT_PLUGIN"
    expected = "expected the name of a client plugin, or its class"
    assert mistake(versioned(plugin=plugin)) == f"{where}: {expected}, found {plugin!r}"


@case("the client plugin")
def test_the_class_of_a_client_plugin_stands_for_its_name() -> None:
    class Cloud(ClientPlugin):
        name = "cloud"

    by_class, by_name = kind_of(versioned(plugin=Cloud)), kind_of(versioned(plugin="cloud"))
    assert by_class.properties_groups == by_name.properties_groups
    clients = Speaking("2.0")
    [error] = property_faults(by_class, {"a": "x"}, clients=clients)
    assert "of the client plugin 'cloud', found version 2.0" in str(error)
    with pytest.raises(PluginMistake, match="'cloud', which is not installed"):
        refuse_unknown_clients("Kind", by_class)


@case("API_VERSIONS inside another group")
def test_versions_are_a_group_of_their_own() -> None:
    assert mistake({XOR: [["b"], versioned()]}) == (
        "properties_groups_schema[0].XOR[1]: API_VERSIONS cannot be inside another group: "
        "make it a group of its own beside this one"
    )
    assert "PROPERTIES[0]: expected a list of names" in mistake(versioned(paths=[EITHER]))
    # The two together say what is wanted.
    kind = kind_of(EITHER, versioned(["9"]))
    assert property_faults(kind, {"b": "x"}, clients=Speaking()) == []
    assert len(property_faults(kind, {"a": "x"}, clients=Speaking())) == 1


@case("a client plugin that fails")
@pytest.mark.parametrize(
    "failure", [ConnectionError("no route"), Unavailable("no route"), NotVerified("no route")], ids=repr
)
def test_a_version_that_nobody_can_tell_makes_nothing_wrong(failure: Exception) -> None:
    for look in (property_faults, valid_properties):
        with pytest.raises(PropertyNotVerified, match=r"^properties\.a: .*no route") as doubt:
            look(kind_of(versioned()), {"a": "x"}, clients=Speaking(failure))
        assert doubt.value.retryable
        assert doubt.value.fault.path == ("a",)


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
