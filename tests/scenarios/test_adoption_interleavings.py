"""Adoptions, snapshots and restores among updates, whatever happens to messages and processes."""

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.scenarios.test_adoption import export
from tests.scenarios.test_interleavings import fates, play
from tests.scenarios.test_update_interleavings import (
    NAMES,
    Definition,
    become,
    begin,
    changes,
    check_became,
    check_unmade,
    parameters_of,
    patient,
    polls,
    template_of,
    value_of,
)
from tests.scenarios.world import World

Fates = Sequence[Sequence[tuple[str, int]]]

many_fates = st.lists(fates, min_size=5, max_size=5)


def orphaned(definition: Definition) -> tuple[World, dict[str, Any]]:
    """Return objects that belong to no stack any more, and the entries that tell of them."""
    world = World()
    begin(world, definition)
    world.settle()
    entries: dict[str, Any] = export(world)["resources"]
    world.abandon()
    world.settle()
    world.cloud.log.clear()
    return world, entries


def adopt(world: World, definition: Definition, entries: Mapping[str, Any], *, rollback: bool = False) -> str:
    parameters = parameters_of(definition)
    return world.adopt(template_of(definition), entries, parameters=parameters, rollback=rollback)


def same(before: Definition, after: Definition) -> set[str]:
    """Return the resources that need not be replaced."""
    return {name for name in {*before} & {*after} if value_of(before, name) == value_of(after, name)}


@patient
@given(sequence=changes(), played=many_fates, polls=polls)
def test_an_adopted_stack_becomes_what_was_asked_last_and_keeps_what_need_not_change(
    sequence: Sequence[Definition], played: Fates, polls: dict[str, int]
) -> None:
    world, entries = orphaned(sequence[0])
    world.cloud.polls = polls
    stack_id = adopt(world, sequence[0], entries)
    play(world, played[0])
    # At most one, so that what need not change is what was found.
    for definition, fate in zip(sequence[1:2], played[1:], strict=False):
        become(world, definition)
        play(world, fate)
    world.settle()
    last = sequence[:2][-1]
    assert world.state() in ("ADOPT_COMPLETE", "UPDATE_COMPLETE")
    check_became(world, stack_id, last)
    now = {row.name: row.physical_id for row in world.store.stacks.resources(stack_id)}
    kept = same(sequence[0], last)
    assert {name: now[name] for name in kept} == {name: entries[name]["resource_id"] for name in kept}
    check_unmade(world, stack_id, last)
    world.close()


@patient
@given(sequence=changes(), played=many_fates, polls=polls)
def test_updates_of_what_is_half_adopted_end_as_the_last_one_says(
    sequence: Sequence[Definition], played: Fates, polls: dict[str, int]
) -> None:
    world, entries = orphaned(sequence[0])
    world.cloud.polls = polls
    stack_id = adopt(world, sequence[0], entries)
    for definition, fate in zip(sequence[1:], played, strict=False):
        play(world, fate)
        become(world, definition)
    world.settle()
    assert world.state() in ("ADOPT_COMPLETE", "UPDATE_COMPLETE")
    check_became(world, stack_id, sequence[-1])
    check_unmade(world, stack_id, sequence[-1])
    world.close()


@patient
@given(
    sequence=changes(),
    played=many_fates,
    failing=st.sets(st.sampled_from(NAMES), max_size=2),
    rollback=st.booleans(),
    polls=polls,
)
def test_an_adoption_that_fails_or_is_cancelled_leaves_every_object_alone(
    sequence: Sequence[Definition],
    played: Fates,
    failing: set[str],
    *,
    rollback: bool,
    polls: dict[str, int],
) -> None:
    world, entries = orphaned(sequence[0])
    world.cloud.polls = polls
    world.cloud.failing_adoptions = dict.fromkeys(failing, True)
    objects = {physical_id: value for physical_id, (_, value) in world.cloud.objects.items()}
    stack_id = adopt(world, sequence[0], entries, rollback=rollback)
    play(world, played[0])
    if world.state() == "ADOPT_IN_PROGRESS":
        world.cancel(rollback=rollback)
    play(world, played[1])
    world.settle()
    assert {physical_id: value for physical_id, (_, value) in world.cloud.objects.items()} == objects
    assert world.cloud.log == []
    if world.state() == "ROLLBACK_COMPLETE":
        assert world.store.stacks.resources(stack_id) == []
    world.close()


@patient
@given(sequence=changes(), played=many_fates, polls=polls)
def test_a_stack_is_brought_back_to_a_snapshot_whatever_happens(
    sequence: Sequence[Definition], played: Fates, polls: dict[str, int]
) -> None:
    world = World()
    stack_id = begin(world, sequence[0])
    world.settle()
    world.cloud.contents = dict.fromkeys(world.cloud.objects, "early")
    world.cloud.polls = polls
    world.snapshot("first")
    play(world, played[0])
    world.settle()
    assert world.state() == "SNAPSHOT_COMPLETE"
    for definition, fate in zip(sequence[1:], played[1:], strict=False):
        become(world, definition)
        play(world, fate)
    world.settle()
    world.cloud.contents = dict.fromkeys(world.cloud.objects, "late")
    world.restore("first")
    play(world, played[-1])
    world.settle()
    assert world.state() == "RESTORE_COMPLETE"
    check_became(world, stack_id, sequence[0])
    assert {world.cloud.contents[physical_id] for physical_id in world.cloud.objects} == {"early"}
    become(world, sequence[-1])
    play(world, played[0])
    world.settle()
    check_became(world, stack_id, sequence[-1])
    check_unmade(world, stack_id, sequence[-1])
    assert world.cloud.images == {}
    world.close()
