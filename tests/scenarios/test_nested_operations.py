"""Stacks in stacks, as they are: checked, suspended, resumed, repaired and given up together with what they are in."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from orchestrator.errors import Conflict
from tests.scenarios.built_once import at_every_message
from tests.scenarios.groups import TYPES
from tests.scenarios.test_nested import FILES, names, root, stacks
from tests.scenarios.world import World

ALL = ["disk", "net", "server", "user"]


@pytest.fixture
def world() -> Iterator[World]:
    with closing(World()) as made:
        made.create(root(), files=FILES)
        made.settle()
        yield made


def states(world: World) -> set[str]:
    return {f"{each.action}_{each.status}" for each in stacks(world)}


def physical(world: World, name: str) -> str:
    return next(each for each in world.cloud.objects if each.rsplit("-", 1)[0] == name)


def test_a_suspend_and_a_resume_go_down(world: World) -> None:
    world.suspend()
    world.settle()
    assert states(world) == {"SUSPEND_COMPLETE"}
    assert sorted(each.rsplit("-", 1)[0] for each in world.cloud.resting) == ALL
    suspended = [name for action, name in world.cloud.log if action == "suspend"]
    assert suspended == ["user", "server", "disk", "net"]
    world.resume()
    world.settle()
    assert states(world) == {"RESUME_COMPLETE"}
    assert not world.cloud.resting


def test_a_check_goes_down_and_an_update_repairs_below(world: World) -> None:
    server = physical(world, "server")
    world.cloud.sizes[server] = "bent"
    world.check()
    world.settle()
    stack = world.store.stacks.find("s", project="default")
    assert (stack.action, stack.status) == ("CHECK", "FAILED")
    assert "resources.pair: " in stack.reason
    assert "changed by others: size" in stack.reason
    child = next(each for each in stacks(world) if each.parent_id)
    assert (child.action, child.status) == ("CHECK", "FAILED")
    world.update(root(), files=FILES)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert world.cloud.sizes[physical(world, "server")] == "small"
    assert names(world) == ALL


def test_a_check_below_that_finds_nothing_says_so(world: World) -> None:
    world.check()
    world.settle()
    assert states(world) == {"CHECK_COMPLETE"}


def test_what_went_wrong_below_is_seen_to_by_an_update_that_changes_nothing(world: World) -> None:
    child = next(each for each in stacks(world) if each.parent_id)
    row = world.store.stacks.resource(child.id, "disk")
    with world.store.database.write() as connection:
        connection.exec_driver_sql("UPDATE resource SET unhealthy = 1 WHERE id = ?", (row.id,))
    before = physical(world, "disk")
    world.update(root(), files=FILES)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert physical(world, "disk") != before
    assert names(world) == ALL


def test_a_refresh_looks_below(world: World) -> None:
    world.cloud.sizes[physical(world, "server")] = "bent"
    world.update(root(), files=FILES)
    world.settle()
    assert world.cloud.sizes[physical(world, "server")] == "bent"
    world.update(root(), files=FILES, refresh=True)
    world.settle()
    assert world.cloud.sizes[physical(world, "server")] == "small"


def test_who_gives_a_stack_up_gives_up_those_in_it(world: World) -> None:
    world.abandon()
    world.settle()
    assert not stacks(world)
    assert names(world) == ALL


def test_a_deletion_may_follow_a_suspend_below(world: World) -> None:
    world.suspend()
    world.settle()
    world.delete()
    world.settle()
    assert not world.cloud.objects
    assert not stacks(world)


OPERATIONS: dict[str, Callable[[World], object]] = {
    "check": lambda world: world.check(),
    "suspend": lambda world: world.suspend(),
    "resume": lambda world: world.resume(),
    "abandon": lambda world: world.abandon(),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("change", ["update", "cancel", "delete"])
def test_whatever_comes_at_any_message_has_the_last_word(operation: str, change: str) -> None:
    begins = World()
    begins.create(root(), files=FILES)
    begins.settle()
    if operation == "resume":
        begins.suspend()
        begins.settle()
    OPERATIONS[operation](begins)
    for _, world in at_every_message(begins, _delivers):
        _interrupt(world, change)
        world.settle()
        _assert_sound(world, change)
        # What was given up before stays.
        assert operation == "abandon" or change != "delete" or not world.cloud.objects


def _delivers(world: World) -> bool:
    """Deliver a message; False if there is nothing left that could be interrupted."""
    world.deliver()
    return bool(world.messages and stacks(world))


def _interrupt(world: World, change: str) -> None:
    try:
        if change == "update":
            world.update(root(size="large"), files=FILES)
        elif change == "cancel":
            world.cancel(rollback=False)
        else:
            world.delete()
    except Conflict:
        # What is suspended must be resumed first, and what is given up is gone.
        assert change != "delete"


def _assert_sound(world: World, change: str) -> None:
    assert all(each.status != "IN_PROGRESS" for each in stacks(world))
    if change == "delete":
        assert not stacks(world)
        return
    assert names(world) == ALL
    rows = {row.id for each in stacks(world) for row in world.store.stacks.resources(each.id)}
    assert all(each.parent_resource in rows for each in stacks(world) if each.parent_id)
    if not any(each.name == "s" for each in stacks(world)):
        return
    # Whatever became of it, it can be brought back to what it was.
    if any(each.action in ("SUSPEND", "RESUME") and each.status != "COMPLETE" for each in stacks(world)) or (
        world.state().startswith("SUSPEND")
    ):
        world.resume()
        world.settle()
        assert not world.cloud.resting
    if not world.state().startswith("DELETE"):
        world.update(root(size="medium"), files=FILES)
        world.settle()
        assert states(world) == {"UPDATE_COMPLETE"}
        assert world.cloud.sizes[physical(world, "server")] == "medium"


def test_a_group_is_checked_suspended_and_given_up_like_any_stack() -> None:
    template = """\
heat_template_version: 2021-04-16
resources:
  group:
    type: OS::Heat::ResourceGroup
    properties: {count: 2, resource_def: {type: Cloud::Object, properties: {value: "v%index%"}}}
"""
    with closing(World(types=TYPES)) as world:
        world.create(template)
        world.settle()
        for act, state in (
            (world.check, "CHECK_COMPLETE"),
            (world.suspend, "SUSPEND_COMPLETE"),
            (world.resume, "RESUME_COMPLETE"),
        ):
            act()
            world.settle()
            assert states(world) == {state}
        world.abandon()
        world.settle()
        assert not stacks(world)
        assert len(world.cloud.objects) == 2
