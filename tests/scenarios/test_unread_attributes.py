"""Attributes that cannot be read: whoever needs them is told why, however far away; nobody is given null instead."""

from typing import Any

import pytest

from orchestrator.errors import IsothermError
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import ResourceFailure, RetryableFailure
from tests.scenarios.telling import patched, reason, states
from tests.scenarios.test_language import outputs
from tests.scenarios.test_nested import FILES
from tests.scenarios.test_updates import ids, template, value
from tests.scenarios.world import World

NESTED = """\
heat_template_version: 2021-04-16
resources:
  pair: {type: pair.yaml}
  by_output: {type: Cloud::Object, properties: {value: {get_attr: [pair, address]}}}
  by_member: {type: Cloud::Object, properties: {value: {get_attr: [pair, resource.server, value]}}}
"""


def silence(world: World, name: str) -> Any:
    """Let nobody answer for the attributes of one name; return how they were read."""
    read = patched(world).attribute

    def attribute(self: Resource, asked: str) -> Any:
        if self.name == name:
            raise ResourceFailure("nobody answers")
        return read(self, asked)

    patched(world, attribute=attribute)
    return read


def test_an_output_says_why_it_has_no_value_and_the_next_update_asks_again() -> None:
    world = World()
    read = silence(world, "a")
    source = template({"a": value("1")}, "outputs: {told: {value: {get_attr: [a, value]}}}")
    stack_id = world.create(source)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    before = ids(world, stack_id)
    with pytest.raises(IsothermError, match="'value' of resource 'a' could not be read: nobody answers"):
        outputs(world, stack_id)
    patched(world, attribute=read)
    world.update(source)
    world.settle()
    assert outputs(world, stack_id) == {"told": "1"}
    assert ids(world, stack_id) == before
    world.update(source)
    assert [order.phase for order in world.messages] == ["end"], "it is on record now"


@pytest.mark.parametrize("operation", ["create", "update"])
def test_what_only_could_not_tell_about_itself_is_asked_again_and_not_made_again(operation: str) -> None:
    """Also where a type cannot find what an earlier attempt made."""
    world = World()
    busy = [True, True] if operation == "create" else []

    def attribute(self: Resource, asked: str) -> Any:
        if busy:
            busy.pop()
            raise RetryableFailure("busy")
        return self.properties["size"]

    patched(world, attribute=attribute, find=lambda self: None)
    stack_id = world.create(template({"a": value("1", "s"), "b": value("{get_attr: [a, value]}")}))
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert world.cloud.log == [("make", "a"), ("make", "b")]
    if operation == "update":
        before = ids(world, stack_id)
        busy += [True, True]
        world.update(template({"a": value("1", "l"), "b": value("{get_attr: [a, value]}")}))
        world.settle()
        assert world.state() == "UPDATE_COMPLETE"
        assert world.cloud.log[2:] == [("change", "a"), ("make", "b"), ("unmake", "b")]
        assert ids(world, stack_id)["a"] == before["a"]
    assert not busy


def test_what_is_asked_of_a_stack_in_a_stack_is_told_to_be_missing_through_it() -> None:
    world = World()
    read = silence(world, "server")
    stack_id = world.create(NESTED, files=FILES)
    world.settle()
    assert world.state() == "CREATE_FAILED"
    found = states(world, stack_id)
    assert found["pair"] == ["CREATE_COMPLETE"]
    assert "CREATE_FAILED" in {*found["by_output"], *found["by_member"]}
    assert "of resource 'pair' could not be read: " in reason(world)
    assert reason(world).endswith("nobody answers")
    before = ids(world, stack_id)["pair"]
    patched(world, attribute=read)
    world.update(NESTED, files=FILES)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert ids(world, stack_id)["pair"] == before
    values = {
        physical_id.rpartition("-")[0]: value for physical_id, (_, value) in world.cloud.objects.items()
    }
    assert values["by_output"] == values["by_member"] == "v/up"
