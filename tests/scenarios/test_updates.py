"""Updates: what is there becomes what is wanted, at the cost of what changed."""

from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.errors import Conflict, InvalidInput, NotFound
from tests.scenarios.built_once import built_once
from tests.scenarios.world import World


def template(resources: Mapping[str, str], outputs: str = "") -> str:
    """Return a template of cloud objects, each written as the body of its properties and more."""
    lines = [f"  {name}: {{type: Cloud::Object{body and ', '}{body}}}" for name, body in resources.items()]
    return "\n".join(["heat_template_version: wallaby", "resources:", *lines, outputs])


def value(text: str, size: str = "") -> str:
    return f"properties: {{value: {text}, size: '{size}'}}"


def present(world: World) -> dict[str, tuple[str, str]]:
    """Return value and size of what is there, by name."""
    return {
        physical_id.rpartition("-")[0]: (value, world.cloud.sizes[physical_id])
        for physical_id, (_, value) in world.cloud.objects.items()
    }


def ids(world: World, stack_id: str) -> dict[str, str | None]:
    return {row.name: row.physical_id for row in world.store.stacks.resources(stack_id)}


def done(world: World) -> list[tuple[str, str]]:
    """Return what was done in the cloud since it was asked last."""
    log, world.cloud.log = world.cloud.log, []
    return log


@built_once
def created(text: str, **job: Any) -> tuple[World, str]:
    """Return a stack that is complete."""
    world = World()
    stack_id = world.create(text, **job)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    done(world)
    return world, stack_id


class Story:
    """A stack that was created, and what became of it."""

    def __init__(self, resources: Mapping[str, str], **job: Any) -> None:
        self.world, self.id = created(template(resources), **job)
        self.before = ids(self.world, self.id)

    def update(
        self, resources: Mapping[str, str], state: str = "UPDATE_COMPLETE", **job: Any
    ) -> list[tuple[str, str]]:
        self.world.update(template(resources), **job)
        self.world.settle()
        assert self.world.state() == state
        return done(self.world)


def test_nothing_changed_costs_nothing() -> None:
    resources = {"a": value("1"), "b": value("{get_attr: [a, value]}")}
    story = Story(resources)
    story.world.update(template(resources))
    assert [order.phase for order in story.world.messages] == ["end"]
    story.world.settle()
    assert done(story.world) == []
    assert ids(story.world, story.id) == story.before


def test_a_property_changes_in_place() -> None:
    story = Story({"a": value("1", "s"), "b": value("2", "s")})
    assert story.update({"a": value("1", "l"), "b": value("2", "s")}) == [("change", "a")]
    assert present(story.world) == {"a": ("1", "l"), "b": ("2", "s")}
    assert ids(story.world, story.id) == story.before


def test_what_changes_is_given_the_data_of_what_does_not() -> None:
    story = Story({"a": value("1"), "b": value("{get_attr: [a, value]}", "s")})
    assert story.update({"a": value("1"), "b": value("{get_attr: [a, value]}", "l")}) == [("change", "b")]
    assert present(story.world) == {"a": ("1", ""), "b": ("1", "l")}


def test_what_cannot_change_is_replaced_and_its_dependents_follow_before_it_goes() -> None:
    story = Story({"a": value("1"), "b": value("{get_attr: [a, value]}"), "c": "depends_on: b"})
    assert story.update({"a": value("9"), "b": value("{get_attr: [a, value]}"), "c": "depends_on: b"}) == [
        ("make", "a"),
        ("make", "b"),
        ("unmake", "b"),
        ("unmake", "a"),
    ]
    assert present(story.world) == {"a": ("9", ""), "b": ("9", ""), "c": ("", "")}
    assert ids(story.world, story.id)["c"] == story.before["c"]
    story.world.delete()
    story.world.settle()
    assert [name for _, name in done(story.world)] == ["c", "b", "a"]


def test_what_is_new_is_made_and_what_is_gone_is_taken_away_after_those_that_needed_it() -> None:
    story = Story({"a": value("1"), "b": "depends_on: a"})
    assert story.update({"c": value("3"), "b": "depends_on: c"}) == [("make", "c"), ("unmake", "a")]
    assert ids(story.world, story.id)["b"] == story.before["b"]
    assert set(present(story.world)) == {"b", "c"}
    story.world.delete()
    story.world.settle()
    assert [name for _, name in done(story.world)] == ["b", "c"]


def test_what_is_visited_is_given_what_it_needs_of_what_is_not() -> None:
    story = Story({"a": value("1"), "b": value("{get_attr: [a, value]}", "s")})
    assert story.update({"a": value("1"), "b": value("{get_attr: [a, value]}", "l")}) == [("change", "b")]
    assert story.update({"a": value("1"), "c": value("{get_attr: [a, value]}")}) == [
        ("make", "c"),
        ("unmake", "b"),
    ]
    assert present(story.world) == {"a": ("1", ""), "c": ("1", "")}


