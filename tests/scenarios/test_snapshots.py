"""Snapshots: what a stack was is kept, and let go."""

from collections.abc import Callable, Mapping

import pytest

from orchestrator.errors import Conflict, NotFound
from orchestrator.model.purge import Purge
from orchestrator.store.stacks.snapshots import SnapshotRow
from tests.scenarios.built_once import built_once
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.test_update_faults import step
from tests.scenarios.test_updates import done, present, template, value
from tests.scenarios.world import World

RESOURCES = {
    "a": value("1", "s"),
    "b": value("{get_attr: [a, value]}", "s"),
    "c": f"{value('3', 's')}, depends_on: b",
}
AS_TAKEN = {"a": ("1", "s"), "b": ("1", "s"), "c": ("3", "s")}
#: What comes after the snapshot: something changes in place, is replaced, goes, comes.
LATER = {"a": value("9", "s"), "b": value("{get_attr: [a, value]}", "l"), "d": value("4", "s")}
PRESENT_LATER = {"a": ("9", "s"), "b": ("9", "l"), "d": ("4", "s")}

each_moment = pytest.mark.parametrize("steps", range(16))
each_moment_of_taking = pytest.mark.parametrize("steps", range(7))


def write(world: World, text: str) -> None:
    """Let users put something into every object."""
    world.cloud.contents = dict.fromkeys(world.cloud.objects, text)


def contents(world: World) -> dict[str, str]:
    return {
        physical_id.rpartition("-")[0]: world.cloud.contents.get(physical_id, "")
        for physical_id in world.cloud.objects
    }


def snapshots(world: World, name: str = "s") -> list[SnapshotRow]:
    return world.store.snapshots.all(world.store.stacks.find(name, project="default").id)


def state(world: World) -> str:
    (row,) = snapshots(world)
    return f"{row.action}_{row.status}"


@built_once
def created(resources: Mapping[str, str] = RESOURCES) -> World:
    """Return a stack that is complete, and in use."""
    world = World()
    world.create(template(resources))
    world.settle()
    write(world, "early")
    done(world)
    return world


@built_once
def taken() -> World:
    """Return a stack that has changed since a snapshot was taken."""
    world = created()
    world.snapshot("first")
    world.settle()
    assert state(world) == "CREATE_COMPLETE"
    world.update(template(LATER))
    world.settle()
    write(world, "late")
    done(world)
    return world


@built_once
def restoring(steps: int) -> World:
    """Return a stack of which a restore is so many messages under way."""
    if steps:
        world = restoring(steps - 1)
        step(world)
        return world
    world = taken()
    world.cloud.polls = {"a": 3}
    world.restore("first")
    return world


@built_once
def taken_twice() -> World:
    """Return a stack of which there are two snapshots."""
    world = taken()
    world.snapshot("second")
    world.settle()
    return world


# -- take --------------------------------------------------------------------------------------------------------------


def test_a_snapshot_keeps_what_the_types_leave_behind_and_touches_nothing() -> None:
    world = created()
    before = dict(world.cloud.objects)
    world.snapshot("first")
    assert state(world) == "CREATE_IN_PROGRESS"
    world.settle()
    assert world.state() == "SNAPSHOT_COMPLETE"
    assert state(world) == "CREATE_COMPLETE"
    (row,) = snapshots(world)
    assert [(entry.name, entry.type) for entry in world.store.snapshots.entries(row)] == [
        (name, "Cloud::Object") for name in "abc"
    ]
    assert sorted(world.cloud.images.values()) == ["early"] * 3
    assert (done(world), world.cloud.objects) == ([], before)
    world.update(template(RESOURCES))
    assert [order.phase for order in world.messages] == ["end"]


