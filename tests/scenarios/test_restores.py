"""Restores of stacks from snapshots, and what may come between."""

from collections.abc import Callable, Mapping

import pytest

from orchestrator.errors import Conflict, NotFound
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.test_snapshots import (
    AS_TAKEN,
    LATER,
    PRESENT_LATER,
    RESOURCES,
    contents,
    created,
    each_moment,
    restoring,
    snapshots,
    state,
    taken,
    taken_twice,
    write,
)
from tests.scenarios.test_update_faults import die_after_claim, step
from tests.scenarios.test_updates import done, ids, present, template
from tests.scenarios.world import World


def test_a_stack_becomes_what_it_was_and_its_objects_hold_what_they_held() -> None:
    world = taken()
    stack_id = world.restore("first")
    assert world.state() == "RESTORE_IN_PROGRESS"
    world.settle()
    assert world.state() == "RESTORE_COMPLETE"
    assert present(world) == AS_TAKEN
    assert contents(world) == dict.fromkeys("abc", "early")
    assert len(world.cloud.objects) == 3
    rows = world.store.stacks.resources(stack_id)
    assert {f"{row.action}_{row.status}" for row in rows} == {"RESTORE_COMPLETE"}
    world.update(template(RESOURCES))
    assert [order.phase for order in world.messages] == ["end"]


def test_what_did_not_change_is_brought_back_too() -> None:
    world = created()
    world.snapshot("first")
    world.settle()
    write(world, "late")
    before = set(world.cloud.objects)
    world.restore("first")
    world.settle()
    assert contents(world) == dict.fromkeys("abc", "early")
    assert set(world.cloud.objects) == before
    assert sorted(done(world)) == [("restore", name) for name in "abc"]


def test_what_is_gone_from_the_world_is_made_again_and_brought_back() -> None:
    world = created()
    stack_id = world.snapshot("first")
    world.settle()
    del world.cloud.objects[ids(world, stack_id)["b"] or ""]
    world.restore("first")
    world.settle()
    assert world.state() == "RESTORE_COMPLETE"
    assert present(world) == AS_TAKEN
    assert contents(world)["b"] == "early"


def test_parameters_are_those_of_the_snapshot() -> None:
    text = """
heat_template_version: wallaby
parameters: {p: {type: string, immutable: false}}
resources: {a: {type: Cloud::Object, properties: {size: {get_param: p}}}}
"""
    world = World()
    world.create(text, parameters={"p": "s"})
    world.settle()
    world.snapshot("first")
    world.settle()
    world.update(text, parameters={"p": "l"})
    world.settle()
    world.restore("first")
    world.settle()
    assert present(world) == {"a": ("", "s")}


def test_a_restore_that_fails_leads_back_where_the_stack_was_if_asked_to() -> None:
    world = taken()
    world.cloud.failing_images = {"a": True}
    world.restore("first", rollback=True)
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert present(world) == PRESENT_LATER


def test_a_restore_that_failed_may_be_tried_again() -> None:
    world = taken()
    world.cloud.failing_images = {"a": True}
    world.restore("first")
    world.settle()
    assert world.state() == "RESTORE_FAILED"
    world.restore("first")
    world.settle()
    assert world.state() == "RESTORE_COMPLETE"
    assert present(world) == AS_TAKEN
    assert contents(world) == dict.fromkeys("abc", "early")
    assert len(world.cloud.objects) == 3


def test_a_restore_is_refused_where_nothing_is_to_be_restored() -> None:
    world = created()
    world.snapshot("first")
    with pytest.raises(Conflict, match="SNAPSHOT_IN_PROGRESS"):
        world.restore("first")
    world.settle()
    with pytest.raises(NotFound, match="did you mean 'first'"):
        world.restore("frist")
    world.delete()
    with pytest.raises(Conflict, match="only a delete"):
        world.restore("first")


