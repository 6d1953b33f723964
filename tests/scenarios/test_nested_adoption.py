"""Stacks in stacks that change hands: exported, given up, and adopted again with everything in them."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from orchestrator.config.limits import Limits
from orchestrator.planning.stored_templates import job_of_template
from orchestrator.queries.stack_document import document_of
from tests.scenarios.built_once import at_every_message
from tests.scenarios.test_nested import FILES, names, root, stacks
from tests.scenarios.world import World

ALL = ["disk", "net", "server", "user"]


@pytest.fixture
def world() -> Iterator[World]:
    with closing(World()) as made:
        yield made


def given_up(world: World) -> Any:
    """Make a stack with a stack in it, export it, give it up, and return the document's entries."""
    world.create(root(), files=FILES)
    world.settle()
    stack = world.store.stacks.find("s", project="default")
    rows: dict[str, list[Any]] = {each.id: [] for each in stacks(world)}
    for row in world.store.stacks.resources_in_tree(stack.root_id):
        rows[row.stack_id].append(row)
    definition = job_of_template(world.store, stack, stack.template_id)
    document = document_of(stack, definition, rows, Limits())
    world.abandon()
    world.settle()
    assert not stacks(world)
    return json.loads(json.dumps(document))["resources"]


def test_what_was_given_up_is_adopted_with_what_is_in_it(world: World) -> None:
    entries = given_up(world)
    assert set(entries["pair"]["resources"]) == {"disk", "server"}
    before = dict(world.cloud.objects)
    world.adopt(root(), entries, files=FILES)
    world.settle()
    assert {f"{each.action}_{each.status}" for each in stacks(world)} == {"ADOPT_COMPLETE"}
    assert set(world.cloud.objects) == set(before)
    child = next(each for each in stacks(world) if each.parent_id)
    assert world.store.stacks.resource(child.id, "disk").physical_id in before
    world.update(root(size="large"), files=FILES)
    world.settle()
    assert set(world.cloud.objects) == set(before)
    world.delete()
    world.settle()
    assert not world.cloud.objects


def test_an_adoption_that_fails_below_and_is_rolled_back_leaves_everything_alone(world: World) -> None:
    entries = given_up(world)
    entries["pair"]["resources"]["server"]["resource_id"] = "server-404"
    world.adopt(root(), entries, files=FILES, rollback=True)
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert [each.name for each in stacks(world)] == ["s"]
    assert names(world) == ALL


def test_an_entry_that_is_missing_below_is_told(world: World) -> None:
    entries = given_up(world)
    del entries["pair"]["resources"]["server"]
    world.adopt(root(), entries, files=FILES)
    world.settle()
    stack = world.store.stacks.find("s", project="default")
    assert (stack.action, stack.status) == ("ADOPT", "FAILED")
    assert "resources.server: the entry of the adopt file is missing" in stack.reason
    assert names(world) == ALL


@pytest.mark.parametrize("change", ["update", "cancel", "delete"])
def test_whatever_comes_at_any_message_has_the_last_word(change: str) -> None:
    begins = World()
    begins.adopt(root(), given_up(begins), files=FILES)

    def delivers(world: World) -> bool:
        world.deliver()
        return bool(world.messages) and world.state() == "ADOPT_IN_PROGRESS"

    for turn, world in at_every_message(begins, delivers):
        if change == "update":
            world.update(root(size="large"), files=FILES)
        elif change == "cancel":
            world.cancel()
        else:
            world.delete()
        world.settle()
        assert all(each.status == "COMPLETE" for each in stacks(world)), turn
        if change == "delete":
            # What is in a stack that was not begun yet nobody has taken over.
            assert names(world) in ([], ["disk", "server"]), turn
            assert not stacks(world), turn
        else:
            assert names(world) == ALL, turn
        if change == "update":
            assert (
                world.cloud.sizes[next(each for each in world.cloud.objects if "server" in each)] == "large"
            )
