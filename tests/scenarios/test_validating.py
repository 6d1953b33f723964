"""When the properties of a resource are looked at: before an action begins, not while it goes on, not when it goes."""

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from orchestrator.definition import UNKNOWN
from orchestrator.errors import InvalidInput
from orchestrator.plugins.constraints import Length
from orchestrator.plugins.properties import Attribute, Property, PropertyError, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import PropertyChanges, Wait
from tests.scenarios.telling import reason
from tests.scenarios.world import World


class Choosy(Resource):
    """Takes polls, and remembers what it was asked, in order."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "word": Property(type=PropertyType.STRING, update_allowed=True, constraints=(Length(max=5),)),
        "polls": Property(type=PropertyType.INTEGER, default=0, update_allowed=True),
    }
    attributes_schema: ClassVar[Mapping[str, Attribute]] = {"word": Attribute("its word")}
    log: ClassVar[list[str]] = []
    #: A word that the type itself does not take.
    refused: ClassVar[str] = ""

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        word = properties["word"]
        cls.log.append(f"validate {'?' if word is UNKNOWN else word}")
        if word == cls.refused:
            raise PropertyError(("word",), f"{word} is refused")

    def handle_create(self) -> Any:
        self.log.append("create")
        self.state.physical_id = self.state.uuid
        return self.properties["polls"]

    def check_create_complete(self, token: Any) -> bool | Wait:
        self.log.append("poll")
        return True if not token else Wait(1, token=token - 1)

    def handle_update(self, changes: PropertyChanges) -> None:
        self.log.append(f"update {', '.join(sorted(changes.names))}")

    def handle_delete(self) -> None:
        self.log.append("delete")

    def attribute(self, name: str) -> Any:
        return self.properties["word"]


def template(word: str, polls: int = 0) -> str:
    return f"""\
heat_template_version: 2021-04-16
resources:
  it: {{type: Choosy, properties: {{word: {word}, polls: {polls}}}}}
"""


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(Choosy, "log", [])
    return World({"Choosy": Choosy})


def test_they_are_looked_at_with_the_stack_and_once_more_before_the_action(world: World) -> None:
    world.create(template("a", polls=3))
    assert Choosy.log == ["validate a"]
    world.settle()
    assert Choosy.log[1:] == ["validate a", "create", "poll", "poll", "poll", "poll"]


def test_a_deletion_asks_nothing_of_them(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    stack_id = world.create(template("a"))
    world.settle()
    Choosy.log.clear()
    monkeypatch.setattr(Choosy, "refused", "a")
    world.delete()
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert Choosy.log == ["delete"]


def test_what_only_the_world_makes_wrong_is_found_before_the_action_begins(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the examination of the stack and the action, a rule becomes stricter."""
    world.create(template("a"))
    monkeypatch.setattr(Choosy, "refused", "a")
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert "properties.word: a is refused" in reason(world)
    assert "create" not in Choosy.log


def test_an_update_that_cannot_begin_leaves_the_resource_as_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack_id = world.create(template("a"))
    world.settle()
    world.update(template("b"))
    Choosy.log.clear()
    monkeypatch.setattr(Choosy, "refused", "b")
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    (row,) = world.store.stacks.resources(stack_id)
    assert (row.action, row.status) == ("CREATE", "COMPLETE")
    assert Choosy.log == ["validate b"]
    with pytest.raises(InvalidInput, match="word: b is refused"):
        world.update(template("b"))


def test_a_visit_that_asks_for_nothing_new_looks_at_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was right when it was made may be wrong by now: that is no reason to fail an update that leaves it alone."""
    world.create(template("a"))
    world.settle()
    world.update(template("a").replace("polls: 0}", "polls: 0}, metadata: {a: 1}"))
    Choosy.log.clear()
    monkeypatch.setattr(Choosy, "refused", "a")
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert Choosy.log == []


def test_what_only_a_reference_can_tell_is_looked_at_when_it_is_known(world: World) -> None:
    world.create("""\
heat_template_version: 2021-04-16
resources:
  word: {type: Choosy, properties: {word: short}}
  it:
    type: Choosy
    properties: {word: {list_join: ['-', [{get_attr: [word, word]}, long]]}}
""")
    assert Choosy.log == ["validate short", "validate ?"]
    world.settle()
    assert "properties.word: must have a length of at most 5" in reason(world)
    assert Choosy.log.count("create") == 1
