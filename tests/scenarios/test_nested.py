"""Stacks in stacks over the simulated engine: templates as types, made, changed, deleted and interrupted anywhere."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from orchestrator.errors import Conflict, InvalidInput
from orchestrator.model.messages import CancelJob, EnvironmentSource
from tests.scenarios.built_once import at_every_message
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.world import World

PAIR = """\
heat_template_version: 2021-04-16
parameters:
  size: {type: string, default: small}
  value: {type: string, default: v}
resources:
  disk:
    type: Cloud::Object
    properties: {value: {get_param: value}}
  server:
    type: Cloud::Object
    properties: {size: {get_param: size}, value: {list_join: ['/', [{get_attr: [disk, value]}, up]]}}
outputs:
  address: {value: {get_attr: [server, value]}}
"""
BIG_PAIR = PAIR.replace("  disk:\n", "  extra:\n    type: Cloud::Object\n  disk:\n")


def root(*, size: str = "small", value: str = "v", more: str = "") -> str:
    """Return a template with a pair in it, and what depends on the pair."""
    return f"""\
heat_template_version: 2021-04-16
resources:
  net: {{type: Cloud::Object}}
  pair:
    type: pair.yaml
    depends_on: net
    properties: {{size: {size}, value: {value}}}
  user:
    type: Cloud::Object
    properties: {{value: {{get_attr: [pair, address]}}, size: {{get_attr: [pair, resource.disk, value]}}}}
{more}
outputs:
  address: {{value: {{get_attr: [pair, address]}}}}
"""


FILES = {"pair.yaml": PAIR}


@pytest.fixture
def world() -> Iterator[World]:
    with closing(World()) as made:
        yield made


def names(world: World) -> list[str]:
    """Return the names of what exists."""
    return sorted(physical_id.rsplit("-", 1)[0] for physical_id in world.cloud.objects)


def stacks(world: World) -> list[Any]:
    return world.store.stacks.all(project="default", nested=True)


def test_a_template_is_made_as_a_resource(world: World) -> None:
    stack_id = world.create(root(), files=FILES)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert world.made_names() == ["net", "disk", "server", "user"]
    row = world.store.stacks.resource(stack_id, "user")
    assert row.properties == {"value": "v/up", "size": "v"}
    child = next(each for each in stacks(world) if each.parent_id)
    pair = world.store.stacks.resource(stack_id, "pair")
    assert (child.id, child.parent_resource, child.root_id, child.depth) == (pair.id, pair.id, stack_id, 1)
    assert (pair.type, pair.physical_id) == ("pair.yaml", child.id)
    assert [each.id for each in world.store.stacks.all(project="default")] == [stack_id]


def test_nobody_holds_a_worker_while_a_child_is_under_way(world: World) -> None:
    world.cloud.polls["server"] = 100
    world.create(root(), files=FILES)
    while world.messages:
        world.deliver()
    stack = world.store.stacks.find("s", project="default")
    assert world.store.families.counts(stack.traversal_id) == {"done": 1, "waiting": 1, "blocked": 1}
    progress = world.store.families.progress(stack)
    assert progress.counts == {"done": 2, "waiting": 2, "blocked": 1}
    assert set(progress.active) == {"pair", "pair/server"}
    world.settle()
    assert world.state() == "CREATE_COMPLETE"


def test_a_change_goes_down_and_only_what_differs_is_touched(world: World) -> None:
    world.create(root(), files=FILES)
    world.settle()
    before = dict(world.cloud.objects)
    world.update(root(size="large"), files=FILES)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert world.cloud.objects == before
    assert [entry for entry in world.cloud.log if entry[0] == "change"] == [("change", "server")]


def test_another_template_under_the_same_name_is_noticed(world: World) -> None:
    world.create(root(), files=FILES)
    world.settle()
    before = dict(world.cloud.objects)
    world.update(root(), files={"pair.yaml": BIG_PAIR})
    world.settle()
    assert names(world) == ["disk", "extra", "net", "server", "user"]
    assert before.items() <= world.cloud.objects.items()


def test_an_update_that_changes_nothing_goes_nowhere(world: World) -> None:
    world.create(root(), files=FILES)
    world.settle()
    traversals = {each.name: each.traversal_id for each in stacks(world)}
    world.update(root(), files=FILES)
    world.settle()
    moved = {each.name for each in stacks(world) if traversals[each.name] != each.traversal_id}
    assert moved == {"s"}


def test_what_an_output_comes_to_moves_on_to_those_who_ask(world: World) -> None:
    stack_id = world.create(root(), files=FILES)
    world.settle()
    world.update(root(value="w"), files=FILES)
    world.settle()
    assert world.store.stacks.resource(stack_id, "user").properties == {"value": "w/up", "size": "w"}
    assert names(world) == ["disk", "net", "server", "user"]


def test_a_failing_child_fails_the_resource_and_a_right_one_mends_it(world: World) -> None:
    world.cloud.failing["server"] = -1
    stack_id = world.create(root(), files=FILES)
    world.settle()
    stack = world.store.stacks.find("s", project="default")
    assert (stack.status, world.store.stacks.resource(stack_id, "pair").status) == ("FAILED", "FAILED")
    assert "resources.pair: Resource CREATE failed: resources.server: no luck" in stack.reason
    disk = next(each for each in world.cloud.objects if each.startswith("disk"))
    del world.cloud.failing["server"]
    world.update(root(), files=FILES)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert names(world) == ["disk", "net", "server", "user"]
    assert disk in world.cloud.objects


def test_a_failed_creation_that_is_rolled_back_leaves_nothing(world: World) -> None:
    world.cloud.failing["server"] = -1
    world.create(root(), files=FILES, rollback=True)
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert not world.cloud.objects
    assert [each.name for each in stacks(world)] == ["s"]


def test_a_failed_update_is_rolled_back_inside_too(world: World) -> None:
    world.create(root(), files=FILES)
    world.settle()
    before, sizes = dict(world.cloud.objects), dict(world.cloud.sizes)
    world.cloud.failing["user"] = -1
    world.update(root(size="large", value="w"), files={"pair.yaml": BIG_PAIR}, rollback=True)
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert names(world) == ["disk", "net", "server", "user"]
    assert {world.cloud.sizes[each] for each in world.cloud.objects if each in sizes} <= set(sizes.values())
    assert {value for _, value in world.cloud.objects.values()} == {value for _, value in before.values()}


def test_a_deletion_goes_down_first(world: World) -> None:
    world.create(root(), files=FILES)
    world.settle()
    world.delete()
    world.settle()
    assert not world.cloud.objects
    assert not stacks(world)
    assert world.unmade_names() == ["user", "server", "disk", "net"]


def test_a_template_uses_others_by_names_as_seen_from_its_own_file(world: World) -> None:
    outer = """\
