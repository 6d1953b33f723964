"""Signals that make groups larger and smaller: once each, whoever dies and whatever comes in between."""

import contextlib
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from typing import Any

import pytest

from hooks.errors import Refusal
from hooks.lifecycle import LifecyclePlugin
from hooks.stack import FrozenStack
from orchestrator.engine.scaling import Scaler
from orchestrator.errors import Conflict
from orchestrator.model.messages import SignalJob
from orchestrator.store.stacks.scalings import Decided
from tests.scenarios.built_once import at_every_message
from tests.scenarios.cloud import Crash
from tests.scenarios.groups import TYPES, members, outputs
from tests.scenarios.trees import assert_at_rest, document_of_tree, step
from tests.scenarios.world import World


@pytest.fixture
def world() -> Iterator[World]:
    with closing(World(TYPES)) as made:
        yield made


def scaled(
    *,
    low: int = 1,
    high: int = 5,
    desired: str = "",
    cooldown: int = 0,
    size: str = "s",
    value: str = "v",
    adjustment: str = "1",
    rolling: str = "",
) -> str:
    """Return a template with a group that signals scale, and the policies that take them."""
    return f"""\
heat_template_version: 2021-04-16
resources:
  group:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: {low}
      max_size: {high}
      {desired}
      {rolling}
      resource: {{type: Cloud::Object, properties: {{value: {value}, size: {size}}}}}
  up:
    type: OS::Heat::ScalingPolicy
    properties:
      auto_scaling_group_id: {{get_resource: group}}
      adjustment_type: change_in_capacity
      scaling_adjustment: {adjustment}
      cooldown: {cooldown}
  down:
    type: OS::Heat::ScalingPolicy
    properties:
      auto_scaling_group_id: {{get_resource: group}}
      adjustment_type: change_in_capacity
      scaling_adjustment: -1
outputs:
  size: {{value: {{get_attr: [group, current_size]}}}}
  values: {{value: {{get_attr: [group, outputs_list, value]}}}}
  first: {{value: {{get_attr: [group, resource.0.value]}}}}
"""


def signal(world: World, resource: str = "up", **more: Any) -> str:
    return world.coordinator.signal(SignalJob(name="s", resource=resource, **more))


def sentences(world: World, stack_id: str, resource: str = "up") -> list[str]:
    """Return what became of the signals to a resource."""
    events = world.store.events.read(stack_id, limit=1000)
    return [each.reason for each in events if (each.resource, each.action) == (resource, "SIGNAL")]


def test_a_signal_makes_the_group_larger_and_the_stack_tells_so(world: World) -> None:
    stack_id = world.create(scaled())
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    (first,) = members(world)
    child = signal(world)
    assert child == world.store.stacks.resource(stack_id, "group").id
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert len(members(world)) == 2
    assert outputs(world, stack_id) == {"size": 2, "values": ["v", "v"], "first": "v"}
    assert sentences(world, stack_id) == ["the size goes from 1 to 2"]
    assert sentences(world, stack_id, "group") == ["the size goes from 1 to 2"]
    # The oldest goes first.
    signal(world, "down")
    world.settle()
    assert first not in members(world)
    assert len(members(world)) == 1
    assert outputs(world, stack_id)["size"] == 1


def test_a_size_beyond_the_bounds_is_the_nearest_within_them(world: World) -> None:
    stack_id = world.create(scaled(high=2, adjustment="7"))
    world.settle()
    signal(world)
    world.settle()
    assert len(members(world)) == 2
    assert signal(world) == stack_id
    assert signal(world, "down") != stack_id
    world.settle()
    assert signal(world, "down") == stack_id
    assert sentences(world, stack_id)[-1] == "the size stays 2: nothing was done"
    assert len(members(world)) == 1


def test_nothing_happens_while_it_cools_down(world: World) -> None:
    stack_id = world.create(scaled(cooldown=60))
    world.settle()
    signal(world)
    world.settle()
    assert signal(world) == stack_id
    assert sentences(world, stack_id)[-1] == "it cools down for 60 more seconds: nothing was done"
    world.now += 61
    signal(world)
    world.settle()
    assert len(members(world)) == 3


