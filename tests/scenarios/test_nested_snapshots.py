"""Snapshots that hold those of the stacks in a stack."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.scenarios.built_once import at_every_message
from tests.scenarios.test_nested import FILES, names, root, stacks
from tests.scenarios.world import World

ALL = ["disk", "net", "server", "user"]


@pytest.fixture
def world() -> Iterator[World]:
    with closing(World()) as made:
        made.create(root(), files=FILES)
        made.settle()
        yield made


def write(world: World, text: str) -> None:
    world.cloud.contents = dict.fromkeys(world.cloud.objects, text)


def contents(world: World) -> set[str]:
    return {world.cloud.contents.get(each, "") for each in world.cloud.objects}


def held(world: World) -> list[str]:
    """Return the states of all snapshots there are, at any depth."""
    return [
        f"{row.action}_{row.status}" for each in stacks(world) for row in world.store.snapshots.all(each.id)
    ]


def test_what_is_in_stacks_in_a_stack_is_brought_back_too(world: World) -> None:
    write(world, "early")
    world.snapshot("before")
    world.settle()
    assert world.state() == "SNAPSHOT_COMPLETE"
    assert held(world) == ["CREATE_COMPLETE"] * 2
    world.update(root(size="large"), files=FILES)
    world.settle()
    write(world, "late")
    world.restore("before")
    world.settle()
    assert world.state() == "RESTORE_COMPLETE"
    assert contents(world) == {"early"}
    assert names(world) == ALL
    assert "large" not in world.cloud.sizes.values()


def test_who_lets_a_snapshot_go_lets_those_in_it_go(world: World) -> None:
    world.snapshot("before")
    world.settle()
    world.delete_snapshot("before")
    assert held(world) == []


def test_a_snapshot_that_fails_below_fails(world: World) -> None:
    world.cloud.failing_images["server"] = True
    world.snapshot("before")
    world.settle()
    assert world.state() == "SNAPSHOT_FAILED"
    assert set(held(world)) == {"CREATE_FAILED"}
    world.delete_snapshot("before")
    assert held(world) == []


def test_what_a_snapshot_held_of_a_stack_that_is_gone_cannot_come_back(world: World) -> None:
    world.snapshot("before")
    world.settle()
    alone = "heat_template_version: 2021-04-16\nresources: {net: {type: Cloud::Object}}\n"
    world.update(alone)
    world.settle()
    world.restore("before")
    world.settle()
    stack = world.store.stacks.find("s", project="default")
    assert (stack.action, stack.status) == ("RESTORE", "FAILED")
    assert "resources.pair: the snapshot of its stack is gone" in stack.reason


@pytest.mark.parametrize("change", ["update", "cancel", "delete"])
def test_whatever_comes_at_any_message_has_the_last_word(change: str) -> None:
    begins = World()
    begins.create(root(), files=FILES)
    begins.settle()
    begins.snapshot("before")

    def delivers(world: World) -> bool:
        world.deliver()
        return bool(world.messages) and world.state() == "SNAPSHOT_IN_PROGRESS"

    for _, world in at_every_message(begins, delivers):
        if change == "update":
            world.update(root(size="large"), files=FILES)
        elif change == "cancel":
            world.cancel(rollback=False)
        else:
            world.delete()
        world.settle()
        assert "CREATE_IN_PROGRESS" not in held(world)
        assert names(world) == ([] if change == "delete" else ALL)
        if change == "update":
            assert world.state() == "UPDATE_COMPLETE"
            world.delete_snapshot("before")
            assert held(world) == []
