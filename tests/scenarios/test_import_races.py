"""Imports that meet each other, adoptions, or the same job delivered twice; and what an import leaves as it was."""

from collections.abc import Callable

import pytest

from orchestrator.engine.imports import import_objects
from orchestrator.errors import Conflict, InvalidInput
from orchestrator.model.messages import ImportJob
from orchestrator.store.stacks.stacks import StackRow
from tests.scenarios.built_once import built_once
from tests.scenarios.commands import Between
from tests.scenarios.test_imports import (
    AFTER,
    BEFORE,
    MOST,
    OBJECTS,
    begun,
    stack_and_objects,
    stack_id_of,
    untouched,
)
from tests.scenarios.test_updates import done, ids, template, value
from tests.scenarios.world import World

WITH_Y = {**BEFORE, "y": value("7", "s")}
ALONE = template({"y": value("7", "s")})
Y = {"y": "y-9"}
ADOPTED = {"y": {"resource_id": "y-9"}}


@built_once
def two_stacks() -> World:
    """Return two stacks that are complete, and objects that belong to no stack."""
    world = stack_and_objects()
    world.create(template(BEFORE), name="t")
    world.settle()
    done(world)
    return world


def imports(world: World, name: str) -> str:
    return world.take_in(template(WITH_Y), Y, name=name)


def adopts(world: World, name: str) -> str:
    return world.adopt(ALONE, ADOPTED, name=name)


TAKING: dict[str, Callable[[World, str], str]] = {"import": imports, "adoption": adopts}


@pytest.mark.parametrize("first", TAKING)
@pytest.mark.parametrize("second", TAKING)
def test_of_two_that_take_an_object_at_the_same_time_one_wins(first: str, second: str) -> None:
    world = two_stacks()
    winner, loser = ("t" if first == "import" else "u"), ("s" if second == "import" else "v")
    # The other looked for owners before this one began.
    world.plug(Between(lambda: TAKING[first](world, winner)))
    with pytest.raises((InvalidInput, Conflict), match=r"belongs to the stack '[tu]'|has just taken"):
        TAKING[second](world, loser)
    world.settle()
    owners = world.store.stacks.owners(["y-9"])
    assert [(each.stack, each.name) for each in owners] == [(winner, "y")]
    assert world.state(world.store.stacks.find(winner, project="default").id) == "ADOPT_COMPLETE"
    assert world.state() == "CREATE_COMPLETE"
    assert done(world) == []


def test_loser_is_told_whose_the_object_is() -> None:
    world = two_stacks()
    world.plug(Between(lambda: imports(world, "t")))
    with pytest.raises(InvalidInput, match=r"resources.y.resource_id.*the stack 't', as the resource 'y'"):
        imports(world, "s")


def test_same_job_that_two_coordinators_begin_imports_once() -> None:
    world = two_stacks()
    job = ImportJob(name="s", template=template(WITH_Y), resources=ADOPTED)

    def other_is_faster(_: StackRow, __: ImportJob) -> bool:
        world.coordinator.import_objects(job)
        return False

    assert import_objects(world.store, job, other_is_faster, tries=2) == stack_id_of(world)
    world.settle()
    assert world.state() == "ADOPT_COMPLETE"


def test_import_into_a_stack_that_others_always_take_first_is_given_up() -> None:
    world = two_stacks()
    job = ImportJob(name="s", template=template(WITH_Y), resources=ADOPTED)
    with pytest.raises(Conflict, match="changed by others"):
        import_objects(world.store, job, lambda *_: False, tries=3)


@pytest.mark.parametrize("rollback", [True, False])
def test_import_leaves_the_choice_of_rollbacks_and_the_time_out(rollback: bool) -> None:
    world = World()
    world.create(template(BEFORE), rollback=rollback, timeout_minutes=7)
    world.settle()
    world.cloud.objects["y-9"] = ("nobody", "7")
    world.cloud.sizes["y-9"] = "s"
    imports(world, "s")
    world.settle()
    stack = world.store.stacks.find("s", project="default")
    assert (world.state(), stack.rollback, stack.timeout_minutes) == ("ADOPT_COMPLETE", rollback, 7)


@pytest.mark.parametrize("steps", range(MOST))
def test_rollback_of_an_update_during_an_import_leaves_no_object_of_the_stack_behind(steps: int) -> None:
    """The import visits b, to read what x is made of; that does not make b an object that was there before."""
    world = begun(steps)
    is_complete = world.state() == "ADOPT_COMPLETE"
    world.cloud.failing_updates = {"b": True}
    world.update(template({**AFTER, "b": value("{get_attr: [a, value]}", "l")}), rollback=True)
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    there = AFTER if is_complete else BEFORE
    expected = {*ids(world, stack_id_of(world)).values(), *OBJECTS.values()}
    assert set(ids(world, stack_id_of(world))) == set(there)
    assert set(world.cloud.objects) == expected


@pytest.mark.parametrize("steps", range(MOST))
def test_import_that_is_cancelled_without_a_rollback_is_carried_on_by_an_update(steps: int) -> None:
    world = begun(steps)
    if world.state() == "ADOPT_COMPLETE":
        return
    world.cancel(rollback=False)
    world.settle()
    assert world.state() == "ADOPT_FAILED"
    assert done(world) == []
    with pytest.raises(Conflict, match="ADOPT_FAILED: an import needs a stack that is complete"):
        world.take_in(template(AFTER), OBJECTS)
    world.update(template(AFTER))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    untouched(world)
    assert ids(world, stack_id_of(world)).items() >= OBJECTS.items()
