"""What engines of this kind are known to get wrong about suspending and its like; the table is in ``test_traps``."""

import contextlib
from collections.abc import Callable

import pytest

from orchestrator.errors import Conflict, NotFound
from tests.scenarios.telling import rows_of, states
from tests.scenarios.test_operations import OPERATIONS, at_rest
from tests.scenarios.test_unclean import stuck
from tests.scenarios.test_updates import Story, done, present, template, value
from tests.scenarios.world import World


def test_what_waits_to_be_taken_away_is_left_alone_by_a_suspend() -> None:
    """Of a resource that was replaced, the new one is put to rest; the old one only waits for its end."""
    story = Story({"a": value("1"), "b": value("{get_attr: [a, value]}")})
    world = story.world
    stuck(world, "b")
    wanted = {"a": value("2"), "b": value("{get_attr: [a, value]}")}
    story.update(wanted, "UPDATE_FAILED")
    world.suspend()
    world.settle()
    assert world.state() == "SUSPEND_COMPLETE"
    rows = rows_of(world, story.id)
    old = {row.physical_id for each in rows.values() for row in each if row.replaced_by}
    assert old == set(story.before.values())
    assert world.cloud.resting == set(world.cloud.objects) - old
    assert states(world, story.id) == {
        "a": ["CREATE_COMPLETE", "SUSPEND_COMPLETE"],
        "b": ["DELETE_FAILED", "SUSPEND_COMPLETE"],
    }
    world.resume()
    world.settle()
    assert world.state() == "RESUME_COMPLETE"
    assert at_rest(world) == set()
    stuck(world)
    done(world)
    assert story.update(wanted) == [("unmake", "b"), ("unmake", "a")]


WITH_SNAPSHOTS: dict[str, Callable[[World], object]] = {
    **OPERATIONS,
    "snapshot": lambda world: world.snapshot("second"),
    "restore": lambda world: world.restore("first"),
}


@pytest.mark.parametrize("operation", WITH_SNAPSHOTS)
def test_a_stack_that_could_not_be_deleted_is_good_for_a_delete_only(operation: str) -> None:
    story = Story({"a": "", "b": "depends_on: a"})
    world = story.world
    world.snapshot("first")
    world.settle()
    stuck(world, "a")
    world.delete()
    world.settle()
    assert world.state() == "DELETE_FAILED"
    before = states(world, story.id)
    with pytest.raises(Conflict, match="only a delete can follow"):
        WITH_SNAPSHOTS[operation](world)
    assert world.state() == "DELETE_FAILED"
    assert states(world, story.id) == before


@pytest.mark.parametrize("operation", ["snapshot", "restore"])
def test_no_snapshot_is_taken_or_brought_back_in_the_middle_of_an_update(operation: str) -> None:
    story = Story({"a": value("1", "s"), "b": "depends_on: a"})
    world = story.world
    world.snapshot("first")
    world.settle()
    world.cloud.polls = {"a": 5}
    world.update(template({"a": value("1", "l"), "b": "depends_on: a"}))
    world.deliver()
    with pytest.raises(Conflict, match="is UPDATE_IN_PROGRESS"):
        WITH_SNAPSHOTS[operation](world)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world)["a"] == ("1", "l")


@pytest.mark.parametrize("deliveries", range(6))
def test_a_deletion_ends_although_a_snapshot_is_gone_before_it_comes_to_it(deliveries: int) -> None:
    """Of a stack and one of its snapshots that go at the same time, neither waits for the other."""
    story = Story({"a": value("1"), "b": "depends_on: a"})
    world = story.world
    for name in ("first", "second"):
        world.snapshot(name)
        world.settle()
    world.delete()
    for _ in range(deliveries):
        if world.messages:
            world.deliver()
    # By then it may be gone already.
    with contextlib.suppress(Conflict, NotFound):
        world.delete_snapshot("first", story.id)
    world.settle()
    assert world.state(story.id) == "DELETE_COMPLETE"
    assert world.store.snapshots.all(story.id) == []
    assert (world.cloud.images, world.cloud.objects) == ({}, {})