def test_dependencies_may_be_turned_around() -> None:
    story = Story({"a": value("1"), "b": "depends_on: a"})
    assert story.update({"a": f"{value('1')}, depends_on: b", "b": ""}) == []
    assert ids(story.world, story.id) == story.before
    story.world.delete()
    story.world.settle()
    assert [name for _, name in done(story.world)] == ["a", "b"]


def test_a_dependent_whose_input_stays_the_same_is_not_visited() -> None:
    resources = {"a": value("1", "s"), **{f"d{each}": value("{get_attr: [a, value]}") for each in range(10)}}
    story = Story(resources)
    story.world.update(template({**resources, "a": value("1", "l")}))
    claimed = []
    while story.world.messages:
        claimed += [order.key for order in story.world.messages if order.phase == "converge"]
        story.world.deliver()
    story.world.settle()
    assert claimed == ["a"]
    assert story.world.state() == "UPDATE_COMPLETE"
    assert done(story.world) == [("change", "a")]


def test_a_name_may_stand_for_another_type_from_then_on() -> None:
    world = World()
    stack_id = world.create("heat_template_version: wallaby\nresources: {a: {type: Cloud::Object}}")
    world.settle()
    world.checker._types["Cloud::Other"] = world.checker._types["Cloud::Object"]  # type: ignore[index]
    world.update("heat_template_version: wallaby\nresources: {a: {type: Cloud::Other}}")
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    (row,) = world.store.stacks.resources(stack_id)
    assert row.type == "Cloud::Other"
    assert world.cloud.log[1:] == [("make", "a"), ("unmake", "a")]


def test_a_failed_update_leaves_what_was_and_the_next_one_puts_another_in_its_place() -> None:
    story = Story({"a": value("1", "s"), "b": "depends_on: a"})
    story.world.cloud.failing_updates = {"a": True}
    assert story.update({"a": value("1", "l"), "b": "depends_on: a"}, "UPDATE_FAILED") == []
    assert story.update({"a": value("1", "l"), "b": "depends_on: a"}) == [("make", "a"), ("unmake", "a")]
    assert present(story.world) == {"a": ("1", "l"), "b": ("", "")}


def test_what_could_not_be_made_is_made_anew() -> None:
    world = World()
    world.cloud.failing = {"b": -1}
    stack_id = world.create(template({"a": value("1"), "b": "depends_on: a", "c": "depends_on: b"}))
    world.settle()
    assert world.state() == "CREATE_FAILED"
    world.cloud.failing = {}
    world.update(template({"a": value("1"), "b": "depends_on: a", "c": "depends_on: b"}))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert world.made_names() == ["a", "b", "c"]
    assert sorted(ids(world, stack_id)) == ["a", "b", "c"]


@pytest.mark.parametrize("deliveries", range(12))
def test_an_update_may_come_at_any_message_of_a_create(deliveries: int) -> None:
    world = World()
    world.cloud.polls = {"b": 2}
    world.create(template({"a": value("1"), "b": value("{get_attr: [a, value]}", "s"), "c": "depends_on: b"}))
    for _ in range(deliveries):
        if world.messages:
            world.deliver()
        else:
            world.sweep(after=1.0)
    wanted = {"a": value("2"), "b": value("{get_attr: [a, value]}", "l"), "d": "depends_on: b"}
    world.update(template(wanted))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world) == {"a": ("2", ""), "b": ("2", "l"), "d": ("", "")}
    assert len(world.cloud.objects) == 3


@pytest.mark.parametrize("deliveries", range(14))
def test_an_update_may_come_at_any_message_of_an_update(deliveries: int) -> None:
    story = Story({"a": value("1", "s"), "b": value("{get_attr: [a, value]}"), "c": "depends_on: b"})
    world = story.world
    world.cloud.polls = {"a": 2, "b": 1}
    world.update(template({"a": value("2", "m"), "b": value("{get_attr: [a, value]}"), "e": ""}))
    for _ in range(deliveries):
        if world.messages:
            world.deliver()
        else:
            world.sweep(after=1.0)
    world.update(template({"a": value("1", "l"), "b": value("{get_attr: [a, value]}"), "c": "depends_on: b"}))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world) == {"a": ("1", "l"), "b": ("1", ""), "c": ("", "")}
    assert len(world.cloud.objects) == 3


