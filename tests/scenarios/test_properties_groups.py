"""When properties groups are looked at: with the stack, and before an action begins, by what is given then."""

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from orchestrator.errors import InvalidInput
from orchestrator.plugins.group_declarations import parse_groups
from orchestrator.plugins.groups import XOR
from orchestrator.plugins.properties import Attribute, Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import PropertyChanges
from tests.scenarios.telling import reason
from tests.scenarios.world import World
from tests.unit.orchestrator.plugins.cases import case


class Either(Resource):
    """Takes one of two properties, and tells nothing of an attribute."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "left": Property(type=PropertyType.STRING, update_allowed=True),
        "right": Property(type=PropertyType.STRING, update_allowed=True),
    }
    properties_groups_schema = ({XOR: [["left"], ["right"]]},)
    attributes_schema: ClassVar[Mapping[str, Attribute]] = {"nothing": Attribute("null")}
    made: ClassVar[list[str]] = []

    def handle_create(self) -> None:
        self.state.physical_id = self.state.uuid
        self.made.append(self.name)

    def handle_update(self, changes: PropertyChanges) -> None:
        self.made.append(f"{self.name} again")

    def attribute(self, name: str) -> Any:
        return None


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(Either, "made", [])
    return World({"Either": Either})


def template(properties: str) -> str:
    return f"""\
heat_template_version: 2021-04-16
resources:
  first: {{type: Either, properties: {{left: x}}}}
  it: {{type: Either, properties: {properties}}}
"""


def test_a_combination_that_is_not_allowed_is_refused_with_its_place(world: World) -> None:
    with pytest.raises(InvalidInput) as refused:
        world.create(template("{left: x, right: y}"))
    [problem] = refused.value.problems
    assert problem.path == "resources.it.properties"
    assert problem.position is not None
    assert problem.position.line == 4
    assert problem.message == "expected exactly one of left and right, found left and right"


def test_what_turns_out_to_be_null_was_not_given(world: World) -> None:
    world.create(template("{left: {get_attr: [first, nothing]}}"))
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert reason(world).endswith("properties: expected exactly one of left and right, found none of them")
    assert Either.made == ["first"]


@case("an update")
def test_an_update_is_judged_by_the_new_properties_alone(world: World) -> None:
    world.create(template("{left: x}"))
    world.settle()
    world.update(template("{right: x}"))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert Either.made[2:] == ["it again"]
    with pytest.raises(InvalidInput, match="found none of them"):
        world.update(template("{}"))


@case("a deletion")
def test_a_deletion_is_judged_by_nobody(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    stack_id = world.create(template("{left: x}"))
    world.settle()
    monkeypatch.setattr(Either, "properties_groups", parse_groups([{XOR: [["right"]]}]))
    world.delete()
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