heat_template_version: 2021-04-16
resources:
  inner: {type: ../pair.yaml, properties: {value: {get_file: text.txt}}}
outputs:
  address: {value: {get_attr: [inner, address]}}
"""
    template = """\
heat_template_version: 2021-04-16
resources:
  web: {type: parts/outer.yaml}
outputs:
  address: {value: {get_attr: [web, address]}}
"""
    files = {"parts/outer.yaml": outer, "pair.yaml": PAIR, "parts/text.txt": "hello"}
    stack_id = world.create(template, files=files)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert {value for _, value in world.cloud.objects.values()} == {"hello", "hello/up"}
    depths = {each.depth: each for each in stacks(world)}
    assert set(depths) == {0, 1, 2}
    assert {each.root_id for each in depths.values()} == {stack_id}


def test_an_alias_of_the_environment_and_its_defaults_reach_down(world: World) -> None:
    template = "heat_template_version: 2021-04-16\nresources:\n  web: {type: My::Pair}\n"
    environment = EnvironmentSource(
        file="env.yaml",
        source="resource_registry: {'My::Pair': pair.yaml}\nparameter_defaults: {value: deep, unheard_of: 1}\n",
    )
    world.create(template, files=FILES, environments=(environment,))
    world.settle()
    assert {value for _, value in world.cloud.objects.values()} == {"deep", "deep/up"}


def test_hidden_values_are_hidden_below_as_well(world: World) -> None:
    template = """\
heat_template_version: 2021-04-16
parameters:
  secret: {type: string, hidden: true}
resources:
  pair: {type: pair.yaml, properties: {value: {get_param: secret}}}
"""
    world.create(template, files=FILES, parameters={"secret": "s3cr3t"})
    world.settle()
    child = next(each for each in stacks(world) if each.parent_id)
    assert world.store.traversals.context(child.traversal_id)["hidden"] == ["value"]


def test_the_facade_is_seen_from_inside(world: World) -> None:
    inner = """\
heat_template_version: 2021-04-16
resources:
  one: {type: Cloud::Object, properties: {value: {resource_facade: deletion_policy}}}
"""
    template = """\
heat_template_version: 2021-04-16
resources:
  web: {type: inner.yaml, deletion_policy: retain}
"""
    world.create(template, files={"inner.yaml": inner})
    world.settle()
    assert [value for _, value in world.cloud.objects.values()] == ["Retain"]


def test_a_child_that_is_retained_lives_on_by_itself(world: World) -> None:
    outer = "heat_template_version: 2021-04-16\nresources: {pair: {type: pair.yaml}}\n"
    template = """\