def test_a_snapshot_that_fails_keeps_nothing_that_could_be_restored() -> None:
    world = created()
    world.cloud.failing_images = {"b": True}
    world.snapshot("first")
    world.settle()
    assert world.state() == "SNAPSHOT_FAILED"
    (row,) = snapshots(world)
    assert (row.action, row.status) == ("CREATE", "FAILED")
    assert "no luck" in row.reason
    with pytest.raises(Conflict, match="CREATE_FAILED"):
        world.restore("first")
    world.delete_snapshot("first")
    assert (snapshots(world), world.cloud.images) == ([], {})


def test_the_same_job_twice_is_one_snapshot() -> None:
    world = created()
    assert world.snapshot(job_id="1") == world.snapshot(job_id="1")
    assert len(snapshots(world)) == 1


def test_a_snapshot_is_refused_while_something_is_under_way_or_went_wrong() -> None:
    world = World()
    world.create(template(RESOURCES))
    with pytest.raises(Conflict, match="CREATE_IN_PROGRESS"):
        world.snapshot()
    world.settle()
    world.update(template(LATER))
    world.cancel(rollback=False)
    world.settle()
    with pytest.raises(Conflict, match="update it first"):
        world.snapshot()
    assert snapshots(world) == []


def test_no_stack_has_more_snapshots_than_it_may_or_two_of_one_name() -> None:
    world = World(max_snapshots_per_stack=2)
    world.create(template({"a": ""}))
    world.settle()
    world.snapshot("first")
    world.settle()
    with pytest.raises(Conflict, match="'first' already"):
        world.snapshot("first")
    world.snapshot()
    world.settle()
    with pytest.raises(Conflict, match="may have 2"):
        world.snapshot()
    assert world.state() == "SNAPSHOT_COMPLETE"
    world.delete_snapshot("first")
    world.snapshot("first")
    world.settle()
    assert len(snapshots(world)) == 2


SUPERSEDING: dict[str, tuple[Callable[[World], object], str]] = {
    "update": (lambda world: world.update(template(LATER)), "UPDATE_COMPLETE"),
    "the same again": (lambda world: world.update(template(RESOURCES)), "UPDATE_COMPLETE"),
    "cancel": (lambda world: world.cancel(), "SNAPSHOT_FAILED"),
    "cancel without rollback": (lambda world: world.cancel(rollback=False), "SNAPSHOT_FAILED"),
    "delete": (lambda world: world.delete(), "DELETE_COMPLETE"),
    "abandon": (lambda world: world.abandon(), "DELETE_COMPLETE"),
}


@each_moment_of_taking
@pytest.mark.parametrize("what", SUPERSEDING)
def test_another_command_at_every_moment_of_a_snapshot_is_what_counts(steps: int, what: str) -> None:
    world = created()
    world.cloud.polls = {"b": 3}
    stack_id = world.snapshot("first")
    step(world, times=steps)
    if world.state() == "SNAPSHOT_COMPLETE":
        return
    act, expected = SUPERSEDING[what]
    act(world)
    world.settle()
    assert world.state(stack_id) == expected
    if what in ("delete", "abandon"):
        assert snapshots(world, stack_id) == []
        assert len(world.cloud.objects) == (3 if what == "abandon" else 0)
        return
    assert state(world) == "CREATE_FAILED"
    assert present(world) == (PRESENT_LATER if what == "update" else AS_TAKEN)
    world.delete_snapshot("first")
    assert (snapshots(world), world.cloud.images) == ([], {})
    world.update(template(LATER))
    world.settle()
    assert present(world) == PRESENT_LATER


@die_everywhere
def test_a_snapshot_survives_a_death_at_any_instruction(instruction: int) -> None:
    world = created()
    world.cloud.polls = {"b": 3}
    world.cloud.crash_after(instruction)
    if not world.survive(lambda: world.snapshot("first", job_id="1")):
        world.snapshot("first", job_id="1")
    while not world.survive(world.settle):
        continue
    world.cloud.crash_at = None
    assert (world.state(), state(world)) == ("SNAPSHOT_COMPLETE", "CREATE_COMPLETE")
    assert len(world.cloud.images) == 3
    assert done(world) == []


