"""Wait conditions: a stack waits to be told, and after an update perhaps again."""

from typing import Any

import pytest

from tests.scenarios.telling import deliver_all, states
from tests.scenarios.world import World
from workers.resources.core.wait_condition import (
    UpdateWaitConditionHandle,
    WaitCondition,
    WaitConditionHandle,
)

TYPES = {
    "OS::Heat::UpdateWaitConditionHandle": UpdateWaitConditionHandle,
    "OS::Heat::WaitCondition": WaitCondition,
    "OS::Heat::WaitConditionHandle": WaitConditionHandle,
}


def template(kind: str, size: str = "s") -> str:
    return f"""\
heat_template_version: wallaby
resources:
  handle: {{type: 'OS::Heat::{kind}'}}
  server: {{type: Cloud::Object, properties: {{size: {size}}}}}
  told:
    type: OS::Heat::WaitCondition
    depends_on: server
    properties: {{handle: {{get_resource: handle}}, timeout: 600}}
"""


def signal(world: World, stack_id: str) -> None:
    """Tell the handle of the stack that all is well."""
    rows = world.store.stacks.resources(stack_id)
    (handle,) = [row for row in rows if row.name == "handle" and row.replaced_by is None]
    told = {"1": {"status": "SUCCESS", "reason": "well", "data": None}}
    stack = world.store.stacks.find(stack_id, project="default")
    assert world.store.stacks.write_signal(handle, stack.traversal_id, told, "well")
    world.publish(world.store.nodes.wake_dependents(handle.id))


def waiting(kind: str) -> tuple[World, str]:
    """Return a world with a stack that was told once that all is well."""
    world = World(TYPES)
    stack_id = world.create(template(kind))
    deliver_all(world)
    assert world.state() == "CREATE_IN_PROGRESS"
    signal(world, stack_id)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    return world, stack_id


def ids(world: World, stack_id: str) -> dict[str, Any]:
    return {row.name: row.id for row in world.store.stacks.resources(stack_id)}


def test_an_update_of_what_was_told_once_waits_for_nothing() -> None:
    world, stack_id = waiting("WaitConditionHandle")
    before = ids(world, stack_id)
    world.update(template("WaitConditionHandle", "l"))
    deliver_all(world)
    assert world.state() == "UPDATE_COMPLETE"
    assert ids(world, stack_id) == before


@pytest.mark.parametrize("size", ["s", "l"])
def test_after_every_update_what_has_to_be_told_anew_is_waited_for(size: str) -> None:
    world, stack_id = waiting("UpdateWaitConditionHandle")
    for _ in range(2):
        before = ids(world, stack_id)
        world.update(template("UpdateWaitConditionHandle", size))
        deliver_all(world)
        assert world.state() == "UPDATE_IN_PROGRESS"
        signal(world, stack_id)
        world.settle()
        assert world.state() == "UPDATE_COMPLETE"
        after = ids(world, stack_id)
        assert after["server"] == before["server"]
        assert after["handle"] != before["handle"]
        assert after["told"] != before["told"]
        assert [len(each) for each in states(world, stack_id).values()] == [1, 1, 1]


def test_what_an_update_renewed_is_brought_back_with_what_it_was_told() -> None:
    world, stack_id = waiting("UpdateWaitConditionHandle")
    before = ids(world, stack_id)
    world.update(template("UpdateWaitConditionHandle", "l"))
    deliver_all(world)
    began = world.now
    world.cancel()
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert world.now - began < 60, "nobody waited for a signal"
    assert ids(world, stack_id) == before
    assert [*world.cloud.sizes.values()] == ["s"]


def test_nobody_tells_and_the_update_fails() -> None:
    world, _ = waiting("UpdateWaitConditionHandle")
    world.update(template("UpdateWaitConditionHandle"))
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    assert "0 of 1 signals received" in world.store.stacks.find("s", project="default").reason
