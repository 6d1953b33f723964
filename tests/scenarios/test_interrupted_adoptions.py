"""Adoptions that other operations, or the death of a process, interrupt at any moment."""

from collections.abc import Callable, Mapping

import pytest

from orchestrator.errors import Conflict
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.test_adoption import AS_FOUND, RESOURCES, Orphans, begun, each_moment, export
from tests.scenarios.test_update_faults import die_after_claim, meanwhile, step
from tests.scenarios.test_updates import done, ids, present, template, value
from tests.scenarios.world import World

# -- interrupted at every message --------------------------------------------------------------------------------------

CHANGES: dict[str, tuple[Mapping[str, str], Mapping[str, tuple[str, str]], set[str]]] = {
    # What the update says, what must be there then, and which of it must be what was found.
    "nothing": (RESOURCES, AS_FOUND, {"a", "b", "c", "d"}),
    "sizes": (
        {name: body.replace("'s'", "'l'") for name, body in RESOURCES.items()},
        {name: (said, "l") for name, (said, _) in AS_FOUND.items()},
        {"a", "b", "c", "d"},
    ),
    "a value that another is made of": (
        {**RESOURCES, "a": value("9", "s")},
        {**AS_FOUND, "a": ("9", "s"), "b": ("9", "s")},
        {"c", "d"},
    ),
    "a value that is no more made of another": (
        {**RESOURCES, "b": value("1", "l")},
        {**AS_FOUND, "b": ("1", "l")},
        {"a", "c", "d"},
    ),
    "some go and others come": (
        {
            "a": RESOURCES["a"],
            "e": value("{get_attr: [a, value]}", "s"),
            "d": f"{value('4', 's')}, depends_on: e",
        },
        {"a": ("1", "s"), "e": ("1", "s"), "d": ("4", "s")},
        {"a", "d"},
    ),
}


@each_moment
@pytest.mark.parametrize("change", CHANGES)
def test_an_update_at_every_moment_of_an_adoption_is_what_the_stack_becomes(steps: int, change: str) -> None:
    orphans = begun(steps)
    world = orphans.world
    said, expected, kept = CHANGES[change]
    world.update(template(said), "t")
    world.settle()
    assert world.state("t") == "UPDATE_COMPLETE"
    assert present(world) == expected
    assert len(world.cloud.objects) == len(expected)
    now = ids(world, world.store.stacks.find("t", project="default").id)
    assert {name: now[name] for name in kept} == {name: orphans.before[name] for name in kept}