# -- what is left over -------------------------------------------------------------------------------------------------


def cut_off_in_the_clean_up(world: World, change: Callable[[World], object], cleanups: int) -> None:
    """Cancel a change when all that it wants is there, and so many of its cleanups are done."""
    change(world)
    while [order.phase for order in world.messages][:1] == ["converge"]:
        step(world)
    step(world, times=cleanups)
    world.cancel(rollback=False)
    world.settle()


def of_other_types() -> World:
    """Return a world with a type besides, to which objects may change."""
    world = World()
    world.checker._types["Other::Object"] = world.checker._types["Cloud::Object"]  # type: ignore[index]
    return world


@pytest.mark.parametrize("back", [False, True])
def test_what_an_update_could_not_clean_up_is_no_part_of_a_snapshot(back: bool) -> None:
    """Of the rows called a, the definition's is one; with ``back``, the one that was there first."""
    world = of_other_types()
    world.create(template({"a": "", "gone": ""}))
    world.settle()
    other = template({"a": ""}).replace("Cloud::Object", "Other::Object")
    cut_off_in_the_clean_up(world, lambda world: world.update(other), 0)
    if back:
        cut_off_in_the_clean_up(world, lambda world: world.update(template({"a": ""})), 0)
    stack_id = world.store.stacks.find("s", project="default").id
    rows = world.store.stacks.resources(stack_id)
    assert sorted(row.name for row in rows) == ["a", "a", "gone"]
    assert sum(row.replaced_by is None for row in rows if row.name == "a") == (1 if back else 2)
    world.snapshot("first")
    world.settle()
    assert (world.state(), state(world)) == ("SNAPSHOT_COMPLETE", "CREATE_COMPLETE")
    (row,) = snapshots(world)
    kind = "Cloud::Object" if back else "Other::Object"
    assert [(entry.name, entry.type) for entry in world.store.snapshots.entries(row)] == [("a", kind)]
    (image,) = world.cloud.images
    (made,) = [row.id for row in rows if (row.name, row.type) == ("a", kind)]
    assert image.startswith(made)
    world.restore("first")
    world.settle()
    assert world.state() == "RESTORE_COMPLETE"
    assert [row.id for row in world.store.stacks.resources(stack_id)] == [made]


def test_of_what_a_rollback_brought_back_the_first_is_kept_and_none_that_it_could_not_clean_up() -> None:
    world = created({"a": value("1"), "b": value("{get_attr: [a, value]}")})
    stack_id = world.store.stacks.find("s", project="default").id
    first = {row.id for row in world.store.stacks.resources(stack_id)}
    world.cloud.failing = {"b": -1}
    world.update(template({"a": value("2"), "b": value("{get_attr: [a, value]}")}), rollback=True)
    while world.state() != "ROLLBACK_IN_PROGRESS":
        step(world)
    world.cancel(rollback=False)
    world.settle()
    rows = world.store.stacks.resources(stack_id)
    assert sorted(row.name for row in rows) == ["a", "a", "b", "b"]
    assert {row.id for row in rows if row.replaced_by is None} == first
    world.snapshot("first")
    world.settle()
    assert (world.state(), state(world)) == ("SNAPSHOT_COMPLETE", "CREATE_COMPLETE")
    assert {image.partition("@")[0] for image in world.cloud.images} == first


def test_a_snapshot_is_complete_although_a_deletion_failed() -> None:
    world = created({"a": value("1"), "b": ""})
    world.cloud.failing_deletes = {"a": True, "b": True}
    world.update(template({"a": value("2")}))
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    world.snapshot("first")
    world.settle()
    assert (world.state(), state(world)) == ("SNAPSHOT_COMPLETE", "CREATE_COMPLETE")
    assert len(world.cloud.images) == 1


