"""A step that takes its worker down fails its resource in the end, whatever it is a step of, and nothing else."""

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.views.facts import LOST
from tests.scenarios.cloud import Crash
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.telling import patched, reason, said, states
from tests.scenarios.test_hooks import ALL
from tests.scenarios.test_updates import present, template, value
from tests.scenarios.world import World

#: More deaths than these are no coincidence: the engine repeats for ever.
MANY = 40
BEFORE = {"a": value("1", "s"), "b": "depends_on: a", "c": value("c", "s")}


def settle(world: World) -> int:
    """Let everything come to rest, with another process for each that dies; return how many died."""
    for deaths in range(MANY):
        if world.survive(world.settle):
            return deaths
    raise AssertionError("a step that takes its process down is repeated for ever")


def deadly(world: World, method: str) -> Callable[[], None]:
    """Let a method of the resource ``a`` take its process down from now on; return what heals it."""
    kind = world.checker._types["Cloud::Object"]
    sound = getattr(kind, method)

    def dies(self: Any, *arguments: Any) -> Any:
        if self.name == "a":
            raise Crash
        return sound(self, *arguments)

    patched(world, **{method: dies})
    return lambda: setattr(kind, method, sound)


@pytest.mark.parametrize("limit", [1, 3])
def test_a_rollback_whose_planning_takes_its_coordinator_down_is_given_up_after_so_many(limit: int) -> None:
    world = World(lost_attempt_limit=limit)
    world.create(template({"a": value("1", "s")}))
    world.settle()
    world.cloud.failing_updates = {"a": True}
    world.update(template({"a": value("1", "l")}), rollback=True)

    def dies(*_: Any) -> None:
        # The worker is spared.
        if world.state() == "UPDATE_FAILED":
            raise Crash

    patched(world, validate=dies)
    assert settle(world) == limit
    assert world.state() == "UPDATE_FAILED"
    assert reason(world).endswith(f"it is not rolled back: its coordinator was lost {limit} times")
    # The end is over, and the stack can be changed.
    world.delete()
    world.settle()
    assert world.cloud.objects == {}


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_a_create_that_takes_its_worker_down_fails_after_so_many(limit: int) -> None:
    world = World(lost_attempt_limit=limit)
    heal = deadly(world, "handle_create")
    stack_id = world.create(template(BEFORE))
    assert settle(world) == limit
    assert world.state() == "CREATE_FAILED"
    assert reason(world) == f"Resource CREATE failed: resources.a: its worker was lost {limit} times"
    assert states(world, stack_id) == {
        "a": ["CREATE_FAILED"],
        "b": ["INIT_COMPLETE"],
        "c": ["CREATE_COMPLETE"],
    }
    events = [event for event in world.store.events.read(stack_id) if event.resource == "a"]
    assert [event.cause for event in events] == ["", *[LOST] * limit, ""]
    assert (events[-1].status, events[-1].reason) == ("FAILED", f"its worker was lost {limit} times")
    heal()
    world.delete()
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert world.cloud.objects == {}


def test_what_was_made_before_the_worker_died_is_found_and_deleted() -> None:
    world = World()
    heal = deadly(world, "check_create_complete")
    stack_id = world.create(template(BEFORE))
    settle(world)
    assert world.state() == "CREATE_FAILED"
    assert len(world.cloud.objects) == 2
    heal()
    world.delete()
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert world.cloud.objects == {}


def test_fewer_losses_than_the_limit_cost_time_and_nothing_else() -> None:
    world = World()
    heal = deadly(world, "handle_create")
    world.create(template(BEFORE))
    for _ in range(4):
        assert not world.survive(world.settle)
    heal()
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    # The next operation counts anew.
    heal = deadly(world, "handle_update")
    world.update(template({**BEFORE, "a": value("1", "l")}))
    for _ in range(4):
        assert not world.survive(world.settle)
    heal()
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"


def test_an_update_fails_and_the_next_one_repairs_what_it_left() -> None:
    world = World()
    world.create(template(BEFORE))
    world.settle()
    heal = deadly(world, "handle_update")
    stack_id = world.update(template({**BEFORE, "a": value("1", "l")}))
    assert settle(world) == 5
    assert world.state() == "UPDATE_FAILED"
    assert states(world, stack_id)["a"] == ["UPDATE_FAILED"]
    heal()
    world.update(template({**BEFORE, "a": value("1", "l")}))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world)["a"] == ("1", "l")


def test_a_check_notes_the_fault_and_goes_on() -> None:
    world = World()
    stack_id = world.create(template(BEFORE))
    world.settle()
    deadly(world, "handle_check")
    world.check()
    assert settle(world) == 5
    assert world.state() == "CHECK_FAILED"
    assert "a: its worker was lost 5 times" in reason(world)
    assert states(world, stack_id) == {
        "a": ["CHECK_FAILED"],
        "b": ["CHECK_COMPLETE"],
        "c": ["CHECK_COMPLETE"],
    }


def test_a_cleanup_is_held_back_and_the_definition_is_in_service() -> None:
    world = World()
    stack_id = world.create(template(BEFORE))
    world.settle()
    heal = deadly(world, "handle_delete")
    world.update(template({"c": value("c", "l"), "d": ""}))
    assert settle(world) == 5
    assert world.state() == "UPDATE_FAILED"
    assert "the definition is in service" in reason(world)
    assert present(world).keys() == {"a", "c", "d"}
    assert world.store.stacks.in_service(world.store.stacks.find("s", project="default"))
    heal()
    world.delete()
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"


def test_a_deletion_fails_and_can_be_begun_again() -> None:
    world = World()
    stack_id = world.create(template(BEFORE))
    world.settle()
    heal = deadly(world, "handle_delete")
    world.delete()
    assert settle(world) == 5
    assert world.state() == "DELETE_FAILED"
    assert said(world, stack_id, "a")[-1] == "DELETE_FAILED"
    heal()
    world.delete()
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"


def test_a_worker_that_dies_before_a_hook_has_changed_nothing() -> None:
    world = World()
    world.create(template(BEFORE))
    world.settle()
    deadly(world, "needs_replace")
    stack_id = world.update(template({**BEFORE, "a": value("1", "l")}), **ALL)
    for _ in range(MANY):
        if world.survive(world.settle_clearing):
            break
    else:
        raise AssertionError("a step that takes its process down is repeated for ever")
    assert world.state() == "UPDATE_FAILED"
    assert states(world, stack_id)["a"] == ["CREATE_COMPLETE"]


@die_everywhere
def test_a_coordinator_that_dies_over_the_failure_leaves_it_to_the_next(instruction: int) -> None:
    world = World(lost_attempt_limit=1)
    heal = deadly(world, "handle_create")
    stack_id = world.create(template({"a": value("1")}))
    assert not world.survive(world.settle)
    world.cloud.crash_after(instruction)
    settle(world)
    world.cloud.crash_at = None
    assert world.state() == "CREATE_FAILED"
    heal()
    world.delete()
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert world.cloud.objects == {}
