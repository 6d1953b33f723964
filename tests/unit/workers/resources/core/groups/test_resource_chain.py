"""Chains: one member of each type, one after the other."""

from typing import Any

import pytest

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.properties import PropertyError, convert_properties
from orchestrator.plugins.steps import PropertyChanges
from tests.unit.workers.resources.core.groups.fake_child import FakeChild, make_stack
from tests.unit.workers.resources.core.made import validate
from workers.resources.core.groups.resource_chain import ResourceChain


def template(**more: Any) -> Any:
    child = FakeChild()
    chain = make_stack(ResourceChain, child, {"resources": ["A", "B", "C"], **more})
    chain.handle_create()
    return child.wanted()


def test_each_member_depends_on_the_one_before_it() -> None:
    assert template(resource_properties={"x": 1}) == {
        "0": {"type": "A", "properties": {"x": 1}},
        "1": {"type": "B", "properties": {"x": 1}, "depends_on": "0"},
        "2": {"type": "C", "properties": {"x": 1}, "depends_on": "1"},
    }


def test_concurrent_members_depend_on_nobody() -> None:
    assert template(concurrent=True) == {"0": {"type": "A"}, "1": {"type": "B"}, "2": {"type": "C"}}


def test_a_chain_may_be_empty() -> None:
    assert template(resources=[]) == {}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("refs",), ["ref-0", "ref-1", "ref-2"]),
        (("refs_map", "2"), "ref-2"),
        (("attributes", "ip"), {"0": "ip of 0", "1": "ip of 1", "2": "ip of 2"}),
        (("ip", 0), ["ip/0 of 0", "ip/0 of 1", "ip/0 of 2"]),
        (("resource.1.ip",), "ip of 1"),
    ],
)
def test_what_is_asked_for(path: tuple[str | int, ...], expected: Any) -> None:
    child = FakeChild()
    chain = make_stack(ResourceChain, child, {"resources": ["A", "B", "C"]}, wanted=[path])
    token = chain.handle_create()
    child.succeed()
    assert chain.check_create_complete(token) is True
    assert chain.attribute_at(path) == expected


def test_another_list_of_types_is_another_stack() -> None:
    child = FakeChild()
    token = make_stack(ResourceChain, child, {"resources": ["A"]}).handle_create()
    after = make_stack(ResourceChain, child, {"resources": ["A", "B"]})
    assert after.is_outdated(token)
    child.succeed()
    after.handle_update(PropertyChanges(before={}, after={}))
    assert list(child.wanted()) == ["0", "1"]


def test_a_blueprint_shows_all_of_it_once_its_types_are_known() -> None:
    def blueprint(**given: Any) -> Any:
        converted = convert_properties(ResourceChain.properties_schema, given, constraints=False)
        return ResourceChain.blueprint("c", converted)

    shown = blueprint(resources=["A", "B"], concurrent=UNKNOWN)
    assert list(shown.child.template["resources"]) == ["0", "1"]
    assert (shown.times, shown.place) == (1, ("resources",))
    assert blueprint(resources=UNKNOWN) is None
    assert blueprint(resources=["A", UNKNOWN]) is None
    assert blueprint(resources=["A"], resource_properties=UNKNOWN) is None
    assert blueprint(resources=[]) is None


def test_a_type_without_a_name_is_refused() -> None:
    with pytest.raises(PropertyError, match=r"resources\[1\]: expected the name of a type"):
        validate(ResourceChain, {"resources": ["A", ""]})
