"""Changes that a type refuses: the update fails, and the resource is what it was."""

import pytest

from orchestrator.plugins.constraints import AllowedValues
from orchestrator.plugins.properties import Property, PropertyType
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.test_operations import reason, states
from tests.scenarios.test_update_faults import step
from tests.scenarios.test_updates import Story, done, ids, present, template, value
from tests.scenarios.world import World


def fixed(text: str, size: str = "s") -> str:
    """Return a resource with a property that cannot be changed once it is set."""
    return f"properties: {{value: v, size: '{size}', fixed: '{text}'}}"


class Strict(Story):
    """A stack whose type has such a property."""

    def __init__(self) -> None:
        self.world = World()
        kind = self.world.checker._types["Cloud::Object"]
        kind.properties_schema = {
            **kind.properties_schema,
            "fixed": Property(type=PropertyType.STRING, default="", immutable=True),
        }
        self.id = self.world.create(template({"a": fixed("1"), "b": "depends_on: a"}))
        self.world.settle()
        self.before = ids(self.world, self.id)
        done(self.world)


def test_a_refused_change_leaves_the_resource_as_it_was() -> None:
    story = Strict()
    before = story.world.store.stacks.resource(story.id, "a")
    assert story.update({"a": fixed("2", "l"), "b": "depends_on: a"}, "UPDATE_FAILED") == []
    assert reason(story.world) == (
        "Resource UPDATE failed: resources.a: properties.fixed: it cannot be changed once it is set"
    )
    after = story.world.store.stacks.resource(story.id, "a")
    assert (after.action, after.status, after.reason) == (before.action, before.status, before.reason)
    assert (after.properties, after.definition_hash) == (before.properties, before.definition_hash)
    assert (after.physical_id, after.requires) == (before.physical_id, before.requires)


def test_a_corrected_update_changes_it_in_place() -> None:
    story = Strict()
    story.update({"a": fixed("2", "l"), "b": "depends_on: a"}, "UPDATE_FAILED")
    assert story.update({"a": fixed("1", "l"), "b": "depends_on: a"}) == [("change", "a")]
    assert ids(story.world, story.id) == story.before


def test_an_update_back_to_what_it_was_costs_nothing() -> None:
    story = Strict()
    story.update({"a": fixed("2"), "b": "depends_on: a"}, "UPDATE_FAILED")
    story.world.update(template({"a": fixed("1"), "b": "depends_on: a"}))
    assert [order.phase for order in story.world.messages] == ["end"]
    story.world.settle()
    assert story.world.state() == "UPDATE_COMPLETE"


def test_a_rollback_touches_nothing() -> None:
    story = Strict()
    changes = story.update({"a": fixed("2"), "b": "depends_on: a"}, "ROLLBACK_COMPLETE", rollback=True)
    assert changes == []
    assert ids(story.world, story.id) == story.before


def test_so_does_what_only_its_value_tells_to_be_wrong() -> None:
    story = Story({"a": value("1", "s"), "b": "properties: {size: {get_attr: [a, value]}}"})
    kind = story.world.checker._types["Cloud::Object"]
    sizes = Property(
        type=PropertyType.STRING,
        default="",
        update_allowed=True,
        constraints=(AllowedValues(("", "s", "l", "1")),),
    )
    kind.properties_schema = {**kind.properties_schema, "size": sizes}
    story.update({"a": value("9", "s"), "b": "properties: {size: {get_attr: [a, value]}}"}, "UPDATE_FAILED")
    assert states(story.world, story.id)["b"] == "CREATE_COMPLETE"
    assert ids(story.world, story.id)["b"] == story.before["b"]
    story.update({"a": value("l", "s"), "b": "properties: {size: {get_attr: [a, value]}}"})
    assert present(story.world) == {"a": ("l", "s"), "b": ("", "l")}
    assert ids(story.world, story.id)["b"] == story.before["b"]


def test_what_failed_is_replaced_so_that_nothing_of_it_is_refused() -> None:
    story = Strict()
    story.world.cloud.failing_updates = {"a": True}
    story.update({"a": fixed("1", "l"), "b": "depends_on: a"}, "UPDATE_FAILED")
    assert states(story.world, story.id)["a"] == "UPDATE_FAILED"
    changes = story.update({"a": fixed("2", "l"), "b": "depends_on: a"})
    assert changes == [("make", "a"), ("unmake", "a")]


@pytest.mark.parametrize("steps", range(5))
@pytest.mark.parametrize("then", ["1", "2"])
def test_whatever_comes_in_between(steps: int, then: str) -> None:
    story = Strict()
    world = story.world
    world.update(template({"a": fixed("2", "l"), "b": "depends_on: a"}))
    for _ in range(steps):
        step(world)
    world.update(template({"a": fixed(then, "l"), "b": "depends_on: a"}))
    world.settle()
    assert world.state() == ("UPDATE_COMPLETE" if then == "1" else "UPDATE_FAILED")
    assert ids(world, story.id) == story.before
    assert done(world) == ([("change", "a")] if then == "1" else [])


@die_everywhere
def test_whatever_dies_a_corrected_update_changes_it_in_place(instruction: int) -> None:
    story = Strict()
    world = story.world
    world.update(template({"a": fixed("2", "l"), "b": "depends_on: a"}))
    world.cloud.crash_after(instruction)
    while world.messages:
        world.survive(world.deliver)
    world.cloud.crash_at = None
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    story.update({"a": fixed("1", "l"), "b": "depends_on: a"})
    assert ids(world, story.id) == story.before
    assert present(world)["a"] == ("v", "l")
