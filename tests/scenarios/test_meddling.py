"""Lifecycle plugins that try to change what they are shown: each fails in words, and nothing is changed anywhere."""

import operator
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from structlog.testing import capture_logs

from hooks.lifecycle import LifecycleContext, LifecyclePlugin
from hooks.stack import FrozenStack
from orchestrator.errors import Conflict
from orchestrator.model.messages import StackJob
from tests.operations import operations_of
from tests.scenarios.bracket_book import Book
from tests.scenarios.world import World

TEMPLATE = """\
heat_template_version: 2021-04-16
parameters: {{where: {{type: json, default: {{zone: north}}}}}}
resources:
  a:
    type: Cloud::Object
    properties: {{value: v, size: {size}}}
  b: {{type: Cloud::Object, depends_on: a}}
"""
READ_ONLY = "ReadOnly: what a hook is shown of a stack is only read"
FROZEN = "FrozenInstanceError: cannot assign to field"

#: What somebody does with a stack, and what he is told.
ATTEMPTS: dict[str, tuple[Callable[[FrozenStack], Any], str]] = {
    "set a property": (lambda stack: operator.setitem(_properties(stack), "size", "XXL"), READ_ONLY),
    "remove a property": (lambda stack: operator.delitem(_properties(stack), "size"), READ_ONLY),
    "update properties": (lambda stack: _properties(stack).update(size="XXL"), READ_ONLY),
    "merge properties": (lambda stack: _properties(stack).__ior__({"size": "XXL"}), READ_ONLY),
    "take a property": (lambda stack: _properties(stack).pop("size"), READ_ONLY),
    "empty properties": (lambda stack: _properties(stack).clear(), READ_ONLY),
    "default a property": (lambda stack: _properties(stack).setdefault("zone", 1), READ_ONLY),
    "set a parameter": (lambda stack: operator.setitem(_maps(stack.parameters), "where", {}), READ_ONLY),
    "set within a parameter": (
        lambda stack: operator.setitem(stack.parameters["where"], "zone", "south"),
        READ_ONLY,
    ),
    "add a resource": (
        lambda stack: operator.setitem(_maps(stack.resources), "c", stack.resource("a")),
        "TypeError|ReadOnly",
    ),
    "remove a resource": (lambda stack: operator.delitem(_maps(stack.resources), "a"), "TypeError|ReadOnly"),
    "rename the stack": (lambda stack: setattr(stack, "name", "mine"), FROZEN),
    "tag the stack": (lambda stack: setattr(stack, "tags", ("mine",)), FROZEN),
    "give it other resources": (lambda stack: setattr(stack, "resources", {}), FROZEN),
    "retype a resource": (lambda stack: setattr(stack.resource("a"), "type", "Other::Object"), FROZEN),
    "free a resource": (lambda stack: setattr(stack.resource("b"), "requires", ()), FROZEN),
    "remove a field": (
        lambda stack: delattr(stack.resource("a"), "physical_id"),
        "FrozenInstanceError: cannot delete field",
    ),
}


def _properties(stack: FrozenStack) -> Any:
    return stack.resource("a").properties


def _maps(value: Any) -> Any:
    return value


class Meddler(LifecyclePlugin):
    """Does something with a stack that it is shown: as it is to be or as it is, before the operation or after it."""

    name = "meddler"

    def __init__(self, attempt: Callable[[FrozenStack], Any], *, word: str, present: bool) -> None:
        super().__init__()
        self._attempt, self._word, self._present = attempt, word, present
        self.tried = 0

    def do_pre_op(
        self, context: LifecycleContext, stack: FrozenStack, current_stack: FrozenStack | None, action: str
    ) -> None:
        if self._word == "pre":
            self._try(stack, current_stack)

    def do_post_op(
        self,
        context: LifecycleContext,
        stack: FrozenStack,
        current_stack: FrozenStack | None,
        action: str,
        is_stack_failure: bool,
    ) -> None:
        if self._word == "post":
            self._try(stack, current_stack)

    def _try(self, stack: FrozenStack, current_stack: FrozenStack | None) -> None:
        shown = current_stack if self._present else stack
        assert shown is not None
        self.tried += 1
        self._attempt(shown)


