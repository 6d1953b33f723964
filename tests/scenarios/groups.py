"""Groups in the simulated engine: what exists of them, and what they tell."""

from collections.abc import Mapping
from typing import Any

from orchestrator.planning.stored_templates import load_template
from orchestrator.queries.outputs import outputs_of
from tests.scenarios.world import World
from workers.resources.core.groups.auto_scaling_group import AutoScalingGroup
from workers.resources.core.groups.resource_chain import ResourceChain
from workers.resources.core.groups.resource_group import ResourceGroup
from workers.resources.core.groups.scaling_policy import ScalingPolicy
from workers.resources.core.groups.stack import Stack
from workers.resources.core.random_string import RandomString
from workers.resources.core.value import Value

TYPES = {
    "OS::Heat::ResourceGroup": ResourceGroup,
    "OS::Heat::ResourceChain": ResourceChain,
    "OS::Heat::AutoScalingGroup": AutoScalingGroup,
    "OS::Heat::ScalingPolicy": ScalingPolicy,
    "OS::Heat::Stack": Stack,
    "OS::Heat::RandomString": RandomString,
    "OS::Heat::Value": Value,
}


def members(world: World) -> dict[str, tuple[str, str]]:
    """Return value and size of each member that exists; each exists once."""
    found: dict[str, tuple[str, str]] = {}
    for physical_id, (_, value) in world.cloud.objects.items():
        name = physical_id.rpartition("-")[0]
        if name not in ("net", "user"):
            assert name not in found
            found[name] = (value, world.cloud.sizes[physical_id])
    return found


def outputs(world: World, stack_id: str) -> Mapping[str, Any]:
    """Return the outputs of a stack as they are shown now."""
    stack = world.store.stacks.by_id(stack_id)
    assert stack is not None
    settings = world.checker._settings
    context = world.store.traversals.context(stack.traversal_id)
    template = load_template(world.store, stack.template_id, context, settings)
    return {each.key: each.value for each in outputs_of(world.store, stack, template, context, settings)}
