"""Lifecycle plugins whose calls end their process: none is called for ever, and the operation comes to an end."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from hooks.lifecycle import LifecyclePlugin
from orchestrator.config.settings import Settings
from orchestrator.errors import Conflict
from orchestrator.model.messages import StackJob
from orchestrator.store import tables
from orchestrator.store.traversals.operation_rows import CallRow, OperationRow
from tests.operations import operations_of
from tests.scenarios.cloud import Crash
from tests.scenarios.test_updates import template, value
from tests.scenarios.world import World

PRE, POST = "do_pre_op", "do_post_op"
LIMIT = Settings.lost_attempt_limit
#: More deliveries than any operation may take.
MANY = 10 * LIMIT
JOB = StackJob(name="s", template=template({"a": value("1")}), job_id="1")


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    with capture_logs():
        yield


class Deadly(LifecyclePlugin):
    """Its process ends in these calls."""

    def __init__(self, name: str, *kills_in: str) -> None:
        super().__init__()
        self.name, self.kills_in = name, kills_in
        self.calls: list[str] = []

    def do_pre_op(self, *_: Any) -> None:
        self._called(PRE)

    def do_post_op(self, *_: Any) -> None:
        self._called(POST)

    def _called(self, call: str) -> None:
        self.calls.append(call)
        if call in self.kills_in:
            raise Crash


def refusal_of(world: World) -> str:
    """Deliver a job again each time that its process ends, as a broker does; return why it is refused."""
    for _ in range(MANY):
        try:
            assert not world.survive(partial(world.coordinator.create, JOB)), "it began"
        except Conflict as error:
            return str(error)
    raise AssertionError("never refused")


def settle(world: World) -> None:
    """Sweep until no lost operation is left, however often the process ends meanwhile."""
    for _ in range(MANY):
        if world.survive(partial(world.sweep, after=1000)) and world.store.sweeper.next_due() is None:
            return
    raise AssertionError("always due")


def calls_of(operation: OperationRow) -> dict[str, CallRow]:
    return {call.plugin: call for call in operation.calls}


@pytest.mark.parametrize("kills_in", [(PRE,), (PRE, POST)])
def test_an_operation_is_refused_whose_plugin_ends_its_process_each_time(kills_in: tuple[str, ...]) -> None:
    world = World()
    first, deadly, last = Deadly("a"), Deadly("b", *kills_in), Deadly("c")
    world.plug(first, deadly, last)
    reason = f"refused by lifecycle plugin 'b': {LIMIT} attempts at do_pre_op were lost"
    assert refusal_of(world).startswith(reason)
    settle(world)
    assert deadly.calls == [PRE] * LIMIT + [POST] * (LIMIT if POST in kills_in else 1)
    assert (first.calls, last.calls) == ([PRE, POST], [])
    with world.store.database.read() as connection:
        stack_id = connection.execute(sa.select(tables.operation.c.stack_id)).scalar_one()
    (operation,) = operations_of(world.store, stack_id)
    assert (operation.state, operation.outcome) == ("over", "refused")
    assert operation.reason.startswith(reason)
    assert calls_of(operation)["b"].asked_lost == LIMIT
    assert world.store.stacks.all(project="default") == []


def test_the_same_job_delivered_again_is_refused_without_a_call() -> None:
    world = World()
    deadly = Deadly("b", PRE)
    world.plug(deadly)
    reason = refusal_of(world)
    calls = [*deadly.calls]
    assert refusal_of(world) == reason
    assert deadly.calls == calls
    # Another job is another operation.
    deadly.kills_in = ()
    world.create(template({"a": value("1")}), job_id="2")
    world.settle()
    assert world.state() == "CREATE_COMPLETE"


def test_a_plugin_that_ends_its_process_fails_the_stack_where_its_refusals_do() -> None:
    world = World(lifecycle_effects={"default": "fail"})
    world.plug(Deadly("b", PRE))
    for _ in range(MANY):
        if world.survive(partial(world.coordinator.create, JOB)):
            break
    world.settle()
    assert world.state() == "CREATE_FAILED"


def test_an_operation_ends_whose_plugin_ends_its_process_after_it() -> None:
    world = World()
    first, deadly = Deadly("a"), Deadly("b", POST)
    world.plug(first, deadly)
    stack_id = world.coordinator.create(JOB)
    for _ in range(MANY):
        if world.survive(world.settle):
            break
    assert world.state() == "CREATE_COMPLETE"
    assert deadly.calls == [PRE] + [POST] * LIMIT
    assert first.calls == [PRE, POST]
    (operation,) = operations_of(world.store, stack_id)
    assert (operation.state, operation.outcome) == ("over", "complete")
    call = calls_of(operation)["b"]
    assert call.error.startswith(f"{LIMIT} attempts at do_post_op were lost")
    assert (call.told_lost, call.told_seconds) == (LIMIT, None)


def test_a_call_that_comes_back_at_the_last_attempt_is_heard() -> None:
    world = World()
    deadly = Deadly("b", PRE, POST)
    world.plug(deadly)
    for _ in range(LIMIT - 1):
        assert not world.survive(partial(world.coordinator.create, JOB))
    deadly.kills_in = ()
    world.coordinator.create(JOB)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert deadly.calls == [PRE] * LIMIT + [POST]
