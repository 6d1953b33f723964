"""What engines of this kind are known to get wrong about suspending and its like; the table is in ``test_traps``."""

import pytest

from orchestrator.errors import Conflict
from tests.scenarios.telling import rows_of, states
from tests.scenarios.test_operations import OPERATIONS, at_rest
from tests.scenarios.test_unclean import stuck
from tests.scenarios.test_updates import Story, done, value


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


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_stack_that_could_not_be_deleted_is_good_for_a_delete_only(operation: str) -> None:
    story = Story({"a": "", "b": "depends_on: a"})
    world = story.world
    stuck(world, "a")
    world.delete()
    world.settle()
    assert world.state() == "DELETE_FAILED"
    before = states(world, story.id)
    with pytest.raises(Conflict, match="only a delete can follow"):
        OPERATIONS[operation](world)
    assert world.state() == "DELETE_FAILED"
    assert states(world, story.id) == before
