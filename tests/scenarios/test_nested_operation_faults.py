"""What comes in between, and what dies, while stacks in stacks are checked, suspended, resumed and mended."""

import pytest

from orchestrator.engine.health import mark_unhealthy
from orchestrator.errors import Conflict
from orchestrator.model.messages import SuspendJob
from orchestrator.store.stacks.stacks import StackRow
from tests.scenarios.built_once import built_once
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.test_nested import FILES, root, stacks
from tests.scenarios.test_operations import at_rest, reason
from tests.scenarios.test_update_faults import step
from tests.scenarios.world import World

ALL = {"net", "disk", "server", "user"}


@built_once
def complete() -> World:
    """Return a stack that is complete, with another inside."""
    world = World()
    world.create(root(), files=FILES)
    world.settle()
    world.cloud.log.clear()
    return world


@built_once
def begun(operation: str, steps: int) -> World:
    """Return a stack of which an operation is so many steps under way."""
    if steps:
        world = begun(operation, steps - 1)
        step(world)
        return world
    world = complete()
    if operation == "resume":
        world.suspend()
        world.settle()
    getattr(world, operation)()
    return world


@pytest.fixture
def world() -> World:
    return complete()


def child(world: World) -> StackRow:
    row: StackRow = next(each for each in stacks(world) if each.parent_id)
    return row


def state(row: StackRow) -> str:
    return f"{row.action}_{row.status}"


def find(world: World, name: str) -> str:
    return next(each for each in world.cloud.objects if each.startswith(f"{name}-"))


def test_what_is_inside_rests_and_comes_back_in_its_place(world: World) -> None:
    world.suspend()
    world.settle()
    assert world.state() == "SUSPEND_COMPLETE"
    assert state(child(world)) == "SUSPEND_COMPLETE"
    assert [name for _, name in world.cloud.log] == ["user", "server", "disk", "net"]
    world.cloud.log.clear()
    world.resume()
    world.settle()
    assert world.state() == "RESUME_COMPLETE"
    assert [name for _, name in world.cloud.log] == ["net", "disk", "server", "user"]


def test_a_check_finds_what_is_wrong_inside_and_the_next_update_mends_it(world: World) -> None:
    world.check()
    world.settle()
    assert world.state() == "CHECK_COMPLETE"
    before = set(world.cloud.objects)
    world.cloud.sizes[find(world, "server")] = "x"
    gone = find(world, "disk")
    del world.cloud.objects[gone]
    world.check()
    world.settle()
    assert world.state() == "CHECK_FAILED"
    assert reason(world) == (
        "resources.pair: resources.disk: it is not there any more; "
        "resources.server: changed by others: size: recorded 'small', observed 'x'"
    )
    world.update(root(), files=FILES)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert before - set(world.cloud.objects) == {gone}
    assert len(world.cloud.objects) == 4
    assert world.cloud.sizes[find(world, "server")] == "small"
    world.check()
    world.settle()
    assert world.state() == "CHECK_COMPLETE"


def test_a_refresh_looks_inside(world: World) -> None:
    world.cloud.sizes[find(world, "server")] = "x"
    world.update(root(), files=FILES)
    world.settle()
    assert world.cloud.sizes[find(world, "server")] == "x"
    world.update(root(), files=FILES, refresh=True)
    world.settle()
    assert world.cloud.sizes[find(world, "server")] == "small"
    assert world.cloud.log == [("change", "server")]


def test_what_is_unhealthy_inside_is_replaced_by_an_update_of_the_outermost(world: World) -> None:
    before = set(world.cloud.objects)
    mark_unhealthy(world.store, child(world), "server", reason="it hums")
    pair = world.store.stacks.resource(world.store.stacks.find("s", project="default").id, "pair")
    assert f"{pair.action}_{pair.status}" == "CHECK_FAILED"
    assert pair.reason == "resources.server: marked unhealthy: it hums"
    world.update(root(), files=FILES)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert {each.rpartition("-")[0] for each in before - set(world.cloud.objects)} == {"server"}
    assert len(world.cloud.objects) == 4


