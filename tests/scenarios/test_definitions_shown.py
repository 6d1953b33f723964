"""What lifecycle plugins are shown of definitions, before and after they are stored."""

import gc
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from hooks.lifecycle import LifecycleContext, LifecyclePlugin
from hooks.stack import FrozenResource, FrozenStack
from hooks.values.unknown import UNKNOWN
from orchestrator.config.settings import Settings
from orchestrator.lifecycle.frozen_stacks import stack_shown, with_rows
from orchestrator.model.messages import EnvironmentSource
from tests.counting import statements
from tests.scenarios.test_updates import template, value
from tests.scenarios.world import World

RICH = """
heat_template_version: 2021-04-16
parameters:
  word: {type: string}
  password: {type: string, hidden: true}
  attribute: {type: string, default: value}
conditions:
  never: {equals: [{get_param: word}, never]}
resources:
  first: {type: Our::Object, properties: {value: {get_param: word}, size: {get_param: password}}}
  second:
    type: Cloud::Object
    properties:
      value: {get_attr: [first, {get_param: attribute}]}
      size: {list_join: [':', [{get_param: password}, {get_param: word}]]}
  third: {type: Cloud::Object, condition: never}
  inner: {type: inner.yaml, depends_on: second, properties: {word: {get_param: password}}}
"""
INNER = """
heat_template_version: 2021-04-16
parameters:
  word: {type: string}
resources:
  it: {type: Our::Object, properties: {value: {get_param: word}, size: {get_param: 'OS::stack_name'}}}
"""
JOB: dict[str, Any] = {
    "files": {"inner.yaml": INNER},
    "environments": (
        EnvironmentSource(file="env.yaml", source="resource_registry: {'Our::Object': 'Cloud::Object'}"),
    ),
    "parameters": {"word": "hello", "password": "hunter2"},
    "tags": ("prod",),
}


class Onlooker(LifecyclePlugin):
    """Keeps what it is shown."""

    name = "onlooker"

    def __init__(self) -> None:
        super().__init__()
        self.to_be: list[FrozenStack] = []
        self.now: list[FrozenStack | None] = []

    def do_pre_op(
        self, context: LifecycleContext, stack: FrozenStack, current_stack: FrozenStack | None, action: str
    ) -> None:
        self.to_be.append(stack)
        self.now.append(current_stack)


@pytest.fixture
def world() -> Iterator[World]:
    with closing(World()) as made:
        yield made


def bare(resource: FrozenResource) -> FrozenResource:
    """Return a resource without what is there of it."""
    return replace(resource, uuid="", action="", status="", physical_id=None, others=())


def test_a_stored_definition_is_shown_as_it_was_when_it_was_new(world: World) -> None:
    onlooker = Onlooker()
    world.plug(onlooker)
    world.create(RICH, **JOB)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    world.check()
    world.settle()
    outer, inner, stored, stored_inner = onlooker.to_be
    for new, old in ((outer, stored), (inner, stored_inner)):
        assert replace(new, resources={}) == replace(old, resources={})
        assert list(new.resources.values()) == [bare(each) for each in old.resources.values()]
        assert not any(each.uuid for each in new.resources.values())
        assert all(each.uuid and each.status == "COMPLETE" for each in old.resources.values())
        assert "hunter2" not in repr((new, old))
    assert outer.resource("first").type == inner.resource("it").type == "Cloud::Object"
    assert outer.resource("first").properties == {"value": "hello", "size": "******"}
    assert outer.resource("second").properties == {"value": UNKNOWN, "size": "******"}
    assert inner.resource("it").properties == {"value": "******", "size": inner.name}
    assert (inner.parent_id, inner.root_id) == (outer.id, outer.id)
    assert onlooker.now[0] is None


def test_nothing_of_the_engine_can_be_reached_from_what_is_shown(world: World) -> None:
    onlooker = Onlooker()
    world.plug(onlooker)
    world.create(RICH, **JOB)
    world.settle()
    world.check()
    world.settle()
    later = with_rows(onlooker.to_be[0], lambda: world.store.presences.of(onlooker.to_be[0].id))
    for stack in (*onlooker.to_be, *onlooker.now, later):
        strangers = {kind for kind in map(type, reachable(stack)) if not kind.__module__.startswith("hooks.")}
        assert strangers <= {str, int, float, bool, type(None), dict, list, tuple}


def reachable(start: object) -> list[object]:
    """Return whatever can be reached from an object through what it holds, classes aside."""
    found: dict[int, object] = {id(start): start}
    waiting = [start]
    while waiting:
        for each in gc.get_referents(waiting.pop()):
            # What a class leads to, a plugin has imported anyway.
            if not isinstance(each, type) and id(each) not in found:
                found[id(each)] = each
                waiting.append(each)
    return list(found.values())


def test_the_store_is_read_only_when_somebody_looks_at_resources(world: World) -> None:
    world.create(RICH, **JOB)
    world.settle()
    row = world.store.stacks.find("s", project="default")
    with statements() as read:
        shown = stack_shown(world.store, row, Settings())
        assert not any(table in sql for sql in read for table in ("FROM template", "FROM resource"))
        assert shown.name == "s"
        assert shown.tags == ("prod",)
        assert shown.parameters["word"] == "hello"
        read.clear()
        assert "first" in shown
        assert len(read) > 0
        read.clear()
        assert shown.resource("second").action == "CREATE"
        assert read == []


class Looker(Onlooker):
    """Looks at everything that it is shown, whenever it is."""

    def do_post_op(
        self,
        context: LifecycleContext,
        stack: FrozenStack,
        current_stack: FrozenStack | None,
        action: str,
        is_stack_failure: bool,
    ) -> None:
        assert current_stack is not None
        assert list(stack.resources) == list(current_stack.resources)
        assert all(each.uuid and each.status == "COMPLETE" for each in current_stack.resources.values())


def test_no_stored_definition_is_read_that_was_shown_by_this_process(world: World) -> None:
    world.plug(Looker())
    with statements() as read:
        world.create(template({"a": value("1"), "b": value("2")}))
        world.settle()
        world.check()
        world.settle()
    assert world.state() == "CHECK_COMPLETE"
    assert not any("FROM template" in sql for sql in read)


def test_a_definition_that_cannot_be_read_any_more_is_unknown_and_hinders_nobody(world: World) -> None:
    world.create(template({"a": value("1")}))
    world.settle()
    row = world.store.stacks.find("s", project="default")
    stored = world.store.templates.load(row.template_id)
    broken = replace(stored, source=stored.source.replace("resources:", "resources: []\nresorces:"))
    row = replace(row, template_id=world.store.templates.save(broken, {}))
    shown = stack_shown(world.store, row, Settings()).resource("a")
    assert (shown.type, shown.action, shown.properties) == ("Cloud::Object", "CREATE", {"*": UNKNOWN})


def test_what_is_there_is_put_beside_what_was_shown(world: World) -> None:
    onlooker = Onlooker()
    world.plug(onlooker)
    world.create(template({"a": value("1"), "old": ""}))
    world.settle()
    (shown,) = onlooker.to_be
    rows = world.store.stacks.resources(shown.id)
    for given in (rows, lambda: rows, world.store.presences.of(shown.id)):
        now = with_rows(replace(shown, resources={"a": shown.resource("a")}), given)
        assert now.resource("a").properties == shown.resource("a").properties != {}
        assert {name: each.physical_id for name, each in now.resources.items()} == {
            row.name: row.physical_id for row in rows
        }
        assert now.resource("old").properties == {}
