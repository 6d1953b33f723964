"""Whatever overtakes what and whatever dies: the ledger has all that is there, and promises no more than there is."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence

import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.errors import Conflict, NotFound
from orchestrator.store import tables
from tests.scenarios.placing import FAKE, TYPES, PretendedInstance, PretendedNodes, instance, placement
from tests.scenarios.test_interleavings import play
from tests.scenarios.world import World

#: What each of two nodes has; what is wished for fits more often than not.
SIZES = {"n1": 100, "n2": 60}
NAMES = "abc"
DAY_SECONDS = 86_400

patient = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
moves = st.one_of(
    st.tuples(st.sampled_from(["deliver", "repeat", "stall", "go on", "drop"]), st.integers(0, 5)),
    st.tuples(st.just("crash"), st.integers(1, 12)),
    st.tuples(st.just("sweep"), st.sampled_from([1, 61])),
)
fates = st.lists(moves, max_size=12)
#: Memory and image by name: another image is another instance.
Definition = Mapping[str, tuple[int, str]]
definitions = st.dictionaries(
    st.sampled_from(NAMES), st.tuples(st.sampled_from([10, 30, 50]), st.sampled_from("xy")), max_size=3
)
#: Which stack is to become what, which of its resources fail meanwhile, and what happens after that.
turns = st.lists(
    st.tuples(
        st.sampled_from(["s", "t"]),
        st.one_of(st.none(), definitions, definitions),
        st.sets(st.sampled_from(NAMES), max_size=1),
        st.integers(0, 40),
        fates,
    ),
    min_size=1,
    max_size=4,
)


def template_of(definition: Definition) -> str:
    resources = {
        name: instance(memory=memory, image=image, hypervisor=FAKE)
        for name, (memory, image) in definition.items()
    }
    return json.dumps({"heat_template_version": "2021-04-16", "resources": resources})


def become(world: World, name: str, definition: Definition | None) -> None:
    """Have a stack made, changed or deleted; that there is no room, or no stack, is an answer too."""
    known = {row.name for row in world.store.stacks.all(project="default")}
    try:
        if definition is None:
            world.delete(name)
        elif name in known:
            world.update(template_of(definition), name, rollback=len(definition) == 2)
        else:
            world.create(template_of(definition), name)
    except (Conflict, NotFound):
        return


def check_ledger(world: World) -> None:
    """Check that no more is promised than there is, and that nothing is anywhere without being on record there."""
    totals = world.store.reservations.promised(SIZES, stack_id="").totals
    assert all(totals.get((node, "memory_mib"), 0) <= size for node, size in SIZES.items())
    resource, reservation = tables.resource, tables.reservation
    gone = (resource.c.action == "DELETE") & (resource.c.status == "COMPLETE")
    there = sa.select(resource.c.stack_id, resource.c.name, resource.c.on_node)
    known = sa.select(reservation.c.stack_id, reservation.c.resource, reservation.c.node)
    with world.store.database.read() as connection:
        rows = connection.execute(there.where(resource.c.on_node.is_not(None), ~gone)).all()
        assert set(map(tuple, rows)) <= set(map(tuple, connection.execute(known)))


def check_rest(world: World) -> None:
    """Check that just what is there is on record, once nothing is under way."""
    check_ledger(world)
    used: Counter[str] = Counter()
    alone = True
    for stack in world.store.stacks.all(project="default"):
        rows = [row for row in world.store.stacks.resources(stack.id) if row.on_node]
        alone = alone and len({row.name for row in rows}) == len(rows) and stack.status == "COMPLETE"
        for row in rows:
            used[str(row.on_node)] += int((row.properties or {}).get("memory", 0))
    if alone:
        totals = world.store.reservations.promised(SIZES, stack_id="").totals
        assert {node: totals.get((node, "memory_mib"), 0) for node in SIZES} == {
            node: used[node] for node in SIZES
        }


@patient
@given(played=turns)
def test_what_is_there_is_on_record_and_never_more_than_there_is(
    played: Sequence[tuple[str, Definition | None, set[str], int, Sequence[tuple[str, int]]]],
) -> None:
    world = World(types=TYPES, lease_seconds=60)
    nodes = PretendedNodes(**SIZES)
    world.plug(placement(world.store, world.coordinator._settings, nodes))
    try:
        for name, definition, failing, crash_after, fate in played:
            # No two operations begin at the same moment.
            world.now += 1
            PretendedInstance.failing = failing
            if crash_after:
                world.cloud.crash_after(crash_after)
            world.survive(lambda name=name, definition=definition: become(world, name, definition))  # type: ignore[misc]
            world.cloud.crash_at = None
            check_ledger(world)
            play(world, fate)
            check_ledger(world)
        PretendedInstance.failing = set()
        world.settle()
        # What began and was heard of no more is given up by then.
        world.sweep(after=DAY_SECONDS)
        world.settle()
        check_rest(world)
        for stack in world.store.stacks.all(project="default"):
            world.delete(stack.name)
        world.settle()
        with world.store.database.read() as connection:
            assert connection.execute(sa.select(tables.reservation)).all() == []
    finally:
        PretendedInstance.failing = set()
        world.close()
