"""What engines of this kind are known to get wrong about plugins; the table is in ``test_traps``."""

from typing import Any

import pytest

from hooks.lifecycle import COMPLETE, FAILED, REFUSED, SUPERSEDED, LifecycleContext, LifecyclePlugin
from orchestrator.engine.health import mark_unhealthy
from orchestrator.errors import Conflict
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import ResourceFailure
from tests.scenarios.telling import patched, reason, rows_of, states
from tests.scenarios.test_updates import ids, present, template, value
from tests.scenarios.world import World
from workers.resources.core.value import Value

# -- what resource types see and tell --------------------------------------------------------------------------------


def test_an_attribute_that_cannot_be_read_fails_those_who_need_it_and_not_its_resource() -> None:
    """What was made is not made again because nobody could read one thing about it."""
    world = World()

    def unreadable(self: Resource, name: str) -> Any:
        raise ResourceFailure("nobody answers")

    kind = patched(world)
    read = kind.attribute
    kind.attribute = unreadable  # type: ignore[method-assign]
    resources = {"a": value("1"), "b": value("{get_attr: [a, value]}"), "c": "depends_on: a"}
    stack_id = world.create(template(resources))
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert states(world, stack_id)["a"] == ["CREATE_COMPLETE"]
    assert states(world, stack_id)["b"] == ["CREATE_FAILED"]
    assert "attribute 'value' of resource 'a' could not be read: nobody answers" in reason(world)
    assert world.store.stacks.resource(stack_id, "a").reason in reason(world)
    before = ids(world, stack_id)["a"]
    kind.attribute = read  # type: ignore[method-assign]
    world.update(template(resources))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert ids(world, stack_id)["a"] == before
    assert present(world) == {"a": ("1", ""), "b": ("1", ""), "c": ("", "")}


def test_what_is_no_direct_requirement_is_not_answered_for() -> None:
    """Asking too far is the asker's mistake, and said so: no name or null stands for what is not known."""
    world = World()

    def handle_create(self: Resource) -> Any:
        if self.name == "c":
            self.state.physical_id = str(self.stack.resource("a").reference_id())
        return 0

    patched(world, handle_create=handle_create)
    stack_id = world.create(template({"a": "", "b": "depends_on: a", "c": "depends_on: b"}))
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert states(world, stack_id)["c"] == ["CREATE_FAILED"]
    assert "resource 'c' asked for 'a', which is not one of its direct requirements" in reason(world)


def test_what_a_definition_holds_does_not_depend_on_when_it_is_asked() -> None:
    """A resource whose condition does not hold is not there, before and after anything else was asked."""
    world = World()
    answers: list[list[bool]] = []

    def handle_create(self: Resource) -> Any:
        self.state.physical_id = self.name
        names = ("a", "disabled", "nothing")
        answers.append([name in self.stack for name in names])
        if "a" in self.stack:
            self.stack.resource("a").reference_id()
        answers.append([name in self.stack for name in names])
        return 0

    patched(world, handle_create=handle_create, find=lambda self: None)
    world.create("""\
heat_template_version: wallaby
conditions: {never: {equals: [1, 2]}}
resources:
  a: {type: Cloud::Object}
  disabled: {type: Cloud::Object, condition: never}
  b: {type: Cloud::Object, depends_on: [a, disabled]}
""")
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert answers == [[False] * 3] * 2 + [[True, False, False]] * 2


FACADE = """\
heat_template_version: wallaby
resources:
  color: {type: OS::Heat::Value, properties: {value: {resource_facade: metadata}}}
"""


def test_inside_is_seen_the_resource_that_the_stack_is_and_no_other_of_its_name() -> None:
    """While a stack in a stack is replaced there are two resources of one name; each inside sees its own."""
    world = World({"OS::Heat::Value": Value})
    outer = """\
heat_template_version: wallaby
resources:
  web: {{type: inner.yaml, metadata: {{color: {}}}}}
"""
    world.create(outer.format("red"), files={"inner.yaml": FACADE})
    world.settle()
    seen = []
    patched_value: Any = world.checker._types["OS::Heat::Value"]
    create = patched_value.handle_create

    def handle_create(self: Resource) -> Any:
        stack = world.store.stacks.find("s", project="default")
        seen.append((self.properties["value"], len(rows_of(world, stack.id)["web"])))
        return create(self)

    patched_value.handle_create = handle_create
    try:
        mark_unhealthy(world.store, world.store.stacks.find("s", project="default"), "web", reason="old")
        world.update(outer.format("blue"), files={"inner.yaml": FACADE})
        world.settle()
    finally:
        patched_value.handle_create = create
    assert world.state() == "UPDATE_COMPLETE"
    assert seen == [({"color": "blue"}, 2)]


# -- lifecycle plugins ---------------------------------------------------------------------------------------------


class Notes(LifecyclePlugin):
    """Writes down what it is asked and told."""

    name = "notes"

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, str]] = []
        self.told: list[tuple[str, str]] = []
        self.outcomes: list[tuple[str, str]] = []
        self.reasons: list[str] = []

    def do_pre_op(self, context: LifecycleContext, stack: Any, current_stack: Any, action: str) -> None:
        self.asked.append((action, context.operation_id))

    def do_post_op(
        self, context: LifecycleContext, stack: Any, current_stack: Any, action: str, is_stack_failure: bool
    ) -> None:
        assert is_stack_failure == (context.outcome != COMPLETE)
        self.told.append((action, context.operation_id))
        self.outcomes.append((action, context.outcome))
        self.reasons.append(context.reason)


class Refusing(LifecyclePlugin):
    """Agrees to nothing."""

    name = "refusing"
    ordinal = 200

    def do_pre_op(self, *_: Any) -> None:
        raise RuntimeError("no licence")


def test_plugins_are_asked_before_each_operation_and_told_how_it_ended() -> None:
    world = World()
    notes = Notes()
    world.plug(notes)
    world.create(template({"a": value("1", "s")}))
    world.settle()
    world.cloud.failing_updates = {"a": True}
    world.update(template({"a": value("1", "l")}), rollback=True)
    world.settle()
    world.delete()
    world.settle()
    assert notes.outcomes == [
        ("CREATE", COMPLETE),
        ("UPDATE", FAILED),
        ("ROLLBACK", COMPLETE),
        ("DELETE", COMPLETE),
    ]
    assert notes.asked == notes.told
    assert notes.reasons[1].startswith("Resource UPDATE failed")


def test_an_operation_that_is_superseded_is_told_too() -> None:
    world = World()
    notes = Notes()
    world.plug(notes)
    world.create(template({"a": value("1", "s")}))
    world.update(template({"a": value("1", "l")}))
    world.settle()
    assert set(notes.outcomes) == {("CREATE", SUPERSEDED), ("UPDATE", COMPLETE)}


def test_an_operation_that_a_plugin_refuses_touches_nothing() -> None:
    world = World()
    notes = Notes()
    world.plug(notes, Refusing())
    with pytest.raises(Conflict, match="no licence"):
        world.create(template({"a": value("1")}))
    assert world.store.stacks.all(project="default") == []
    assert world.messages == []
    assert notes.outcomes == [("CREATE", REFUSED)]
