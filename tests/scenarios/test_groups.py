"""Groups over the simulated engine: made, changed in batches, and interrupted at every message."""

from collections.abc import Callable, Iterator
from contextlib import closing
from copy import deepcopy
from itertools import count

import pytest

from orchestrator.errors import Conflict, InvalidInput
from tests.scenarios.built_once import at_every_message
from tests.scenarios.groups import TYPES, members, outputs
from tests.scenarios.trees import assert_at_rest, document_of_tree, stacks, step
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


ROLLING = "update_policy: {rolling_update: {max_batch_size: 1, min_in_service: 3}}"


def serving(world: World) -> int:
    """Return how many members are as they should be: made, and not being changed."""
    row = world.store.stacks.resource(world.store.stacks.find("s", project="default").id, "group")
    return sum(
        each.status == "COMPLETE" and each.action not in ("INIT", "DELETE")
        for each in world.store.stacks.resources(row.id)
    )


def settle_while(world: World, holds: Callable[[], bool]) -> None:
    """Let everything happen, one message after the other, as long as something ``holds``."""
    while True:
        while world.messages:
            world.deliver()
            assert holds()
        due = world.store.sweeper.next_due()
        if due is None:
            return
        world.sweep(after=due + 0.001)


def test_members_change_one_after_the_other_while_all_others_serve(world: World) -> None:
    world.create(group(policy=ROLLING))
    world.settle()
    before = set(world.cloud.objects)
    world.cloud.polls.update(dict.fromkeys("0123", 5))
    world.cloud.log.clear()
    world.update(group(size="l", policy=ROLLING))
    settle_while(world, lambda: serving(world) >= 3)
    assert world.state() == "UPDATE_COMPLETE"
    assert members(world) == {str(number): (f"v-{number}", "l") for number in range(3)}
    # Another one served while one could not; the members themselves are those of before.
    assert set(world.cloud.objects) == before
    assert world.cloud.log == [
        ("make", "3"),
        ("change", "0"),
        ("change", "1"),
        ("change", "2"),
        ("unmake", "3"),
    ]


def test_between_batches_there_is_a_pause_that_holds_no_worker(world: World) -> None:
    policy = "update_policy: {batch_create: {max_batch_size: 2, pause_time: 60}}"
    began = world.now
    world.create(group(5, policy=policy))
    while world.messages:
        world.deliver()
    assert sorted(members(world)) == ["0", "1"]
    stack = world.store.stacks.find("s", project="default")
    assert world.store.families.progress(stack).counts["waiting"] == 1
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert 120 <= world.now - began < 180


def test_pauses_longer_than_the_time_limit_are_refused(world: World) -> None:
    policy = "update_policy: {rolling_update: {pause_time: 60}}"
    world.create(group(3, policy=policy))
    world.settle()
    world.update(group(3, size="l", policy=policy), timeout_minutes=2)
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    assert "the pauses between its batches" in world.store.stacks.find("s", project="default").reason
    assert {size for _, size in members(world).values()} == {"s"}
    world.update(group(3, size="l", policy=policy), timeout_minutes=3)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"


def test_a_batch_that_fails_stops_the_rest_and_is_mended_first(world: World) -> None:
    policy = "update_policy: {rolling_update: {max_batch_size: 1}}"
    world.create(group(policy=policy))
    world.settle()
    world.cloud.failing_updates["1"] = True
    world.update(group(size="bad", policy=policy))
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    assert [size for _, size in members(world).values()] == ["bad", "s", "s"]
    world.cloud.log.clear()
    world.update(group(size="good", policy=policy))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert {size for _, size in members(world).values()} == {"good"}
    # Another one took the place of the one that failed, before any other was touched.
    assert world.cloud.log[0] == ("make", "1")


def test_removed_members_go_and_their_names_with_them(world: World) -> None:
    stack_id = world.create(group(3))
    world.settle()
    (second,) = (each for each in world.cloud.objects if each.startswith("1-"))
    world.update(group(3, more=f"removal_policies: [{{resource_list: [{second}]}}]"))
    world.settle()
    assert sorted(members(world)) == ["0", "2", "3"]
    assert outputs(world, stack_id)["one"] is None
    world.update(group(4))
    world.settle()
    assert sorted(members(world)) == ["0", "2", "3", "4"]


def test_a_rollback_brings_members_back(world: World) -> None:
    world.create(group(3, policy=ROLLING))
    world.settle()
    before = dict(world.cloud.objects)
    world.cloud.failing["user"] = -1
    world.update(group(5, value="w-%index%", policy=ROLLING), rollback=True)
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert members(world) == {str(number): (f"v-{number}", "s") for number in range(3)}
    assert {value for _, value in world.cloud.objects.values()} == {value for _, value in before.values()}