@pytest.fixture
def world() -> Iterator[World]:
    """A stack that is there, and nothing under way."""
    with capture_logs(), closing(World()) as made:
        made.create(TEMPLATE.format(size="s"))
        made.settle()
        yield made


def job() -> StackJob:
    return StackJob(name="s", template=TEMPLATE.format(size="l"), job_id="meddled")


each_attempt = pytest.mark.parametrize("attempt", ATTEMPTS)


@each_attempt
def test_whoever_meddles_before_an_operation_has_it_refused_and_nothing_is_written(
    world: World, attempt: str
) -> None:
    meddle, told = ATTEMPTS[attempt]
    book = Book(world)
    before = book.content()
    for present in (False, True):
        plugin = Meddler(meddle, word="pre", present=present)
        world.plug(plugin)
        with pytest.raises(Conflict, match=rf"^refused by lifecycle plugin 'meddler': it failed: ({told})"):
            world.coordinator.update(job())
        assert plugin.tried == 1
        assert book.content() == before
    world.plug()
    world.coordinator.update(job())
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert sorted(world.cloud.sizes.values()) == ["", "l"]


@each_attempt
def test_whoever_meddles_after_an_operation_has_it_on_record_and_the_operation_stands(
    world: World, attempt: str
) -> None:
    meddle, told = ATTEMPTS[attempt]
    plugin = Meddler(meddle, word="post", present=False)
    world.plug(plugin)
    stack_id = world.coordinator.update(job())
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert sorted(world.cloud.sizes.values()) == ["", "l"]
    (row,) = operations_of(world.store, stack_id)
    assert (row.state, row.outcome, plugin.tried) == ("over", "complete", 1)
    assert row.calls[0].error.startswith(tuple(told.split("|")))


def test_whoever_goes_round_what_is_frozen_changes_nothing_that_the_engine_reads(world: World) -> None:
    """Nothing in Python keeps anybody from it; but what a plugin is shown is nothing that a stack is made of."""

    def force(stack: FrozenStack) -> None:
        dict.__setitem__(_properties(stack), "size", "XXL")
        object.__setattr__(stack.resource("b"), "requires", ())
        object.__setattr__(stack, "name", "mine")

    plugin = Meddler(force, word="pre", present=False)
    world.plug(plugin)
    world.coordinator.update(job())
    world.settle()
    assert (world.state(), plugin.tried) == ("UPDATE_COMPLETE", 1)
    assert sorted(world.cloud.sizes.values()) == ["", "l"]
    stack = world.store.stacks.find("s", project="default")
    assert world.store.stacks.resource(stack.id, "b").requires != ()


def test_whoever_goes_round_what_is_frozen_changes_what_nobody_else_is_shown_then_or_later(
    world: World,
) -> None:
    """Not those that are asked after him, nor those that are told, nor anybody about another operation."""

    def force(stack: FrozenStack) -> None:
        dict.__setitem__(_properties(stack), "size", "XXL")
        stack.parameters["where"].__init__(zone="south")
        object.__setattr__(stack.resource("b"), "requires", ())
        object.__setattr__(stack, "name", "mine")

    def look(stack: FrozenStack) -> None:
        seen.append(
            (_properties(stack)["size"], stack.parameters["where"], stack.resource("b").requires, stack.name)
        )

    seen: list[Any] = []
    for word in ("pre", "post"):
        for present in (False, True):
            first = Meddler(force, word=word, present=present)
            second = Meddler(look, word=word, present=present)
            # Asked first, or told first.
            first.ordinal = 1 if word == "pre" else 200
            first.name, second.name = "first", "second"
            world.plug(first, second)
            world.coordinator.update(StackJob(name="s", template=TEMPLATE.format(size="l")))
            world.settle()
            assert (first.tried, second.tried) == (1, 1)
    assert {each[0] for each in seen} <= {"s", "l"}
    assert {each[2:] for each in seen} == {(("a",), "s")}
    assert all(each[1] == {"zone": "north"} for each in seen)
