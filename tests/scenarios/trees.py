"""What holds for stacks in stacks, whatever was done to them."""

from typing import Any

from orchestrator.config.limits import Limits
from orchestrator.planning.stored_templates import job_of_template
from orchestrator.queries.stack_document import document_of
from tests.scenarios.world import World


def stacks(world: World) -> list[Any]:
    """Return all stacks that are not deleted, those in others too."""
    return world.store.stacks.all(project="default", nested=True)


def step(world: World, turns: int) -> bool:
    """Deliver so many messages, letting time pass where there are none; False if all came to rest before."""
    for _ in range(turns):
        while not world.messages:
            due = world.store.sweeper.next_due()
            if due is None:
                return False
            world.sweep(after=due + 0.001)
        world.deliver()
    return any(stack.status == "IN_PROGRESS" for stack in stacks(world))


def assert_at_rest(world: World) -> None:
    """Nothing is in the world that no living row stands for, and no stack is under way or without its parent."""
    living = stacks(world)
    rows = {row.id for each in living for row in world.store.stacks.resources(each.id)}
    assert {row for row, _ in world.cloud.objects.values()} <= rows
    assert all(each.status == "COMPLETE" for each in living), [(each.name, each.reason) for each in living]
    assert all(each.parent_resource in rows for each in living if each.parent_id)


def document_of_tree(world: World, name: str = "s") -> dict[str, Any]:
    """Return a stack's document, with those in it."""
    stack = world.store.stacks.find(name, project="default")
    definition = job_of_template(world.store, stack, stack.template_id)
    rows = {each.id: world.store.stacks.resources(each.id) for each in stacks(world)}
    return document_of(stack, definition, rows, Limits())
