"""A cleanup that fails inside a stack in a stack: told up to the outermost, and nothing is undone for it."""

import pytest

from orchestrator.store.stacks.unclean import UNCLEAN
from tests.scenarios.telling import reason, states
from tests.scenarios.test_nested import BIG_PAIR, FILES, names, root, stacks
from tests.scenarios.test_unclean import stuck
from tests.scenarios.world import World

OUTER = """\
heat_template_version: 2021-04-16
resources:
  web: {type: middle.yaml}
"""


def tree(pair: str) -> dict[str, str]:
    return {
        "middle.yaml": root(size="big" if pair == FILES["pair.yaml"] else "small"),
        "pair.yaml": pair,
    }


def update(world: World, *, rollback: bool = False) -> None:
    world.update(root(size="big"), files=FILES, rollback=rollback)
    world.settle()


def unclean() -> tuple[World, str]:
    """Return a world in which a stack in a stack could not take away what it does not want any more."""
    world = World()
    stack_id = world.create(root(), files={"pair.yaml": BIG_PAIR})
    world.settle()
    stuck(world, "extra")
    return world, stack_id


@pytest.mark.parametrize("rollback", [False, True])
def test_nothing_is_undone_and_the_outermost_tells_why(rollback: bool) -> None:
    world, stack_id = unclean()
    update(world, rollback=rollback)
    assert world.state() == "UPDATE_FAILED"
    assert reason(world) == f"{UNCLEAN}resources.pair: resources.extra: stuck"
    assert states(world, stack_id)["pair"] == ["UPDATE_COMPLETE"]
    assert names(world) == ["disk", "extra", "net", "server", "user"]
    assert "big" in world.cloud.sizes.values()
    stack = world.store.stacks.find("s", project="default")
    assert stack.completed_template_id == stack.template_id


def test_the_next_update_tries_again_although_nothing_else_changed() -> None:
    world, _ = unclean()
    update(world)
    update(world)
    assert world.state() == "UPDATE_FAILED"
    stuck(world)
    update(world)
    assert world.state() == "UPDATE_COMPLETE"
    assert [f"{each.action}_{each.status}" for each in stacks(world)] == ["UPDATE_COMPLETE"] * 2
    assert names(world) == ["disk", "net", "server", "user"]


def test_it_is_told_through_all_that_are_between() -> None:
    world = World()
    world.create(OUTER, files=tree(BIG_PAIR))
    world.settle()
    stuck(world, "extra")
    world.update(OUTER, files=tree(FILES["pair.yaml"]), rollback=True)
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    assert reason(world) == f"{UNCLEAN}resources.web: resources.pair: resources.extra: stuck"
    stuck(world)
    world.update(OUTER, files=tree(FILES["pair.yaml"]))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert "extra" not in names(world)


def test_what_fails_inside_for_another_reason_is_rolled_back_as_ever() -> None:
    world, stack_id = unclean()
    world.cloud.failing_updates = {"server": True}
    update(world, rollback=True)
    assert world.state().startswith("ROLLBACK_")
    assert "big" not in world.cloud.sizes.values()
    stuck(world)
    world.update(root(), files={"pair.yaml": BIG_PAIR})
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert names(world) == ["disk", "extra", "net", "server", "user"]
    assert states(world, stack_id)["pair"] == ["UPDATE_COMPLETE"]


def test_a_deletion_takes_all_in_the_end() -> None:
    world, stack_id = unclean()
    update(world)
    world.delete()
    world.settle()
    assert world.state() == "DELETE_FAILED"
    stuck(world)
    world.delete()
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert world.cloud.objects == {}