@pytest.mark.parametrize("deliveries", range(14))
def test_a_delete_may_come_at_any_message_of_an_update(deliveries: int) -> None:
    story = Story({"a": value("1", "s"), "b": value("{get_attr: [a, value]}"), "c": "depends_on: b"})
    world = story.world
    world.update(template({"a": value("2", "m"), "b": value("{get_attr: [a, value]}"), "e": ""}))
    for _ in range(deliveries):
        if world.messages:
            world.deliver()
    world.delete()
    world.settle()
    assert world.state(story.id) == "DELETE_COMPLETE"
    assert world.cloud.objects == {}


def test_what_is_wrong_with_an_update_is_told_before_anything_is_touched() -> None:
    story = Story({"a": value("1")})
    with pytest.raises(InvalidInput, match="no property 'vale'"):
        story.world.update(template({"a": "properties: {vale: 1}"}))
    assert story.world.state() == "CREATE_COMPLETE"
    with pytest.raises(NotFound):
        story.world.update(template({}), name="other")
    story.world.delete()
    with pytest.raises(Conflict, match="only a delete can follow"):
        story.world.update(template({}))


def test_an_immutable_parameter_keeps_its_value() -> None:
    body = "parameters: {p: {type: string, immutable: true}, q: {type: string}}\nresources: {}"
    world = World()
    source = f"heat_template_version: wallaby\n{body}"
    world.create(source, parameters={"p": "1", "q": "1"})
    world.settle()
    with pytest.raises(InvalidInput, match="the parameter 'p' is immutable"):
        world.update(source, parameters={"p": "2", "q": "2"})
    world.update(source, parameters={"p": "1", "q": "2"})
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"


# -- rollback --------------------------------------------------------------------------------------------------


def test_a_failed_create_leaves_nothing_where_that_was_asked() -> None:
    world = World()
    world.cloud.failing = {"b": -1}
    stack_id = world.create(template({"a": value("1"), "b": "depends_on: a"}), rollback=True)
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert world.cloud.objects == {}
    assert world.store.stacks.resources(stack_id) == []
    world.cloud.failing = {}
    world.update(template({"a": value("1"), "b": "depends_on: a"}))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert set(present(world)) == {"a", "b"}


def test_a_failed_update_brings_back_what_was_complete_last() -> None:
    story = Story({"a": value("1", "s"), "b": value("{get_attr: [a, value]}", "s"), "c": "depends_on: b"})
    world = story.world
    world.cloud.failing = {"x": -1}
    wanted = {
        "a": value("2", "m"),
        "b": value("{get_attr: [a, value]}", "l"),
        "x": "depends_on: b",
    }
    assert story.update(wanted, "ROLLBACK_COMPLETE", rollback=True)
    assert present(world) == {"a": ("1", "s"), "b": ("1", "s"), "c": ("", "")}
    assert len(world.cloud.objects) == 3
    assert ids(world, story.id) == story.before


def test_a_rollback_goes_back_beyond_updates_that_never_worked() -> None:
    story = Story({"a": value("1", "s")})
    story.world.cloud.failing = {"x": -1}
    story.update({"a": value("1", "m"), "x": ""}, "UPDATE_FAILED")
    story.update({"a": value("1", "l"), "x": value("1")}, "ROLLBACK_COMPLETE", rollback=True)
    assert present(story.world) == {"a": ("1", "s")}


def test_a_rollback_that_fails_is_not_rolled_back() -> None:
    story = Story({"a": value("1", "s"), "b": value("1", "s")})
    story.world.cloud.failing = {"x": -1}
    world = story.world
    world.update(template({"a": value("1", "l"), "b": value("1", "s"), "x": "depends_on: a"}), rollback=True)
    while world.state() != "ROLLBACK_IN_PROGRESS":
        if world.messages:
            world.deliver()
        else:
            world.sweep(after=1.0)
    world.cloud.failing_updates = {"a": True}
    world.settle()
    assert world.state() == "ROLLBACK_FAILED"
    story.update({"a": value("1", "s"), "b": value("1", "s")})
    assert present(world) == {"a": ("1", "s"), "b": ("1", "s")}


@pytest.mark.parametrize("deliveries", range(16))
def test_an_update_may_come_at_any_message_of_a_rollback(deliveries: int) -> None:
    story = Story({"a": value("1", "s"), "b": value("{get_attr: [a, value]}"), "c": "depends_on: b"})
    world = story.world
    world.cloud.failing = {"x": -1}
    world.update(
        template({"a": value("2"), "b": value("{get_attr: [a, value]}"), "x": "depends_on: a"}), rollback=True
    )
    for _ in range(deliveries):
        if world.messages:
            world.deliver()
        else:
            world.sweep(after=1.0)
    world.update(template({"a": value("3", "l"), "c": ""}))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world) == {"a": ("3", "l"), "c": ("", "")}
    assert len(world.cloud.objects) == 2