CHANGES: dict[str, Callable[[World], object]] = {
    "further": lambda world: world.update(group(3, size="x", value="y", policy=ROLLING)),
    "back": lambda world: world.update(group(2, policy=ROLLING)),
    "smaller": lambda world: world.update(
        group(1, size="l", more="removal_policies: [{resource_list: ['0']}]")
    ),
    "without": lambda world: world.update("heat_template_version: 2021-04-16\n"),
    "cancel": lambda world: world.cancel(),
    "delete": lambda world: world.delete(),
}
ENDS = {
    "further": {str(number): ("y", "x") for number in range(3)},
    "back": {str(number): (f"v-{number}", "s") for number in range(2)},
    "smaller": {"1": ("v-1", "l")},
    "without": {},
    "delete": {},
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("begun", ["create", "rolling"])
def test_whatever_comes_at_any_message_has_the_last_word(begun: str, change: str) -> None:
    begins = World(TYPES)
    policy = "update_policy: {batch_create: {max_batch_size: 1}}" if begun == "create" else ROLLING
    begins.cloud.polls["1"] = 1
    begins.create(group(2, policy=policy))
    if begun == "rolling":
        begins.settle()
        begins.update(group(2, size="l", value="w-%index%", policy=ROLLING))
    for turns, world in at_every_message(begins, lambda world: step(world, 1)):
        try:
            CHANGES[change](world)
        except Conflict:
            assert change == "cancel"
        world.settle()
        assert_at_rest(world)
        if change in ENDS:
            assert members(world) == ENDS[change], turns
        else:
            ends = [ENDS["back"], {str(number): (f"w-{number}", "l") for number in range(2)}, {}]
            assert members(world) in ends, turns


@pytest.mark.parametrize("begun", ["create", "rolling"])
def test_a_crash_at_any_instruction_changes_nothing_in_the_end(begun: str) -> None:
    begins = World(TYPES)
    begins.create(group(2, policy=ROLLING))
    if begun == "rolling":
        begins.settle()
        begins.update(group(2, size="l", policy=ROLLING))
    for instructions in count(1, 11):
        with closing(deepcopy(begins)) as world:
            world.cloud.crash_after(instructions)
            while not world.survive(world.settle):
                pass
            died, world.cloud.crash_at = world.cloud.crash_at is None, None
            assert_at_rest(world)
            assert sorted(members(world)) == ["0", "1"], instructions
            assert {size for _, size in members(world).values()} == {"l" if begun == "rolling" else "s"}
            if not died:
                return


# -- what goes in and comes out ------------------------------------------------------------------------------------


def test_nothing_is_called_that_was_resolved_already(world: World) -> None:
    template = """\
heat_template_version: 2021-04-16
parameters:
  said: {type: json, default: {get_param: no_such_thing}}
  secret: {type: string, hidden: true, default: s3cr3t}
resources:
  group:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def:
        type: OS::Heat::Value
        properties: {value: {a: {get_param: said}, b: {get_param: secret}, c: '%index%'}}
outputs:
  values: {value: {get_attr: [group, value]}}
"""
    stack_id = world.create(template)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert outputs(world, stack_id)["values"] == [
        {"a": {"get_param": "no_such_thing"}, "b": "s3cr3t", "c": number} for number in ("0", "1")
    ]
    (child,) = (each for each in stacks(world) if each.parent_id)
    assert "s3cr3t" not in world.store.templates.load(child.template_id).source


PAIR = """\
heat_template_version: 2021-04-16
parameters:
  value: {type: string}
resources:
  disk: {type: Cloud::Object, properties: {value: {get_param: value}}}
outputs:
  address: {value: {list_join: [':', [{get_attr: [disk, value]}, up]]}}
"""


def test_members_may_be_stacks_and_groups_themselves(world: World) -> None:
    template = """\
heat_template_version: 2021-04-16
resources:
  racks:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      index_var: '%rack%'
      resource_def:
        type: OS::Heat::ResourceGroup
        properties:
          count: 2
          resource_def: {type: pair.yaml, properties: {value: '%rack%.%index%'}}
outputs:
  all: {value: {get_attr: [racks, address]}}
  map: {value: {get_attr: [racks, attributes, attributes, address]}}
  one: {value: {get_attr: [racks, resource.1, resource.0, address]}}
  disk: {value: {get_attr: [racks, resource.1, resource.0.resource.disk.value]}}
"""
    stack_id = world.create(template, files={"pair.yaml": PAIR})
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert {value for _, value in world.cloud.objects.values()} == {"0.0", "0.1", "1.0", "1.1"}
    assert outputs(world, stack_id) == {
        "all": [["0.0:up", "0.1:up"], ["1.0:up", "1.1:up"]],
        "map": {"0": {"0": "0.0:up", "1": "0.1:up"}, "1": {"0": "1.0:up", "1": "1.1:up"}},
        "one": "1.0:up",
        "disk": "1.0",
    }
    world.delete()
    world.settle()
    assert not world.cloud.objects


def test_a_count_that_only_a_resource_can_tell(world: World) -> None:
    template = """\
heat_template_version: 2021-04-16
resources:
  number: {type: Cloud::Object, properties: {value: '2'}}
  group:
    type: OS::Heat::ResourceGroup
    properties:
      count: {get_attr: [number, value]}
      resource_def: {type: Cloud::Object, properties: {value: {get_attr: [number, value]}}}
"""
    world.create(template)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert sorted(value for _, value in world.cloud.objects.values()) == ["2", "2", "2"]


def test_mistakes_in_members_are_told_where_they_stand() -> None:
    with closing(World(TYPES, max_resources_per_stack=10)) as world:
        wrong = group(3).replace(
            "type: Cloud::Object, properties: {value: v", "type: Cloud::Objekt, properties: {value: v"
        )
        with pytest.raises(
            InvalidInput, match=r"resource_def.type: there is no resource type 'Cloud::Objekt'"
        ):
            world.create(wrong)
        wrong = group(3, size="s, sise: 1")
        with pytest.raises(
            InvalidInput, match=r"template:11:83: resources.group.properties.resource_def.properties.sise"
        ):
            world.create(wrong)
        with pytest.raises(InvalidInput, match="more than 10 resources"):
            world.create(group(9))
        assert not world.cloud.made


def test_a_chain_is_made_in_order_and_unmade_in_reverse(world: World) -> None:
    template = """\
heat_template_version: 2021-04-16
resources:
  chain:
    type: OS::Heat::ResourceChain
    properties:
      resources: [Cloud::Object, pair.yaml, Cloud::Object]
      concurrent: %s
      resource_properties: {value: same}
outputs:
  refs: {value: {get_attr: [chain, refs]}}
  values: {value: {get_attr: [chain, attributes, value]}}
"""
    stack_id = world.create(template % "false", files={"pair.yaml": PAIR})
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert world.made_names() == ["0", "disk", "2"]
    told = outputs(world, stack_id)
    assert told["values"] == {"0": "same", "1": None, "2": "same"}
    assert [each for each in told["refs"] if each in world.cloud.objects] == told["refs"][::2]
    world.update(template.replace("pair.yaml, ", "") % "true", files={"pair.yaml": PAIR})
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert len(world.cloud.objects) == 2
    world.delete()
    world.settle()
    assert not world.cloud.objects


def test_a_stack_is_made_of_a_text(world: World) -> None:
    template = """\
heat_template_version: 2021-04-16
parameters:
  secret: {type: string, hidden: true, default: s3cr3t}
resources:
  inner:
    type: OS::Heat::Stack
    properties:
      template: {get_file: inner.txt}
      parameters: {value: {get_param: secret}}
      timeout: 5
outputs:
  address: {value: {get_attr: [inner, outputs, address]}}
  name: {value: {get_attr: [inner, stack_name]}}
"""
    stack_id = world.create(template, files={"inner.txt": PAIR})
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    (child,) = (each for each in stacks(world) if each.parent_id)
    assert outputs(world, stack_id) == {"address": "s3cr3t:up", "name": child.name}
    assert child.timeout_minutes == 5
    assert world.store.traversals.context(child.traversal_id)["hidden"] == ["value"]
    world.update(template, files={"inner.txt": PAIR.replace("up", "down")})
    world.settle()
    assert outputs(world, stack_id)["address"] == "s3cr3t:down"
    with pytest.raises(InvalidInput, match="there is no resource type 'Cloud::Objekt'"):
        world.update(template, files={"inner.txt": PAIR.replace("Object", "Objekt")})
    with pytest.raises(InvalidInput, match="there is no region 'north'"):
        world.update(
            template.replace("timeout: 5", "context: {region_name: north}"), files={"inner.txt": PAIR}
        )


def test_members_that_are_there_are_taken_over_with_or_without_what_was_known_of_them(world: World) -> None:
    world.create(group(3, more="removal_policies: [{resource_list: ['1']}]"))
    world.settle()
    before = dict(world.cloud.objects)
    document = document_of_tree(world)["resources"]
    world.abandon()
    world.settle()
    assert world.cloud.objects == before
    for known in (True, False):
        if not known:
            del document["group"]["resource_data"]
        more = "" if known else "removal_policies: [{resource_list: ['1']}]"
        world.adopt(group(3, more=more), document)
        world.settle()
        assert world.state() == "ADOPT_COMPLETE", known
        assert set(world.cloud.objects) == set(before)
        world.update(group(3, size="l", more=more))
        world.settle()
        assert world.state() == "UPDATE_COMPLETE"
        assert members(world) == {name: (f"v-{name}", "l") for name in ("0", "2", "3")}
        world.abandon()
        world.settle()