def test_nobody_says_so_while_the_outermost_is_busy(world: World) -> None:
    world.update(root(size="large"), files=FILES)
    with pytest.raises(Conflict, match="UPDATE_IN_PROGRESS"):
        mark_unhealthy(world.store, child(world), "server", reason="")


def test_what_is_inside_is_only_reached_from_outside(world: World) -> None:
    with pytest.raises(Conflict, match="is a part of another stack"):
        world.coordinator.operate(SuspendJob(name=child(world).id))


@pytest.mark.parametrize("inside", ["disk", "server"])
def test_what_cannot_be_suspended_inside_fails_the_whole_which_can_be_resumed(
    world: World, inside: str
) -> None:
    world.cloud.failing_operations = {("suspend", inside)}
    world.suspend()
    world.settle()
    assert world.state() == "SUSPEND_FAILED"
    assert reason(world).endswith(f"resources.{inside}: no luck")
    world.resume()
    world.settle()
    assert world.state() == "RESUME_COMPLETE"
    assert at_rest(world) == set()


@pytest.mark.parametrize("fails", ["before the update", "in the update"])
def test_an_update_brings_back_what_could_not_be_resumed_inside(world: World, fails: str) -> None:
    world.suspend()
    world.settle()
    world.resume()
    if fails == "in the update":
        world.cancel()
        world.settle()
    world.cloud.failing_operations = {("resume", "disk")}
    world.settle()
    assert world.state() == "RESUME_FAILED"
    before, disk = child(world).id, find(world, "disk")
    world.update(root(size="large"), files=FILES)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert world.cloud.failing_operations == set()
    assert at_rest(world) == set()
    assert child(world).id == before
    assert find(world, "disk") != disk
    assert len(world.cloud.objects) == 4
    assert world.cloud.sizes[find(world, "server")] == "large"


at_every_message = pytest.mark.parametrize("steps", range(18))


@at_every_message
@pytest.mark.parametrize("operation", ["check", "suspend", "resume"])
@pytest.mark.parametrize("then", ["cancel", "update", "delete"])
def test_what_comes_in_between_has_its_way(operation: str, then: str, steps: int) -> None:
    world = begun(operation, steps)
    stack_id = world.store.stacks.find("s", project="default").id
    if then == "delete":
        world.delete()
        world.settle()
        assert world.state(stack_id) == "DELETE_COMPLETE"
        assert world.cloud.objects == {}
        assert stacks(world) == []
        return
    if then == "cancel" and world.state().endswith("IN_PROGRESS"):
        world.cancel()
        world.settle()
        assert world.state() == f"{operation.upper()}_FAILED"
    if operation == "suspend":
        world.settle()
        world.resume()
        world.settle()
        assert world.state() == "RESUME_COMPLETE"
    world.update(root(size="large"), files=FILES)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert at_rest(world) == set()
    assert {each.rpartition("-")[0] for each in world.cloud.objects} == ALL
    assert len(world.cloud.objects) == 4
    assert world.cloud.sizes[find(world, "server")] == "large"


@pytest.mark.parametrize("operation", ["check", "suspend", "resume"])
@die_everywhere
def test_it_ends_whatever_dies(operation: str, instruction: int) -> None:
    world = begun(operation, 0)
    world.cloud.crash_after(instruction)
    while world.messages:
        world.survive(world.deliver)
    world.cloud.crash_at = None
    world.settle()
    assert world.state() == f"{operation.upper()}_COMPLETE"
    assert state(child(world)) == f"{operation.upper()}_COMPLETE"
    assert at_rest(world) == (ALL if operation == "suspend" else set())


def test_a_worker_that_stood_still_suspends_nothing_that_was_resumed_since(world: World) -> None:
    world.suspend()
    while not any(order.key == "pair" for order in world.messages):
        step(world)
    claim = world.store.nodes.claim(world.messages.pop(0), worker="slow")
    assert claim is not None
    world.cancel()
    world.now += 100
    world.settle()
    world.resume()
    world.settle()
    # Only now does it begin to suspend the stack inside.
    outcome = world.checker.act(claim)
    world.publish(world.checker.report(claim, outcome))
    world.settle()
    assert world.state() == "RESUME_COMPLETE"
    assert at_rest(world) == set()
