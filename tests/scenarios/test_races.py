"""Operations that want the same stack at the same moment: one gets it, and whoever does not is told."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from hooks.lifecycle import LifecyclePlugin
from orchestrator.engine.coordinator import TRIES
from orchestrator.errors import Conflict
from orchestrator.model.messages import CancelJob, DeleteJob, StackJob
from tests.scenarios.built_once import built_once
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.test_update_faults import meanwhile, step
from tests.scenarios.test_updates import Story, present, template, value
from tests.scenarios.world import World

FIRST, SECOND = "first", "second"


class EveryTime(LifecyclePlugin):
    """A lifecycle plugin that acts each time after an operation is planned and before it begins."""

    name = "every-time"

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self.times = 0

    def do_pre_op(self, *_: Any) -> None:
        self.times += 1
        self._act()


def many(text: str, count: int = 15) -> str:
    return template({f"r{number:02}": value(text) for number in range(count)})


@built_once
def updating(count: int = 15) -> World:
    """Return a world in which many are to be replaced."""
    world = World()
    world.create(many("1", count))
    world.settle()
    world.update(many("2", count), rollback=True)
    return world


def while_replacing(operation: Callable[[World], object]) -> World:
    """Do something with a stack whose update makes another replacement each time that a plan was made."""
    world = updating()
    plugin = EveryTime(lambda: step(world))
    world.plug(plugin)
    operation(world)
    world.plug()
    world.settle()
    # The second plan knew all rows there were.
    assert plugin.times == 2
    return world


def test_an_update_gets_through_although_the_one_before_goes_on_making_replacements() -> None:
    world = while_replacing(lambda world: world.update(many("3")))
    assert world.state() == "UPDATE_COMPLETE"
    assert {made for made, _ in present(world).values()} == {"3"}
    assert len(world.cloud.objects) == 15


def test_a_delete_gets_through_although_an_update_goes_on_making_replacements() -> None:
    world = while_replacing(lambda world: world.delete())
    assert world.cloud.objects == {}


def test_a_cancel_gets_through_although_the_update_goes_on_making_replacements() -> None:
    world = while_replacing(lambda world: world.cancel())
    assert world.state() == "ROLLBACK_COMPLETE"
    assert {made for made, _ in present(world).values()} == {"1"}
    assert len(world.cloud.objects) == 15


@pytest.mark.parametrize("deletes", [False, True])
def test_whoever_gives_up_leaves_the_operation_that_was_faster_in_progress(deletes: bool) -> None:
    world = updating()
    plugin = EveryTime(lambda: None)

    def overtake() -> None:
        """Let another update begin each time, and the last of them make a replacement instead."""
        if plugin.times == TRIES:
            step(world)
            return
        world.plug()
        # Of the updates before it, no check is left to carry out.
        world.messages.clear()
        world.update(many(f"faster {plugin.times}"))
        world.plug(plugin)

    plugin._act = overtake
    world.plug(plugin)
    slower = partial(world.delete) if deletes else partial(world.update, many("slower"))
    with pytest.raises(Conflict, match="is being changed by others"):
        slower()
    assert plugin.times == TRIES
    world.plug()
    assert world.state() == "UPDATE_IN_PROGRESS"
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert {made for made, _ in present(world).values()} == {f"faster {TRIES - 1}"}


@die_everywhere
def test_a_coordinator_may_die_while_it_takes_a_stack_from_such_an_update(instruction: int) -> None:
    world = updating(4)
    plugin = EveryTime(lambda: step(world))
    world.plug(plugin)
    job = StackJob(name="s", template=many("3", 4))
    world.cloud.crash_after(instruction)
    world.survive(lambda: world.coordinator.update(job))
    world.cloud.crash_at = None
    # The job was not acknowledged: it is delivered again.
    world.coordinator.update(job)
    world.plug()
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert {made for made, _ in present(world).values()} == {"3"}
    assert len(world.cloud.objects) == 4


def job_of(world: World, size: str, job_id: str) -> Callable[[], object]:
    job = StackJob(name="s", template=template({"a": value("1", size)}), job_id=job_id)
    return lambda: world.coordinator.update(job)


def test_of_two_racing_updates_one_wins_and_the_other_can_tell() -> None:
    world = Story({"a": value("1", "s")}).world
    meanwhile(world, job_of(world, "m", FIRST), job_of(world, "l", SECOND))
    assert present(world) == {"a": ("1", "l")}
    first, second = (world.store.stacks.job(each) for each in (FIRST, SECOND))
    stack = world.store.stacks.find("s", project="default")
    assert first is not None
    assert second is not None
    assert second.traversal_id == stack.traversal_id
    assert first.traversal_id not in (None, stack.traversal_id)


def test_a_delete_that_races_an_update_wins_whichever_came_first() -> None:
    story = Story({"a": value("1", "s")})
    world = story.world
    meanwhile(world, lambda: world.update(template({"a": value("2"), "b": ""})), world.delete)
    assert (world.state(story.id), world.cloud.objects) == ("DELETE_COMPLETE", {})

    story = Story({"a": value("1", "s")})
    world = story.world
    world.plug(EveryTime(lambda: deleted_once(world)))
    with pytest.raises(Conflict, match="only a delete can follow"):
        world.update(template({"a": value("2"), "b": ""}))
    world.plug()
    world.settle()
    assert (world.state(story.id), world.cloud.objects) == ("DELETE_COMPLETE", {})


def deleted_once(world: World) -> None:
    """Delete the stack, unless that is under way: its own plugins are asked, too."""
    plugins = world.coordinator._brackets._plugins
    world.plug()
    world.coordinator.delete(DeleteJob(name="s"))
    world.plug(*plugins)


def test_two_deletes_at_once_are_one() -> None:
    story = Story({"a": value("1"), "b": "depends_on: a"})
    world = story.world
    meanwhile(world, world.delete, world.delete)
    assert (world.state(story.id), world.cloud.objects) == ("DELETE_COMPLETE", {})
    assert world.unmade_names() == ["b", "a"]


def test_a_cancel_that_an_update_overtakes_is_refused_and_undoes_nothing() -> None:
    world = Story({"a": value("1", "s")}).world
    world.update(template({"a": value("1", "m")}))
    with pytest.raises(Conflict, match="being changed by others"):
        meanwhile(world, job_of(world, "l", SECOND), world.cancel)
    world.plug()
    world.settle()
    assert (world.state(), present(world)) == ("UPDATE_COMPLETE", {"a": ("1", "l")})


def test_a_cancel_without_rollback_that_comes_too_late_is_refused() -> None:
    world = Story({"a": value("1", "s")}).world
    world.update(template({"a": value("1", "m")}))
    cancel, cancelled = world.store.traversals.cancel, CancelJob(name="s", rollback=False)

    def late(*arguments: Any, **more: Any) -> Any:
        world.update(template({"a": value("1", "l")}))
        return cancel(*arguments, **more)

    world.store.traversals.cancel = late  # type: ignore[method-assign]
    with pytest.raises(Conflict, match="another operation took its place"):
        world.coordinator.cancel(cancelled)
    world.settle()
    assert (world.state(), present(world)) == ("UPDATE_COMPLETE", {"a": ("1", "l")})
    assert world.store.stacks.job(cancelled.job_id) is None