def test_nothing_happens_while_the_group_is_busy(world: World) -> None:
    stack_id = world.create(scaled())
    while world.state() != "CREATE_COMPLETE":
        with contextlib.suppress(Conflict):
            # The policy comes after the group, and takes no signals before it is there.
            signal(world)
        world.deliver()
    world.settle()
    assert len(members(world)) <= 2
    before = len(members(world))
    signal(world)
    assert signal(world) == stack_id
    assert sentences(world, stack_id)[-1].startswith("the group's stack is UPDATE_IN_PROGRESS")
    world.settle()
    assert len(members(world)) == before + 1
    world.cloud.failing_deletes.clear()
    world.cloud.polls.update(dict.fromkeys(members(world), 5))
    world.update(scaled(size="l"))
    while not sentences(world, stack_id)[-1].startswith("the group is UPDATE_IN_PROGRESS"):
        world.deliver()
        signal(world)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert {size for _, size in members(world).values()} == {"l"}


def test_a_signal_whose_state_is_no_alarm_changes_nothing(world: World) -> None:
    stack_id = world.create(scaled())
    world.settle()
    assert signal(world, details={"current": "ok"}) == stack_id
    assert signal(world, details={"current": "alarm"}) != stack_id
    world.settle()
    with pytest.raises(Conflict, match="the state of a signal is a text"):
        signal(world, details={"state": 1})


def test_an_update_keeps_the_size_unless_it_says_another(world: World) -> None:
    stack_id = world.create(scaled())
    world.settle()
    signal(world)
    world.settle()
    two = set(members(world))
    world.update(scaled(size="l"))
    world.settle()
    assert set(members(world)) == two
    assert {size for _, size in members(world).values()} == {"l"}
    world.update(scaled(size="l", high=1))
    world.settle()
    assert len(members(world)) == 1
    world.update(scaled(size="l", desired="desired_capacity: 4"))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert outputs(world, stack_id)["size"] == 4
    signal(world, "down")
    world.settle()
    world.update(scaled(size="m", desired="desired_capacity: 4"))
    world.settle()
    assert len(members(world)) == 4


def test_a_size_that_cannot_be_had_is_undone() -> None:
    with closing(World(TYPES, max_resources_per_stack=5)) as world:
        stack_id = world.create(scaled())
        world.settle()
        signal(world)
        world.settle()
        job = SignalJob(name="s", resource="up")
        with pytest.raises(Conflict, match="there would be 6 resources"):
            world.coordinator.signal(job)
        assert world.store.stacks.job(job.job_id) is None
        assert sentences(world, stack_id)[-1].startswith("undone: the group 'group' cannot be changed")
        signal(world, "down")
        world.settle()
        assert len(members(world)) == 1


