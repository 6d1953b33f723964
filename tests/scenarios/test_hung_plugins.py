"""Lifecycle plugins whose calls hang: their process is replaced, and no call is on record that was not made."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from hooks.errors import Refusal
from hooks.lifecycle import LifecyclePlugin
from hooks.loading.calling import MOST_LEFT, TookTooLong, call_within
from orchestrator.errors import Conflict, Unavailable
from orchestrator.store.traversals.operation_rows import OperationRow
from tests.operations import operations_of
from tests.scenarios.test_updates import template, value
from tests.scenarios.world import World
from tests.waiting import PATIENCE_SECONDS, until

PRE, POST = "do_pre_op", "do_post_op"
TEMPLATE = template({"a": value("1")})


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    with capture_logs():
        yield


class Process:
    """The process of a world: how often its replacement was requested."""

    def __init__(self, world: World) -> None:
        self.requests = 0
        world.coordinator._brackets._replacement = self

    def request(self) -> None:
        self.requests += 1

    def give_up(self, thread: threading.Thread) -> None:
        raise AssertionError("a call of a hook has a thread of its own")


class Hanging(LifecyclePlugin):
    """Hangs in one of its calls until it is let go; the other has all the time."""

    def __init__(self, name: str, hangs_in: str = "") -> None:
        super().__init__()
        self.name, self._hangs_in = name, hangs_in
        self.time_limit_seconds = self._limit_of(PRE)
        self.calls: list[str] = []
        self.go = threading.Event()

    def _limit_of(self, call: str) -> float:
        return 0.05 if call == self._hangs_in else PATIENCE_SECONDS

    def do_pre_op(self, *_: Any) -> None:
        self._called(PRE)

    def do_post_op(self, *_: Any) -> None:
        self._called(POST)

    def _called(self, call: str) -> None:
        self.calls.append(call)
        self.time_limit_seconds = self._limit_of(POST)
        if call == self._hangs_in:
            self.go.wait()


@contextmanager
def as_many_hang_as_may(plugin: str) -> Iterator[None]:
    """Let as many calls of a plugin hang in this process as are allowed, until the block is left."""
    go, name = threading.Event(), f"lifecycle {plugin}"
    for _ in range(MOST_LEFT):
        with pytest.raises(TookTooLong):
            call_within(go.wait, seconds=0.001, name=name)
    try:
        yield
    finally:
        go.set()
        until(lambda: _may_be_called(name))


def _may_be_called(name: str) -> bool:
    try:
        return call_within(lambda: True, seconds=5, name=name)
    except TookTooLong:
        return False


def operation_of(world: World, stack_id: str) -> OperationRow:
    (operation,) = operations_of(world.store, stack_id)
    return operation


@pytest.mark.parametrize("call", [PRE, POST])
def test_a_process_is_replaced_in_which_a_call_hangs_and_the_operation_goes_on_at_once(call: str) -> None:
    world = World()
    process, plugin = Process(world), Hanging("b", call)
    world.plug(plugin)
    try:
        if call == PRE:
            with pytest.raises(Conflict, match="lifecycle plugin 'b': it has not answered within"):
                world.create(TEMPLATE)
        else:
            stack_id = world.create(TEMPLATE)
            world.settle()
            (row,) = operation_of(world, stack_id).calls
            assert (row.state, row.error) == ("told", "it has not answered within 0.05 s")
        assert process.requests == 1
        assert plugin.calls == [PRE, POST]
    finally:
        plugin.go.set()


class Unwilling(Hanging):
    """Refuses, and fails."""

    def _called(self, call: str) -> None:
        raise Refusal("no") if call == PRE else OSError("the disk is full")


def test_a_process_is_not_replaced_because_a_plugin_refuses_or_fails() -> None:
    world = World()
    process = Process(world)
    world.plug(Hanging("a"), Unwilling("b"))
    with pytest.raises(Conflict, match="refused by lifecycle plugin 'b': no"):
        world.create(TEMPLATE)
    assert process.requests == 0


def test_a_process_in_which_too_many_calls_hang_leaves_an_operation_to_another() -> None:
    world = World()
    process, first, plugin = Process(world), Hanging("a"), Hanging("b")
    world.plug(first, plugin)
    with as_many_hang_as_may("b"):
        with pytest.raises(Unavailable, match="'b' is not called in this process: 8 earlier calls of it"):
            world.create(TEMPLATE, job_id="1")
        assert process.requests == 1
        # Neither refused, nor called back.
        assert (first.calls, plugin.calls) == ([PRE], [])
    # The next process is delivered the same job.
    stack_id = world.create(TEMPLATE, job_id="1")
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert operation_of(world, stack_id).outcome == "complete"
    assert (first.calls, plugin.calls) == ([PRE, POST], [PRE, POST])


def test_a_call_after_an_operation_that_was_not_made_is_not_on_record_and_is_made_up_for() -> None:
    world = World()
    process, plugin = Process(world), Hanging("b")
    world.plug(plugin)
    stack_id = world.create(TEMPLATE)
    with as_many_hang_as_may("b"):
        with pytest.raises(Unavailable, match="not called in this process"):
            world.settle()
        assert process.requests == 1
        (call,) = operation_of(world, stack_id).calls
        assert (call.state, call.error, call.told_seconds) == ("telling", "", None)
    world.settle()
    assert plugin.calls == [PRE, POST]
    (call,) = operation_of(world, stack_id).calls
    assert (call.state, call.error) == ("told", "")
    assert call.told_seconds is not None
