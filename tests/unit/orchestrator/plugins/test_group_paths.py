"""Every decision of docs/properties-groups.md on paths, held by a test of its own."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from orchestrator.plugins.groups import (
    AND,
    AT_MOST_ONE,
    OR,
    XOR,
)
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.support import Support, SupportStatus
from orchestrator.plugins.translation import Replace, Rule
from orchestrator.plugins.validating import property_faults
from tests.unit.orchestrator.plugins.cases import case
from tests.unit.orchestrator.plugins.test_group_decisions import (
    EITHER,
    TEXT,
    fine,
    kind_of,
    mistake,
    versioned,
)


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
    assert kind_of({XOR: [["box", "it"], ["a"]]}, schema={"box": inside, "a": TEXT}).properties_groups


@case("a group of no use")
def test_a_group_that_nothing_satisfies_is_a_mistake() -> None:
    assert mistake({AND: [["a"], {XOR: [["a"], ["b"]]}, ["b"]]}).endswith("must be given: that can never be")
    assert mistake({XOR: [["a"], {AND: [["a"], ["b"]]}]}).endswith("so b could never be given")


@case("a hidden or deprecated property")
def test_a_property_that_is_going_is_one_like_others_and_one_that_is_gone_is_a_mistake() -> None:
    def with_status(status: Support) -> dict[str, Property]:
        return {
            "old": Property(type=PropertyType.STRING, support_status=SupportStatus(status=status)),
            "new": TEXT,
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
        properties_schema: ClassVar[Mapping[str, Property]] = {"old": TEXT, "new": TEXT, "other": TEXT}
        properties_groups_schema = ({XOR: [["new"], ["other"]]},)

        @classmethod
        def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:
            return [Replace(path=("new",), source=("old",))]

    assert property_faults(Kind, {"old": "x"}) == []
    [error] = property_faults(Kind, {"old": "x", "other": "x"})
    assert str(error) == "expected exactly one of new and other, found new and other"