def test_a_size_that_a_plugin_refuses_when_somebody_died_over_it_keeps_nobody_from_another(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Small(LifecyclePlugin):
        name = "small"

        def do_pre_op(self, _context: object, stack: FrozenStack, *_: object) -> None:
            if stack.parent_id and len(stack.resources) > 1:
                raise Refusal("one is enough")

    def die(*_: object) -> None:
        raise Crash

    world.create(scaled())
    world.settle()
    with monkeypatch.context() as patch:
        patch.setattr(Scaler, "_carry_out", die)
        assert not world.survive(lambda: signal(world))
    world.plug(Small())
    with pytest.raises(Conflict, match="one is enough"):
        signal(world)
    signal(world, "down")
    world.settle()
    assert len(members(world)) == 1
    assert_at_rest(world)


def test_a_job_that_comes_twice_scales_once(world: World) -> None:
    world.create(scaled())
    world.settle()
    job = SignalJob(name="s", resource="up")
    world.coordinator.signal(job)
    world.settle()
    world.coordinator.signal(job)
    world.settle()
    assert len(members(world)) == 2


@pytest.mark.parametrize("again", ["the same", "the next", "an update"])
def test_whenever_a_process_dies_over_a_signal_whoever_comes_next_goes_on(again: str) -> None:
    for instructions in count(1, 1 if again == "the same" else 4):
        with closing(World(TYPES)) as world:
            stack_id = world.create(scaled())
            world.settle()
            job = SignalJob(name="s", resource="up")
            world.cloud.crash_after(instructions)
            died = not world.survive(lambda w=world, j=job: w.coordinator.signal(j))  # type: ignore[misc]
            world.cloud.crash_at = None
            decided = len(sentences(world, stack_id))
            world.settle()
            if again == "the same":
                world.coordinator.signal(job)
            elif again == "the next":
                signal(world, "down")
            else:
                # Not even one that changes nothing.
                world.update(scaled())
            world.settle()
            found = len(members(world))
            if again == "the same":
                assert found == 2, instructions
            elif again == "an update":
                assert found == 1 + decided, instructions
            else:
                assert found in (1, 2), instructions
                signal(world, "down")
                world.settle()
                assert len(members(world)) == 1
            assert_at_rest(world)
            assert outputs(world, stack_id)["size"] == len(members(world))
            if not died:
                return


def test_of_two_signals_at_once_each_sees_what_the_other_did(world: World) -> None:
    world.create(scaled())
    world.settle()
    write = world.store.scalings.write

    def meanwhile(decided: Decided) -> bool:
        world.store.scalings.write = write  # type: ignore[method-assign]
        signal(world)
        return write(decided)

    world.store.scalings.write = meanwhile  # type: ignore[method-assign]
    signal(world)
    world.settle()
    # The second came too late: the group was busy.
    assert len(members(world)) == 2


@pytest.mark.parametrize("more", [{}, {"size": "l"}, {"desired": "desired_capacity: 4"}])
def test_an_update_between_what_is_decided_and_what_is_begun_has_the_last_word(
    world: World, more: dict[str, Any]
) -> None:
    stack_id = world.create(scaled())
    world.settle()
    write = world.store.scalings.write

    def then(decided: Decided) -> bool:
        written = write(decided)
        world.update(scaled(**more))
        world.settle()
        return written

    world.store.scalings.write = then  # type: ignore[method-assign]
    signal(world)
    world.settle()
    assert len(members(world)) == (4 if "desired" in more else 2)
    assert {size for _, size in members(world).values()} == {more.get("size", "s")}
    assert outputs(world, stack_id)["size"] == len(members(world))
    assert_at_rest(world)


@pytest.mark.parametrize("change", ["update", "delete", "cancel"])
def test_whatever_comes_at_any_message_of_a_scaling_has_the_last_word(change: str) -> None:
    begins = World(TYPES)
    begins.create(scaled())
    begins.settle()
    signal(begins)
    for _, world in at_every_message(begins, lambda world: step(world, 1)):
        if change == "update":
            world.update(scaled(size="l", value="w"))
        elif change == "delete":
            world.delete()
        else:
            # Nothing of the stack itself is under way.
            with pytest.raises(Conflict):
                world.cancel()
        world.settle()
        assert_at_rest(world)
        found = members(world)
        if change == "delete":
            assert not found
        else:
            assert len(found) == 2
            assert set(found.values()) == {("w", "l") if change == "update" else ("v", "s")}


def test_a_scaling_that_fails_is_mended_by_the_next_update(world: World) -> None:
    stack_id = world.create(scaled())
    world.settle()
    child = signal(world)
    (name,) = (row.name for row in world.store.stacks.resources(child) if row.name not in members(world))
    world.cloud.failing[name] = -1
    world.settle()
    assert signal(world) == stack_id
    assert sentences(world, stack_id)[-1] == "the group's stack is UPDATE_FAILED: nothing was done"
    del world.cloud.failing[name]
    world.update(scaled())
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert len(members(world)) == 2


def test_a_policy_whose_group_is_none_says_so(world: World) -> None:
    template = scaled().replace("{get_resource: group}", "nobody", 1)
    world.create(template)
    world.settle()
    with pytest.raises(Conflict, match="refers to nothing that there is"):
        signal(world)
    world.delete()
    world.settle()
    other = scaled().replace("{get_resource: group}", "{get_resource: down}", 1)
    world.create(other)
    world.settle()
    with pytest.raises(Conflict, match="cannot be scaled"):
        signal(world)


def test_members_that_are_there_are_taken_over_under_the_names_they_have(world: World) -> None:
    world.create(scaled())
    world.settle()
    signal(world)
    world.settle()
    before = dict(world.cloud.objects)
    document = document_of_tree(world)["resources"]
    world.abandon()
    world.settle()
    for known in (True, False):
        if not known:
            del document["group"]["resource_data"]
        world.adopt(scaled(), document)
        world.settle()
        assert world.state() == "ADOPT_COMPLETE"
        assert set(world.cloud.objects) == set(before)
        world.update(scaled(size="l"))
        world.settle()
        assert set(world.cloud.objects) == set(before)
        assert {size for _, size in members(world).values()} == {"l"}
        world.abandon()
        world.settle()
