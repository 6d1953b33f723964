"""Existing objects that are taken into a stack which exists: an import changes no object, whatever happens."""

from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.errors import Conflict, InvalidInput
from tests.scenarios.built_once import built_once
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.test_update_faults import step
from tests.scenarios.test_updates import done, ids, present, template, value
from tests.scenarios.world import World

BEFORE = {"a": value("1", "s"), "b": value("{get_attr: [a, value]}", "s")}
#: It is made of b, and another comes after it.
NEW = {"x": value("{get_attr: [b, value]}", "s"), "y": f"{value('7', 's')}, depends_on: x"}
AFTER = {**BEFORE, **NEW}
OBJECTS = {"x": "x-9", "y": "y-9"}
AS_FOUND = {"a": ("1", "s"), "b": ("1", "s"), "x": ("1", "s"), "y": ("7", "s")}
#: More messages than an import ever takes.
MOST = 9

each_moment = pytest.mark.parametrize("steps", range(MOST))


def put(world: World, physical_id: str, value: str, size: str) -> None:
    """Let an object exist that no stack made."""
    world.cloud.objects[physical_id] = ("nobody", value)
    world.cloud.sizes[physical_id] = size


@built_once
def stack_and_objects(**job: Any) -> World:
    """Return a stack that is complete, and two objects that belong to no stack."""
    world = World()
    world.create(template(BEFORE), **job)
    world.settle()
    put(world, "x-9", "1", "s")
    put(world, "y-9", "7", "s")
    done(world)
    return world


@built_once
def begun(steps: int) -> World:
    """Return an import after so many messages, one resource of which takes time."""
    if steps:
        world = begun(steps - 1)
        step(world)
        return world
    world = stack_and_objects()
    world.cloud.polls = {"x": 3}
    world.take_in(template(AFTER), OBJECTS)
    return world


def stack_id_of(world: World) -> str:
    return world.store.stacks.find("s", project="default").id


def untouched(world: World) -> None:
    assert done(world) == []
    assert present(world) == AS_FOUND
    assert {"x-9", "y-9"} <= set(world.cloud.objects)


def as_before(world: World) -> None:
    """Check that the stack is what it was, and everything is there."""
    untouched(world)
    assert set(ids(world, stack_id_of(world))) == set(BEFORE)


def test_import_changes_no_object_and_the_rows_have_their_ids() -> None:
    world = stack_and_objects()
    before = ids(world, stack_id_of(world))
    world.take_in(template(AFTER), OBJECTS)
    assert world.state() == "ADOPT_IN_PROGRESS"
    world.settle()
    assert world.state() == "ADOPT_COMPLETE"
    untouched(world)
    assert ids(world, stack_id_of(world)) == {**before, **OBJECTS}
    events = world.store.events.read(stack_id_of(world), limit=100)
    told = [f"{each.resource} {each.action}_{each.status}" for each in events if each.resource in OBJECTS]
    assert sorted(told) == [
        f"{name} ADOPT_{status}" for name in ("x", "y") for status in ("COMPLETE", "IN_PROGRESS")
    ]


def test_imported_object_is_updated_replaced_and_deleted_like_one_that_was_made() -> None:
    world = stack_and_objects()
    world.take_in(template(AFTER), OBJECTS)
    world.settle()
    world.update(template(AFTER))
    assert [order.phase for order in world.messages] == ["end"]
    world.settle()
    world.update(template({**AFTER, "y": f"{value('7', 'l')}, depends_on: x"}))
    world.settle()
    assert done(world) == [("change", "y")]
    world.update(template({**BEFORE, "x": value("2", "s")}))
    world.settle()
    assert done(world) == [("make", "x"), ("unmake", "y"), ("unmake", "x")]
    world.delete()
    world.settle()
    assert world.cloud.objects == {}


def test_imported_object_that_the_template_retains_stays() -> None:
    world = stack_and_objects()
    kept = f"{value('7', 's')}, deletion_policy: Retain"
    world.take_in(template({**BEFORE, "y": kept}), {"y": "y-9"})
    world.settle()
    world.delete()
    world.settle()
    assert set(world.cloud.objects) == {"x-9", "y-9"}


