"""Cancelling a stack with the stacks nested in it, while these go on."""

from collections.abc import Sequence

from orchestrator.model.messages import END, CheckOrder
from tests.scenarios.world import World

CHILD = """\
heat_template_version: 2021-04-16
resources: {inside: {type: Cloud::Object}}
"""
PARENT = """\
heat_template_version: 2021-04-16
resources:
  one: {type: child.yaml}
  two: {type: child.yaml}
  three: {type: child.yaml}
"""


def test_a_nested_stack_that_has_just_ended_keeps_no_other_from_being_cancelled() -> None:
    world = World()
    world.cloud.polls["inside"] = 1000
    stack_id = world.create(PARENT, files={"child.yaml": CHILD})
    while len(world.store.families.children(stack_id)) < 3:
        world.deliver()
    children = [each for each in world.store.families.children(stack_id) if each.status == "IN_PROGRESS"]
    assert len(children) == 3
    publish = world.publish

    def interfere(orders: Sequence[CheckOrder]) -> None:
        """Let the second child end as soon as the first one is cancelled."""
        publish(orders)
        if any(order.phase == END and order.stack_id == children[0].id for order in orders):
            world.store.traversals.cancel(children[1].traversal_id, reason="it failed", job_id="another")

    world.publish = interfere  # type: ignore[method-assign]
    world.cancel(rollback=False)
    ended = [world.store.stacks.find(each.id, project="default") for each in children]
    assert [each.status for each in ended] == ["FAILED"] * 3
    world.close()