@each_moment
def test_one_update_after_another_during_an_adoption_still_adopts(steps: int) -> None:
    orphans = begun(steps // 2)
    world = orphans.world
    world.update(template(CHANGES["sizes"][0]), "t")
    step(world, times=steps - steps // 2)
    world.update(template(RESOURCES), "t")
    world.settle()
    assert world.state("t") == "UPDATE_COMPLETE"
    assert present(world) == AS_FOUND
    assert set(world.cloud.objects) == set(orphans.before.values())


@each_moment
def test_a_parameter_that_changes_at_every_moment_of_an_adoption_is_put_in_place(steps: int) -> None:
    text = """
heat_template_version: wallaby
parameters: {p: {type: string}}
resources:
  a: {type: Cloud::Object, properties: {size: {get_param: p}}}
  b: {type: Cloud::Object, properties: {size: {get_param: p}}, depends_on: a}
"""
    world = World()
    world.create(text, parameters={"p": "s"})
    world.settle()
    entries = export(world)["resources"]
    world.abandon()
    world.settle()
    done(world)
    world.adopt(text, entries, name="t", parameters={"p": "s"})
    step(world, times=steps)
    world.update(text, "t", parameters={"p": "l"})
    world.settle()
    assert present(world) == {"a": ("", "l"), "b": ("", "l")}
    assert sorted(done(world)) == [("change", "a"), ("change", "b")]


@each_moment
def test_a_rollback_at_every_moment_of_an_adoption_leaves_everything_alone(steps: int) -> None:
    orphans = begun(steps)
    world = orphans.world
    if world.state("t") == "ADOPT_COMPLETE":
        with pytest.raises(Conflict):
            world.cancel("t")
        return
    world.cancel("t")
    world.settle()
    assert world.state("t") == "ROLLBACK_COMPLETE"
    orphans.check_untouched()
    assert world.store.stacks.resources(world.store.stacks.find("t", project="default").id) == []


@each_moment
def test_a_cancel_at_every_moment_of_an_adoption_leaves_it_to_be_gone_on_with(steps: int) -> None:
    orphans = begun(steps)
    world = orphans.world
    if world.state("t") == "ADOPT_COMPLETE":
        return
    world.cancel("t", rollback=False)
    world.settle()
    assert world.state("t") == "ADOPT_FAILED"
    orphans.check_untouched()
    world.update(template(RESOURCES), "t")
    world.settle()
    assert world.state("t") == "UPDATE_COMPLETE"
    orphans.check_untouched()
    assert ids(world, world.store.stacks.find("t", project="default").id) == orphans.before


@each_moment
@pytest.mark.parametrize("first", ["nothing", "cancel"])
def test_a_delete_at_every_moment_of_an_adoption_deletes_everything(steps: int, first: str) -> None:
    orphans = begun(steps)
    world = orphans.world
    stack_id = world.store.stacks.find("t", project="default").id
    if first == "cancel" and world.state("t") != "ADOPT_COMPLETE":
        world.cancel("t", rollback=False)
    world.delete("t")
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert world.cloud.objects == {}
    assert sorted(world.unmade_names()) == ["a", "b", "c", "d"]


@each_moment
def test_an_abandon_at_every_moment_of_an_adoption_leaves_everything_alone(steps: int) -> None:
    orphans = begun(steps)
    world = orphans.world
    stack_id = world.store.stacks.find("t", project="default").id
    world.abandon("t")
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    orphans.check_untouched()


@each_moment
def test_a_rollback_of_an_update_that_came_before_the_adoption_was_complete_unmakes_what_it_made(
    steps: int,
) -> None:
    orphans = begun(steps // 2)
    world = orphans.world
    if world.state("t") == "ADOPT_COMPLETE":
        return
    world.update(template({**RESOURCES, "e": value("5")}), "t")
    step(world, times=steps - steps // 2)
    if world.state("t") == "UPDATE_COMPLETE":
        return
    world.cancel("t")
    world.settle()
    assert world.state("t") == "ROLLBACK_COMPLETE"
    assert set(world.cloud.objects) == set(orphans.before.values())


# -- deaths ------------------------------------------------------------------------------------------------------------


@die_everywhere
def test_an_adoption_survives_a_death_at_any_instruction(instruction: int) -> None:
    orphans = Orphans()
    world = orphans.world
    world.cloud.polls = {"b": 3}
    world.cloud.crash_after(instruction)
    if not world.survive(lambda: orphans.adopt(job_id="1")):
        orphans.adopt(job_id="1")
    while not world.survive(world.settle):
        continue
    world.cloud.crash_at = None
    assert world.state("t") == "ADOPT_COMPLETE"
    orphans.check_untouched()
    assert ids(world, world.store.stacks.find("t", project="default").id) == orphans.before


@die_everywhere
def test_an_update_of_what_is_half_adopted_survives_a_death_at_any_instruction(instruction: int) -> None:
    orphans = begun(2)
    world = orphans.world
    said, expected, kept = CHANGES["sizes"]
    world.cloud.crash_after(instruction)
    if not world.survive(lambda: world.update(template(said), "t", job_id="1")):
        world.update(template(said), "t", job_id="1")
    while not world.survive(world.settle):
        continue
    world.cloud.crash_at = None
    assert world.state("t") == "UPDATE_COMPLETE"
    assert present(world) == expected
    now = ids(world, world.store.stacks.find("t", project="default").id)
    assert {name: now[name] for name in kept} == {name: orphans.before[name] for name in kept}


def test_a_worker_that_dies_with_what_it_adopts_is_followed_by_another() -> None:
    orphans = Orphans()
    orphans.adopt()
    die_after_claim(orphans.world)
    orphans.world.settle()
    assert orphans.world.state("t") == "ADOPT_COMPLETE"
    orphans.check_untouched()


@pytest.mark.parametrize("steps", range(8))
def test_what_is_adopted_while_an_update_is_planned_is_not_forgotten(steps: int) -> None:
    orphans = Orphans()
    world = orphans.world
    orphans.adopt()
    said, expected, _ = CHANGES["sizes"]
    update: Callable[[], object] = lambda: world.update(template(said), "t")  # noqa: E731
    meanwhile(world, lambda: step(world, times=steps), update)
    assert world.state("t") == "UPDATE_COMPLETE"
    assert present(world) == expected
    assert set(world.cloud.objects) == set(orphans.before.values())