def test_a_cleanup_that_fails_does_not_undo_what_works() -> None:
    story = Story({"a": value("1"), "b": value("1")})
    world = story.world
    world.cloud.failing_deletes = {"a": True}
    story.update({"a": value("2"), "b": value("1")}, "UPDATE_FAILED", rollback=True)
    assert sorted(value for _, value in world.cloud.objects.values()) == ["1", "1", "2"]
    assert story.update({"a": value("2"), "b": value("1")}) == [("unmake", "a")]
    assert present(world) == {"a": ("2", ""), "b": ("1", "")}
    assert len(world.cloud.objects) == 2


# -- cancel ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deliveries", range(10))
def test_a_cancelled_update_brings_back_what_was(deliveries: int) -> None:
    story = Story({"a": value("1", "s"), "b": value("{get_attr: [a, value]}"), "c": "depends_on: b"})
    world = story.world
    world.cloud.polls = {"a": 1, "b": 3}
    world.update(template({"a": value("2", "m"), "b": value("{get_attr: [a, value]}"), "d": "depends_on: b"}))
    for _ in range(deliveries):
        if world.messages:
            world.deliver()
        else:
            world.sweep(after=1.0)
    if world.state() == "UPDATE_IN_PROGRESS":
        world.cancel()
        world.settle()
        assert world.state() == "ROLLBACK_COMPLETE"
        assert present(world) == {"a": ("1", "s"), "b": ("1", ""), "c": ("", "")}
        assert len(world.cloud.objects) == 3


def test_a_cancel_without_rollback_leaves_what_there_is() -> None:
    world = World()
    world.cloud.polls = {"b": 100}
    stack_id = world.create(
        template({"a": value("1"), "b": "depends_on: a", "c": "depends_on: b"}), rollback=True
    )
    while world.messages:
        world.deliver()
    world.cancel(rollback=False)
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert world.store.stacks.find("s", project="default").reason == "Stack CREATE cancelled"
    rows = {row.name: f"{row.action}_{row.status}" for row in world.store.stacks.resources(stack_id)}
    assert rows == {"a": "CREATE_COMPLETE", "b": "CREATE_COMPLETE", "c": "INIT_COMPLETE"}
    with pytest.raises(Conflict, match="there is nothing to cancel"):
        world.cancel()


def test_a_cancelled_create_leaves_nothing() -> None:
    world = World()
    world.cloud.polls = {"b": 100}
    world.create(template({"a": value("1"), "b": "depends_on: a"}))
    while world.messages:
        world.deliver()
    world.cancel()
    with pytest.raises(Conflict, match="is being rolled back already"):
        world.cancel()
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert world.cloud.objects == {}


BY_PARAMETER = """
heat_template_version: wallaby
parameters: {p: {type: string}, q: {type: string, default: ''}}
resources:
  a: {type: Cloud::Object, metadata: {key: {get_param: p}}, properties: {size: {get_param: q}}}
  b: {type: Cloud::Object, depends_on: a}
"""


def test_metadata_that_only_a_value_changes_are_given() -> None:
    world = World()
    stack_id = world.create(BY_PARAMETER, parameters={"p": "old"})
    world.settle()
    assert world.store.stacks.resource(stack_id, "a").metadata == {"key": "old"}
    world.update(BY_PARAMETER, parameters={"p": "new"})
    assert [order.key for order in world.messages] == ["a"]
    world.settle()
    assert world.store.stacks.resource(stack_id, "a").metadata == {"key": "new"}
    assert world.store.stacks.resource(stack_id, "b").action == "CREATE"


def test_metadata_of_signals_stay_until_the_template_says_others() -> None:
    world = World()
    stack_id = world.create(BY_PARAMETER, parameters={"p": "old"})
    world.settle()
    stack = world.store.stacks.find("s", project="default")
    row = world.store.stacks.resource(stack_id, "a")
    assert world.store.stacks.write_signal(row, stack.traversal_id, {"key": "old", "signal": 1}, "signalled")

    world.update(BY_PARAMETER, parameters={"p": "old", "q": "l"})
    world.settle()
    late = world.store.stacks.resource(stack_id, "a")
    assert (late.action, late.metadata) == ("UPDATE", {"key": "old", "signal": 1})

    world.update(BY_PARAMETER, parameters={"p": "new", "q": "l"})
    world.settle()
    assert world.store.stacks.resource(stack_id, "a").metadata == {"key": "new"}
    # Who read what is gone must not write it back.
    assert not world.store.stacks.write_signal(late, stack.traversal_id, {"key": "old"}, "late")


def test_metadata_follow_the_attribute_that_they_are_made_of() -> None:
    def resources(text: str) -> dict[str, str]:
        return {"a": value(text), "b": "metadata: {key: {get_attr: [a, value]}}"}

    story = Story(resources("1"))
    story.update(resources("2"))
    assert story.world.store.stacks.resource(story.id, "b").metadata == {"key": "2"}
