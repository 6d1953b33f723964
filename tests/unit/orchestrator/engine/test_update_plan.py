"""Whether an update has an effect at all, as scripts want to know."""

from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.engine.update_plan import update_plan
from orchestrator.model.messages import StackJob
from orchestrator.plugins.registry import ResourceTypes
from tests.scenarios.world import World

SOURCE = """\
heat_template_version: wallaby
description: one
parameters:
  p: {type: string, default: x}
  unused: {type: string, default: y}
resources:
  a: {type: OS::Heat::TestResource, properties: {value: {get_param: p}}}
  b: {type: OS::Heat::TestResource, properties: {value: {get_attr: [a, output]}}}
outputs:
  said: {value: {get_attr: [b, output]}}
"""


@pytest.fixture
def world() -> Iterator[World]:
    made = World(types=dict(ResourceTypes.load()))
    made.create(SOURCE, tags=("t",))
    made.settle()
    yield made
    made.close()


def has_changes(world: World, source: str = SOURCE, **job: Any) -> bool:
    stack = world.store.stacks.find("s", project="default")
    asked = StackJob(name="s", template=source, **job)
    state = world.state()
    return update_plan(world.store, stack, asked, Settings(), clients=None, state=state).has_changes


def test_the_same_definition_changes_nothing(world: World) -> None:
    assert not has_changes(world)
    assert not has_changes(world, f"# a comment\n{SOURCE}", tags=("t",), parameters={"p": "x"})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("get_param: p", "get_param: unused"),
        ("  b: {", "  c: {"),
        ("description: one", "description: two"),
        ("[b, output]", "[a, output]"),
        ("default: y", "default: z"),
        ("[a, output]}}}", "[a, output]}}, deletion_policy: Retain}"),
        ("[a, output]}}}", "[a, output]}}, metadata: {k: v}}"),
    ],
)
def test_whatever_differs_is_a_change(world: World, old: str, new: str) -> None:
    other = SOURCE.replace(old, new)
    other = other.replace("[b, output]", "[c, output]") if new == "  c: {" else other
    assert other != SOURCE
    assert has_changes(world, other)


def test_tags_values_and_doubts_are_changes(world: World) -> None:
    assert has_changes(world, tags=("t", "u"))
    assert has_changes(world, parameters={"unused": "z"})
    assert has_changes(world, refresh=True)


def test_a_stack_that_is_not_complete_has_something_to_be_done(world: World) -> None:
    world.check()
    assert has_changes(world)
    world.settle()
    assert not has_changes(world)
