"""Attributes that a definition refers to for the first time, of resources that it leaves as they are."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import RetryableFailure
from tests.scenarios.telling import patched, rows_of
from tests.scenarios.test_interleavings import patient
from tests.scenarios.test_language import outputs
from tests.scenarios.test_updates import Story, ids, present, template, value
from tests.scenarios.trees import step
from tests.scenarios.world import World

A = value("1", "s+x")


@pytest.mark.parametrize("before", ["", "value"])
def test_attribute_that_only_a_new_resource_refers_to_is_read_for_it(before: str) -> None:
    known = f"outputs: {{known: {{value: {{get_attr: [a, {before}]}}}}}}" if before else ""
    world = World()
    stack_id = world.create(template({"a": A}, known))
    world.settle()
    (row,) = rows_of(world, stack_id)["a"]
    assert [path for path, _ in row.attributes] == ([[before]] if before else [])
    world.update(template({"a": A, "b": value("{get_attr: [a, measure]}")}, known))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world)["b"] == ("s", "")
    assert world.cloud.log == [("make", "a"), ("make", "b")]
    (row,) = rows_of(world, stack_id)["a"]
    assert ["measure"] in [path for path, _ in row.attributes]


def test_attribute_that_only_a_new_output_refers_to_is_on_record_after_the_update() -> None:
    story = Story({"a": A})
    world = story.world
    source = template({"a": A}, "outputs: {size: {value: {get_attr: [a, measure]}}}")
    world.update(source)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert outputs(world, story.id) == {"size": "s"}
    assert ids(world, story.id) == story.before
    world.update(source)
    assert [order.phase for order in world.messages] == ["end"]


# -- an attribute that cannot be read yet ------------------------------------------------------------------------

#: Each update: the size, how many reads of attributes are refused for now, and how many messages come.
changes = st.lists(
    st.tuples(st.sampled_from("sml"), st.integers(0, 3), st.integers(0, 5)), min_size=2, max_size=4
)


def busy(world: World) -> list[int]:
    """Let reads of attributes fail as often as the list that is returned has entries."""
    refusals: list[int] = []

    def attribute(self: Resource, name: str) -> Any:
        if refusals:
            refusals.pop()
            raise RetryableFailure("busy")
        return self.properties["size"]

    patched(world, attribute=attribute)
    return refusals


def sized(size: str) -> str:
    return template({"a": value("1", size), "b": "properties: {value: 2, size: {get_attr: [a, measure]}}"})


def check_became(world: World, stack_id: str, size: str) -> None:
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world) == {"a": ("1", size), "b": ("2", size)}
    (row,) = rows_of(world, stack_id)["a"]
    assert row.properties is not None
    assert row.properties["size"] == size


def test_update_that_was_over_but_for_its_attributes_is_followed_by_the_next_one() -> None:
    """The object is what the first update made of it, whatever the second one is about to make."""
    world = World()
    refusals = busy(world)
    stack_id = world.create(sized("s"))
    world.settle()
    refusals.append(1)
    world.update(sized("m"))
    world.deliver()
    assert present(world)["a"] == ("1", "m")
    world.update(sized("l"))
    world.settle()
    check_became(world, stack_id, "l")


@pytest.mark.parametrize("supersedes", [False, True])
def test_visit_that_changes_nothing_is_repeated_without_an_update_that_was_never_begun(
    supersedes: bool,
) -> None:
    """The token of a plugin is what its ``handle_update`` returned: there is none where that was not called."""
    world = World()
    refusals = busy(world)
    # A type that compares its token with the definition itself.
    patched(world, supersedes=supersedes, is_outdated=lambda self, token: token < 0)
    world.create(template({"a": value("1", "s")}))
    world.settle()
    refusals += [1, 1]
    world.update(sized("s"))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world) == {"a": ("1", "s"), "b": ("2", "s")}
    # A type that supersedes takes what is half way for something that may be anything.
    changed = [("change", "a")] if supersedes else []
    assert world.cloud.log == [("make", "a"), *changed, ("make", "b")]
    assert not refusals


@patient
@given(changes=changes)
def test_object_becomes_what_the_last_update_says_wherever_those_before_were_cut_short(
    changes: Sequence[tuple[str, int, int]],
) -> None:
    world = World()
    refusals = busy(world)
    stack_id = world.create(sized("s"))
    world.settle()
    for size, refused, turns in changes:
        refusals[:] = [1] * refused
        world.update(sized(size))
        step(world, turns)
    world.settle()
    check_became(world, stack_id, changes[-1][0])
    world.close()