heat_template_version: 2021-04-16
resources:
  kept: {type: outer.yaml, deletion_policy: retain}
"""
    world.create(template, files={"outer.yaml": outer, **FILES})
    world.settle()
    world.delete()
    world.settle()
    kept, inner = stacks(world)
    assert names(world) == ["disk", "server"]
    assert (kept.parent_id, kept.root_id, kept.depth) == (None, kept.id, 0)
    assert (inner.parent_id, inner.root_id, inner.depth) == (kept.id, kept.id, 1)
    world.delete(kept.name)
    world.settle()
    assert not world.cloud.objects
    assert not stacks(world)


def test_a_child_is_not_to_be_changed_by_itself(world: World) -> None:
    world.create(root(), files=FILES)
    world.settle()
    child = next(each for each in stacks(world) if each.parent_id)
    with pytest.raises(Conflict, match="a part of another stack"):
        world.delete(child.id)
    with pytest.raises(Conflict, match="a part of another stack"):
        world.update(PAIR, name=child.id)


def test_too_many_resources_below_are_refused_before_anything_is_made() -> None:
    with closing(World(max_resources_per_stack=4)) as world:
        with pytest.raises(InvalidInput, match="more than 4 resources"):
            world.create(root(), files=FILES)
        assert not world.cloud.made
        assert not stacks(world)


def test_a_time_limit_holds_below(world: World) -> None:
    world.cloud.polls["server"] = 100_000
    world.create(root(), files=FILES, timeout_minutes=10)
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert all(each.status == "FAILED" for each in stacks(world))


def test_cancelling_reaches_down(world: World) -> None:
    world.cloud.polls["disk"] = 50
    world.create(root(), files=FILES)
    while world.messages:
        world.deliver()
    world.coordinator.cancel(CancelJob(name="s", rollback=False))
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert all(each.status == "FAILED" for each in stacks(world))
    assert "server" not in world.made_names()


CHANGES: dict[str, Callable[[World], object]] = {
    "update": lambda world: world.update(root(size="medium", value="x"), files={"pair.yaml": BIG_PAIR}),
    "back": lambda world: world.update(root(), files=FILES),
    "without": lambda world: world.update(
        "heat_template_version: 2021-04-16\nresources: {net: {type: Cloud::Object}}\n"
    ),
    "cancel": lambda world: world.cancel(),
    "delete": lambda world: world.delete(),
}
ENDS = {
    "update": ["disk", "extra", "net", "server", "user"],
    "back": ["disk", "net", "server", "user"],
    "without": ["net"],
    "delete": [],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("begun", ["create", "update"])
def test_whatever_comes_at_any_message_has_the_last_word(begun: str, change: str) -> None:
    begins = World()
    begins.cloud.polls["server"] = 3
    begins.create(root(), files=FILES)
    if begun == "update":
        begins.settle()
        begins.update(root(size="large", value="w"), files={"pair.yaml": BIG_PAIR})
    for turn, world in at_every_message(begins, lambda world: _step(world, 1)):
        try:
            CHANGES[change](world)
        except Conflict:
            assert change == "cancel"
        world.settle()
        _assert_at_rest(world)
        if change in ENDS:
            assert names(world) == ENDS[change], turn
        elif begun == "create":
            assert names(world) in ([], ENDS["back"]), turn
        else:
            assert names(world) in (ENDS["back"], ENDS["update"]), turn


def _step(world: World, turns: int) -> bool:
    """Deliver so many messages, letting time pass where there are none; False if the stack came to rest before."""
    for _ in range(turns):
        while not world.messages:
            due = world.store.sweeper.next_due()
            if due is None:
                return False
            world.sweep(after=due + 0.001)
        world.deliver()
    return world.store.stacks.find("s", project="default").status == "IN_PROGRESS"


def _assert_at_rest(world: World) -> None:
    """Nothing is in the world that no living row stands for, and no stack is under way or without its parent."""
    living = stacks(world)
    rows = {row.id for each in living for row in world.store.stacks.resources(each.id)}
    assert {row for row, _ in world.cloud.objects.values()} <= rows
    assert all(each.status == "COMPLETE" for each in living), [(each.name, each.reason) for each in living]
    assert all(each.parent_resource in rows for each in living if each.parent_id)


@die_everywhere
def test_a_crash_at_any_instruction_leaves_no_second_child(instruction: int) -> None:
    world = World()
    world.create(root(), files=FILES)
    world.cloud.crash_after(instruction)
    while not world.survive(world.settle):
        pass
    world.cloud.crash_at = None
    assert world.state() == "CREATE_COMPLETE"
    assert names(world) == ["disk", "net", "server", "user"]
    _assert_at_rest(world)