def test_what_is_left_over_is_known_after_a_purge() -> None:
    world = of_other_types()
    world.create(template({"a": ""}))
    world.settle()
    other = template({"a": ""}).replace("Cloud::Object", "Other::Object")
    cut_off_in_the_clean_up(world, lambda world: world.update(other), 0)
    world.check()
    world.settle()
    world.now += 1000
    for _ in world.store.purger.purge(
        Purge(older_than_seconds=1.0, max_events_per_stack=10, grace_seconds=0)
    ):
        continue
    world.snapshot("first")
    world.settle()
    assert (world.state(), state(world)) == ("SNAPSHOT_COMPLETE", "CREATE_COMPLETE")
    assert len(world.cloud.images) == 1


# -- let go ------------------------------------------------------------------------------------------------------------


def test_a_snapshot_is_deleted_with_what_was_made_for_it_and_the_stack_stays() -> None:
    world = taken()
    before = world.state(), dict(world.cloud.objects)
    world.delete_snapshot("first")
    assert (snapshots(world), world.cloud.images) == ([], {})
    assert (world.state(), dict(world.cloud.objects)) == before
    assert world.messages == []


def test_a_snapshot_is_not_deleted_while_it_is_made_or_restored() -> None:
    world = created()
    world.snapshot("first")
    with pytest.raises(Conflict, match="being made"):
        world.delete_snapshot("first")
    world.settle()
    world.restore("first")
    with pytest.raises(Conflict, match="being restored"):
        world.delete_snapshot("first")
    world.settle()
    world.delete_snapshot("first")
    assert snapshots(world) == []


def test_a_snapshot_that_cannot_be_deleted_may_be_tried_again() -> None:
    world = taken()
    world.cloud.failing_images = {"b": True}
    world.delete_snapshot("first")
    (row,) = snapshots(world)
    assert (row.action, row.status, row.reason) == ("DELETE", "FAILED", "resources.b: stuck")
    with pytest.raises(Conflict):
        world.restore("first")
    world.delete_snapshot("first")
    assert (snapshots(world), world.cloud.images) == ([], {})


def test_the_same_job_to_delete_a_snapshot_may_come_twice() -> None:
    world = taken()
    assert world.delete_snapshot("first", job_id="1") == world.delete_snapshot("first", job_id="1")
    with pytest.raises(NotFound):
        world.delete_snapshot("first")


@die_everywhere
def test_the_deletion_of_a_snapshot_survives_a_death_at_any_instruction(instruction: int) -> None:
    world = taken()
    world.cloud.crash_after(instruction)
    if not world.survive(lambda: world.delete_snapshot("first", job_id="1")):
        world.delete_snapshot("first", job_id="1")
    world.cloud.crash_at = None
    assert (snapshots(world), world.cloud.images) == ([], {})


@die_everywhere
def test_snapshots_go_with_their_stack_whatever_dies(instruction: int) -> None:
    world = taken_twice()
    stack_id = world.store.stacks.find("s", project="default").id
    world.cloud.crash_after(instruction)
    if not world.survive(world.delete):
        world.delete()
    while not world.survive(world.settle):
        continue
    world.cloud.crash_at = None
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert (snapshots(world, stack_id), world.cloud.images, world.cloud.objects) == ([], {}, {})


def test_a_snapshot_that_cannot_be_deleted_keeps_no_stack_from_going() -> None:
    world = taken()
    world.cloud.failing_images = {"a": True}
    stack_id = world.delete()
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    (row,) = snapshots(world, stack_id)
    assert (row.action, row.status) == ("DELETE", "FAILED")
    world.delete_snapshot(row.id, stack_id)
    assert (snapshots(world, stack_id), world.cloud.images) == ([], {})


def test_what_was_made_for_snapshots_of_an_abandoned_stack_stays() -> None:
    world = taken()
    images = dict(world.cloud.images)
    stack_id = world.abandon()
    world.settle()
    assert (snapshots(world, stack_id), world.cloud.images) == ([], images)