def test_object_that_differs_is_recorded_as_found_and_the_next_update_changes_it() -> None:
    world = stack_and_objects()
    world.take_in(template({**BEFORE, "y": value("8", "l")}), {"y": "y-9"})
    world.settle()
    untouched(world)
    (row,) = (row for row in world.store.stacks.resources(stack_id_of(world)) if row.name == "y")
    assert row.properties == {"value": "7", "size": "s"}
    assert row.reason == "the object differs from the template: size, value"
    world.update(template({**BEFORE, "y": value("7", "l")}))
    world.settle()
    assert done(world) == [("change", "y")]
    world.update(template({**BEFORE, "y": value("8", "l")}))
    world.settle()
    assert done(world) == [("make", "y"), ("unmake", "y")]


def test_same_job_delivered_again_imports_once() -> None:
    world = stack_and_objects()
    first = world.take_in(template(AFTER), OBJECTS, job_id="1")
    world.settle()
    assert world.take_in(template(AFTER), OBJECTS, job_id="1") == first
    assert world.messages == []
    assert world.state() == "ADOPT_COMPLETE"


# -- refusals ----------------------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[Mapping[str, str], Mapping[str, str], Mapping[str, str]]] = {
    "what the template lacks": (BEFORE, {"x": "x-9"}, {"resources.x": "the template has no such resource"}),
    "what is nested": (BEFORE, {"a/x": "x-9"}, {"resources.a/x": "what is in a nested stack cannot be"}),
    "what the stack has": (BEFORE, {"a": "x-9"}, {"resources.a": "the stack has the resource already"}),
    "another change": (
        {**AFTER, "a": value("1", "l")},
        OBJECTS,
        {"resources.a": "would visit the resource"},
    ),
    "another new resource": (AFTER, {"x": "x-9"}, {"resources.y": "import its object as well (y=ID)"}),
    "a removal": ({"a": BEFORE["a"], "y": value("7")}, {"y": "y-9"}, {"resources.b": "would remove it"}),
    "one object twice": (
        AFTER,
        {"x": "x-9", "y": "x-9"},
        {"resources.y.resource_id": "'x' has the same one"},
    ),
    "no id": (AFTER, {"x": "x-9", "y": ""}, {"resources.y.resource_id": "expected the id of the object"}),
    "an object of this stack": (
        {**BEFORE, "y": value("7")},
        {"y": "a-1"},
        {"resources.y.resource_id": "belongs to the stack 's', as the resource 'a'"},
    ),
    "an object by external_id": (
        {**BEFORE, "y": "external_id: y-9"},
        {"y": "y-9"},
        {"resources.y": "the template has an external_id"},
    ),
    "nothing": (BEFORE, {}, {"resources": "expected at least one resource"}),
}


@pytest.mark.parametrize("what", REFUSED)
def test_import_that_does_not_fit_is_refused_before_anything_is_stored(what: str) -> None:
    resources, objects, expected = REFUSED[what]
    world = stack_and_objects()
    before = world.store.stacks.find("s", project="default")
    with pytest.raises(InvalidInput) as refused:
        world.take_in(template(resources), objects)
    told = {problem.path: f"{problem.message}; {problem.hint}" for problem in refused.value.problems}
    assert set(told) == set(expected)
    assert all(words in told[path] for path, words in expected.items()), told
    assert world.store.stacks.find("s", project="default") == before


@pytest.mark.parametrize("project", ["default", "their-project"])
def test_object_of_another_stack_is_refused_and_named_in_its_own_project_only(project: str) -> None:
    world = stack_and_objects()
    world.create(template({"z": value("5")}), name="theirs", project=project)
    world.settle()
    (row,) = world.store.stacks.resources(world.store.stacks.find("theirs", project=project).id)
    with pytest.raises(InvalidInput) as refused:
        world.take_in(template({**BEFORE, "y": value("7")}), {"y": row.physical_id})
    assert [problem.path for problem in refused.value.problems] == ["resources.y.resource_id"]
    named = "belongs to the stack 'theirs', as the resource 'z'"
    assert (named in str(refused.value)) == (project == "default")
    assert ("their" in str(refused.value)) == (project == "default")


def test_stack_that_is_not_complete_is_refused() -> None:
    world = stack_and_objects()
    world.cloud.failing_updates = {"a": True}
    world.update(template({**BEFORE, "a": value("1", "l")}))
    for state in ("UPDATE_IN_PROGRESS", "UPDATE_FAILED"):
        with pytest.raises(Conflict, match=state):
            world.take_in(template(AFTER), OBJECTS)
        world.settle()
    world.delete()
    with pytest.raises(Conflict, match="DELETE_IN_PROGRESS"):
        world.take_in(template(AFTER), OBJECTS)


