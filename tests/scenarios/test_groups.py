"""Groups over the simulated engine: made, changed in batches, and interrupted at every message."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import pytest

from tests.scenarios.world import World
from workers.resources.core.groups.auto_scaling_group import AutoScalingGroup
from workers.resources.core.groups.resource_chain import ResourceChain
from workers.resources.core.groups.resource_group import ResourceGroup
from workers.resources.core.groups.scaling_policy import ScalingPolicy
from workers.resources.core.groups.stack import Stack
from workers.resources.core.random_string import RandomString

TYPES = {
    "OS::Heat::ResourceGroup": ResourceGroup,
    "OS::Heat::ResourceChain": ResourceChain,
    "OS::Heat::AutoScalingGroup": AutoScalingGroup,
    "OS::Heat::ScalingPolicy": ScalingPolicy,
    "OS::Heat::Stack": Stack,
    "OS::Heat::RandomString": RandomString,
}


@pytest.fixture
def world() -> Iterator[World]:
    with closing(World(TYPES)) as made:
        yield made


def group(
    count: int = 3, *, value: str = "v-%index%", size: str = "s", more: str = "", policy: str = ""
) -> str:
    """Return a template with a group, and with somebody who uses what it tells."""
    return f"""\
heat_template_version: 2021-04-16
resources:
  net: {{type: Cloud::Object}}
  group:
    type: OS::Heat::ResourceGroup
    depends_on: net
    {policy}
    properties:
      count: {count}
      {more}
      resource_def: {{type: Cloud::Object, properties: {{value: {value}, size: {size}}}}}
  user:
    type: Cloud::Object
    properties: {{value: {{list_join: [',', {{get_attr: [group, value]}}]}}}}
outputs:
  refs: {{value: {{get_attr: [group, refs_map]}}}}
  one: {{value: {{get_attr: [group, resource.1.value]}}}}
"""


ROLLING = "update_policy: {rolling_update: {max_batch_size: 1, min_in_service: 3}}"


def members(world: World) -> dict[str, tuple[str, str]]:
    """Return value and size of each member that exists; each exists once."""
    found: dict[str, tuple[str, str]] = {}
    for physical_id, (_, value) in world.cloud.objects.items():
        name = physical_id.rpartition("-")[0]
        if name not in ("net", "user"):
            assert name not in found
            found[name] = (value, world.cloud.sizes[physical_id])
    return found


def value_of(world: World, name: str) -> str:
    (value,) = [value for each, (_, value) in world.cloud.objects.items() if each.startswith(f"{name}-")]
    return value


def outputs(world: World, stack_id: str) -> Mapping[str, Any]:
    from orchestrator.outputs import outputs_of
    from orchestrator.stored_templates import load_template

    stack = world.store.stacks.by_id(stack_id)
    assert stack is not None
    settings = world.checker._settings
    context = world.store.traversals.context(stack.traversal_id)
    template = load_template(world.store, stack.template_id, context, settings)
    return {each.key: each.value for each in outputs_of(world.store, stack, template, context, settings)}


def test_a_group_is_made_grows_and_shrinks(world: World) -> None:
    stack_id = world.create(group(3))
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert members(world) == {str(number): (f"v-{number}", "s") for number in range(3)}
    assert value_of(world, "user") == "v-0,v-1,v-2"
    told = outputs(world, stack_id)
    assert set(told["refs"]) == {"0", "1", "2"}
    assert told["one"] == "v-1"
    before = dict(world.cloud.objects)
    world.update(group(5))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert sorted(members(world)) == ["0", "1", "2", "3", "4"]
    assert value_of(world, "user") == "v-0,v-1,v-2,v-3,v-4"
    world.update(group(2))
    world.settle()
    assert sorted(members(world)) == ["0", "1"]
    assert {key for key in before if key[0] in "01"} <= world.cloud.objects.keys()
    world.delete()
    world.settle()
    assert not world.cloud.objects
