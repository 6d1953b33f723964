"""Groups over the simulated engine: made, changed in batches, and interrupted at every message."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.scenarios.groups import TYPES, members, outputs
from tests.scenarios.world import World


@pytest.fixture
def world() -> Iterator[World]:
    with closing(World(TYPES)) as made:
        yield made


def group(
    size_of_group: int = 3, *, value: str = "v-%index%", size: str = "s", more: str = "", policy: str = ""
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
      count: {size_of_group}
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


def value_of(world: World, name: str) -> str:
    (value,) = [value for each, (_, value) in world.cloud.objects.items() if each.startswith(f"{name}-")]
    return value


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
