"""The deletion policy ``Snapshot``: a snapshot is complete before what it is of is deleted, and stays for ever."""

import pytest

from tests.scenarios.built_once import built_once
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.test_updates import done, template, value
from tests.scenarios.world import World

KEPT = "deletion_policy: Snapshot"


def pictured(text: str, size: str = "") -> str:
    return f"{value(text, size)}, {KEPT}"


@built_once
def created() -> World:
    """Return a stack of which one resource leaves a snapshot, and another, which needs that, none."""
    world = World()
    world.create(template({"a": pictured("1"), "b": value("{get_attr: [a, value]}")}))
    world.settle()
    done(world)
    return world


def reasons(world: World, name: str) -> list[str]:
    """Return the reasons of a resource's deletions."""
    stack = world.store.stacks.all(project="default")[0].id
    found = world.store.events.read(stack, limit=100)
    return [each.reason for each in found if (each.resource, each.action) == (name, "DELETE")]


def test_a_deleted_stack_leaves_the_snapshots_that_are_wanted() -> None:
    world = created()
    world.cloud.polls = {"a": 3}
    world.delete()
    world.settle()
    assert done(world) == [("unmake", "b"), ("picture", "a"), ("unmake", "a")]
    assert len(world.cloud.last_images) == 1
    assert world.cloud.objects == {}


@pytest.mark.parametrize(
    "after",
    [{"b": value("2")}, {"a": pictured("9"), "b": value("{get_attr: [a, value]}")}],
    ids=["removed", "replaced"],
)
def test_an_update_leaves_a_snapshot_of_what_it_removes_or_replaces(after: dict[str, str]) -> None:
    world = created()
    world.update(template(after))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert [each for each in done(world) if each[1] == "a" and each[0] != "make"] == [
        ("picture", "a"),
        ("unmake", "a"),
    ]


def test_the_event_of_a_deletion_names_the_snapshot() -> None:
    world = created()
    world.update(template({"b": value("2")}))
    world.settle()
    (row,) = world.cloud.last_images
    assert f"snapshot of {row} taken before the deletion" in reasons(world, "a")


def test_what_was_never_complete_leaves_no_snapshot() -> None:
    world = World()
    world.cloud.failing = {"b": -1}
    world.create(template({"a": pictured("1"), "b": pictured("2")}), rollback=True)
    world.settle()
    # What was complete when the other failed is worth one.
    assert [each for each in done(world) if each[0] != "make"] == [("picture", "a"), ("unmake", "a")]


def test_a_failed_snapshot_fails_the_deletion_and_the_object_stays() -> None:
    world = created()
    world.cloud.failing_last_images = {"a": True}
    world.delete()
    world.settle()
    assert world.state() == "DELETE_FAILED"
    assert len(world.cloud.objects) == 1
    assert done(world) == [("unmake", "b")]
    world.delete()
    world.settle()
    assert done(world) == [("picture", "a"), ("unmake", "a")]


def test_a_deletion_that_fails_after_its_snapshot_is_tried_again_without_another() -> None:
    world = created()
    world.cloud.failing_deletes = {"a": True}
    world.delete()
    world.settle()
    assert world.state() == "DELETE_FAILED"
    world.delete()
    world.settle()
    assert done(world) == [("unmake", "b"), ("picture", "a"), ("unmake", "a")]


def test_what_lives_on_after_a_failed_deletion_has_another_snapshot_at_its_end() -> None:
    world = created()
    world.cloud.failing_deletes = {"a": True}
    world.update(template({"b": value("2")}))
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    world.update(template({"a": pictured("1", "l"), "b": value("2")}))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    world.cloud.last_images.clear()
    done(world)
    world.delete()
    world.settle()
    assert ("picture", "a") in done(world)


def test_the_policy_may_be_taken_back_until_the_deletion() -> None:
    world = created()
    world.update(template({"a": value("1"), "b": value("{get_attr: [a, value]}")}))
    world.settle()
    world.delete()
    world.settle()
    assert world.cloud.last_images == {}


def test_an_object_that_is_gone_leaves_no_snapshot() -> None:
    world = created()
    world.cloud.objects.clear()
    world.delete()
    world.settle()
    assert (done(world), world.store.stacks.all(project="default")) == ([], [])


@die_everywhere
def test_a_death_at_any_instruction_leaves_one_snapshot(instruction: int) -> None:
    world = created()
    world.cloud.polls = {"a": 3}
    world.cloud.crash_after(instruction)
    if not world.survive(world.delete):
        world.delete()
    while not world.survive(world.settle):
        continue
    world.cloud.crash_at = None
    assert world.store.stacks.all(project="default") == []
    assert [each for each in done(world) if each[1] == "a"] == [("picture", "a"), ("unmake", "a")]
    assert len(world.cloud.last_images) == 1


@die_everywhere
def test_a_death_at_any_instruction_of_a_deletion_that_is_begun_again_leaves_one_snapshot(
    instruction: int,
) -> None:
    world = created()
    world.cloud.polls = {"a": 3}
    world.delete()
    world.cloud.crash_after(instruction)
    world.survive(world.deliver)
    if world.messages:
        world.survive(world.deliver)
    world.survive(world.delete)
    while not world.survive(world.settle):
        continue
    world.cloud.crash_at = None
    assert world.store.stacks.all(project="default") == []
    assert [each for each in done(world) if each[1] == "a"] == [("picture", "a"), ("unmake", "a")]
