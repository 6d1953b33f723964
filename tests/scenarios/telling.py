"""What a test asks a world about: rows, states, reasons, history."""

from collections import Counter
from typing import Any

from orchestrator.plugins.resource import Resource
from orchestrator.store.nodes.claims import Claim, Outcome
from orchestrator.store.stacks.stacks import ResourceRow
from tests.scenarios.world import World


def rows_of(world: World, stack_id: str) -> dict[str, list[ResourceRow]]:
    """Return the rows of a stack by name."""
    found: dict[str, list[ResourceRow]] = {}
    for row in world.store.stacks.resources(stack_id):
        found.setdefault(row.name, []).append(row)
    return found


def states(world: World, stack_id: str) -> dict[str, list[str]]:
    """Return the states of a stack's rows by name."""
    return {
        name: [f"{row.action}_{row.status}" for row in rows]
        for name, rows in rows_of(world, stack_id).items()
    }


def reason(world: World) -> str:
    return world.store.stacks.find("s", project="default").reason


def said(world: World, stack_id: str, name: str) -> list[str]:
    """Return what the history says of one name, in order."""
    events = world.store.events.read(stack_id, limit=1000)
    return [f"{event.action}_{event.status}" for event in events if event.resource == name]


def deliver_all(world: World) -> None:
    """Deliver until no message is left; no time passes."""
    while world.messages:
        world.deliver()


def patched(world: World, **methods: Any) -> type[Resource]:
    """Return the type of the cloud's objects, with methods of one's own."""
    kind = world.checker._types["Cloud::Object"]
    for name, method in methods.items():
        setattr(kind, name, method)
    return kind


def steps_counted(world: World) -> Counter[tuple[str, str]]:
    """Return how often each step of a world that is to come was begun, by resource and action."""
    times = Counter[tuple[str, str]]()
    act = world.checker.act

    def counted(claim: Claim) -> Outcome:
        times[claim.order.key, claim.action] += 1
        return act(claim)

    vars(world.checker)["act"] = counted
    return times