# -- failures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NEW)
@pytest.mark.parametrize("fault", ["gone", "refused"])
def test_failed_import_leaves_the_stack_as_it_was(name: str, fault: str) -> None:
    world = stack_and_objects()
    if fault == "gone":
        world.take_in(template(AFTER), {**OBJECTS, name: "none"})
    else:
        world.cloud.failing_adoptions = {name: True}
        world.take_in(template(AFTER), OBJECTS)
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    as_before(world)
    world.take_in(template(AFTER), OBJECTS)
    world.settle()
    assert world.state() == "ADOPT_COMPLETE"
    untouched(world)


@each_moment
def test_cancelled_import_leaves_the_stack_as_it_was(steps: int) -> None:
    world = begun(steps)
    if world.state() == "ADOPT_COMPLETE":
        return
    world.cancel()
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    as_before(world)


@each_moment
@pytest.mark.parametrize("size", ["s", "l"])
def test_update_at_every_moment_of_an_import_is_what_the_stack_becomes(steps: int, size: str) -> None:
    world = begun(steps)
    world.update(template({name: body.replace("'s'", f"'{size}'") for name, body in AFTER.items()}))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world) == {name: (said, size) for name, (said, _) in AS_FOUND.items()}
    assert ids(world, stack_id_of(world)).items() >= OBJECTS.items()


@each_moment
def test_update_at_every_moment_of_an_import_corrects_an_object_that_differs(steps: int) -> None:
    world = stack_and_objects()
    world.cloud.polls = {"x": 3}
    world.cloud.sizes["y-9"] = "found"
    world.take_in(template(AFTER), OBJECTS)
    step(world, times=steps)
    world.update(template(AFTER))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert present(world) == AS_FOUND
    assert ids(world, stack_id_of(world)).items() >= OBJECTS.items()


@each_moment
def test_update_that_drops_an_unfinished_import_deletes_nothing_that_was_not_adopted(steps: int) -> None:
    world = begun(steps)
    rows = {row.name: row for row in world.store.stacks.resources(stack_id_of(world))}
    open_imports = {name for name in NEW if rows[name].status == "IN_PROGRESS"}
    world.update(template(BEFORE))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert set(ids(world, stack_id_of(world))) == set(BEFORE)
    assert set(world.unmade_names()) == set(NEW) - open_imports


@each_moment
def test_failed_update_during_an_import_rolls_back_to_the_stack_before_it(steps: int) -> None:
    world = begun(steps)
    is_complete = world.state() == "ADOPT_COMPLETE"
    world.cloud.failing = {"e": -1}
    world.update(template({**AFTER, "e": "depends_on: y"}), rollback=True)
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    if is_complete:
        untouched(world)
        assert set(ids(world, stack_id_of(world))) == set(AFTER)
    else:
        as_before(world)


@each_moment
def test_delete_during_an_import_deletes_only_what_is_adopted(steps: int) -> None:
    world = begun(steps)
    stack_id = stack_id_of(world)
    rows = {row.name: row for row in world.store.stacks.resources(stack_id)}
    left = {OBJECTS[name] for name in NEW if rows[name].status == "IN_PROGRESS"}
    world.delete()
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert set(world.cloud.objects) == left


# -- deaths ------------------------------------------------------------------------------------------------------------


@die_everywhere
def test_import_survives_a_death_at_any_instruction(instruction: int) -> None:
    world = stack_and_objects()
    world.cloud.polls = {"x": 3}
    world.cloud.crash_after(instruction)
    if not world.survive(lambda: world.take_in(template(AFTER), OBJECTS, job_id="1")):
        world.take_in(template(AFTER), OBJECTS, job_id="1")
    while not world.survive(world.settle):
        continue
    world.cloud.crash_at = None
    assert world.state() == "ADOPT_COMPLETE"
    untouched(world)
    assert ids(world, stack_id_of(world)).items() >= OBJECTS.items()


@die_everywhere
def test_failed_import_survives_a_death_at_any_instruction(instruction: int) -> None:
    world = stack_and_objects()
    world.take_in(template(AFTER), {**OBJECTS, "y": "none"})
    world.cloud.crash_after(instruction)
    while not world.survive(world.settle):
        continue
    world.cloud.crash_at = None
    assert world.state() == "ROLLBACK_COMPLETE"
    as_before(world)
