"""Whatever cannot be taken away, and whatever dies or is superseded meanwhile: what is wanted is there, and nothing is
taken from under what is left."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.store.stacks.unclean import UNCLEAN
from tests.scenarios.telling import reason
from tests.scenarios.test_interleavings import fates, play
from tests.scenarios.test_unclean import stuck
from tests.scenarios.test_update_interleavings import (
    NAMES,
    Definition,
    Watch,
    become,
    begin,
    changes,
    check_became,
    check_unmade,
    patient,
    polls,
    value_of,
)
from tests.scenarios.world import World


def check_in_service(world: World, stack_id: str, definition: Definition) -> bool:
    """Check that what is wanted is there, and that nothing lacks what it requires; tell whether more is left."""
    rows = [row for row in world.store.stacks.resources(stack_id) if row.physical_id in world.cloud.objects]
    alive = {row.id for row in rows}
    assert all(alive.issuperset(row.requires) for row in rows)
    wanted = [
        row for row in rows if row.replaced_by is None and row.action != "DELETE" and row.name in definition
    ]
    assert sorted(row.name for row in wanted) == sorted(definition)
    for row in wanted:
        assert row.status == "COMPLETE"
        assert world.cloud.objects[row.physical_id or ""] == (row.id, value_of(definition, row.name))
        assert world.cloud.sizes[row.physical_id or ""] == definition[row.name].size
    return len(rows) > len(wanted)


@patient
@given(
    sequence=changes(),
    played=st.lists(fates, min_size=4, max_size=4),
    names=st.sets(st.sampled_from(NAMES), min_size=4),
    polls=polls,
    rollback=st.booleans(),
    together=st.booleans(),
)
def test_what_is_wanted_is_in_service_and_the_rest_goes_when_it_can(
    sequence: Sequence[Definition],
    played: Sequence[Sequence[tuple[str, int]]],
    names: set[str],
    polls: dict[str, int],
    rollback: bool,
    together: bool,
) -> None:
    world = World(together=together)
    watch = Watch(world)
    stack_id = begin(world, sequence[0])
    world.settle()
    world.cloud.polls = polls
    stuck(world, *names)
    for definition, fate in zip(sequence[1:], played, strict=False):
        become(world, definition, rollback=rollback)
        play(world, fate)
    world.settle()
    is_unclean = check_in_service(world, stack_id, sequence[-1])
    assert world.state() == ("UPDATE_FAILED" if is_unclean else "UPDATE_COMPLETE")
    assert reason(world).startswith(UNCLEAN) is is_unclean
    stuck(world)
    become(world, sequence[-1])
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    check_became(world, stack_id, sequence[-1])
    watch.check()
    check_unmade(world, stack_id, sequence[-1])
    world.close()