def test_a_suspended_stack_is_neither_kept_nor_brought_back() -> None:
    world = taken()
    world.suspend()
    world.settle()
    with pytest.raises(Conflict, match="resume it first"):
        world.snapshot()
    with pytest.raises(Conflict, match="resume it first"):
        world.restore("first")
    world.resume()
    world.settle()
    world.restore("first")
    world.settle()
    assert world.state() == "RESTORE_COMPLETE"
    assert present(world) == AS_TAKEN


def test_what_was_brought_back_is_in_order() -> None:
    world = taken()
    world.restore("first")
    world.settle()
    world.check()
    world.settle()
    assert world.state() == "CHECK_COMPLETE"


ENDS: dict[str, tuple[Callable[[World], object], str, Mapping[str, tuple[str, str]]]] = {
    "update": (lambda world: world.update(template(LATER)), "UPDATE_COMPLETE", PRESENT_LATER),
    "the same again": (lambda world: world.update(template(RESOURCES)), "UPDATE_COMPLETE", AS_TAKEN),
    "cancel": (lambda world: world.cancel(), "ROLLBACK_COMPLETE", PRESENT_LATER),
    "delete": (lambda world: world.delete(), "DELETE_COMPLETE", {}),
}


@each_moment
@pytest.mark.parametrize("what", ENDS)
def test_another_command_at_every_moment_of_a_restore_is_what_the_stack_becomes(
    steps: int, what: str
) -> None:
    world = restoring(steps)
    stack_id = world.store.stacks.find("s", project="default").id
    act, expected, there = ENDS[what]
    if what == "cancel" and world.state() == "RESTORE_COMPLETE":
        return
    act(world)
    world.settle()
    assert world.state(stack_id) == expected
    assert present(world) == there
    assert len(world.cloud.objects) == len(there)
    if what == "delete":
        assert (snapshots(world, stack_id), world.cloud.images) == ([], {})
    else:
        assert state(world) == "CREATE_COMPLETE"
        assert {row.status for row in world.store.stacks.resources(stack_id)} == {"COMPLETE"}


@each_moment
def test_a_cancel_at_every_moment_of_a_restore_leaves_it_to_be_done_again(steps: int) -> None:
    world = restoring(steps)
    if world.state() == "RESTORE_COMPLETE":
        return
    world.cancel(rollback=False)
    world.settle()
    assert world.state() == "RESTORE_FAILED"
    world.restore("first")
    world.settle()
    assert world.state() == "RESTORE_COMPLETE"
    assert present(world) == AS_TAKEN
    assert contents(world) == dict.fromkeys("abc", "early")
    assert len(world.cloud.objects) == 3


@each_moment
def test_another_restore_after_a_cancelled_one_brings_back_what_it_is_told_to(steps: int) -> None:
    world = taken_twice()
    world.cloud.polls = {"a": 3, "b": 2}
    world.restore("first")
    step(world, times=steps)
    if world.state() == "RESTORE_IN_PROGRESS":
        world.cancel(rollback=False)
    world.restore("second")
    world.settle()
    assert world.state() == "RESTORE_COMPLETE"
    assert present(world) == PRESENT_LATER
    assert contents(world) == dict.fromkeys("abd", "late")


@die_everywhere
def test_a_restore_survives_a_death_at_any_instruction(instruction: int) -> None:
    world = taken()
    world.cloud.polls = {"a": 3}
    world.cloud.crash_after(instruction)
    if not world.survive(lambda: world.restore("first", job_id="1")):
        world.restore("first", job_id="1")
    while not world.survive(world.settle):
        continue
    world.cloud.crash_at = None
    assert world.state() == "RESTORE_COMPLETE"
    assert present(world) == AS_TAKEN
    assert contents(world) == dict.fromkeys("abc", "early")
    assert len(world.cloud.objects) == 3


def test_a_worker_that_dies_at_a_restore_is_followed_by_another() -> None:
    world = taken()
    world.restore("first")
    die_after_claim(world)
    world.settle()
    assert world.state() == "RESTORE_COMPLETE"
    assert contents(world) == dict.fromkeys("abc", "early")
