"""Hooks anywhere, let on at any moment or never, whatever dies on the way: the stack becomes what was asked last."""

from collections.abc import Mapping, Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.scenarios.test_hooks import KINDS, environment
from tests.scenarios.test_interleavings import fates, play
from tests.scenarios.test_update_interleavings import (
    NAMES,
    Definition,
    Watch,
    changes,
    check_became,
    parameters_of,
    template_of,
)
from tests.scenarios.world import World

patient = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
hooks = st.dictionaries(
    st.sampled_from(["*", *NAMES]), st.lists(st.sampled_from(KINDS), min_size=1, unique=True), max_size=4
)
#: Moments of fate, each followed by letting on what matches, in a process that may die so many instructions later.
turns = st.lists(st.tuples(fates, st.sampled_from(["", "*", "r[0-3]"]), st.integers(0, 12)), max_size=4)

Turns = Sequence[tuple[Sequence[tuple[str, int]], str, int]]


def play_turns(world: World, stack_id: str, played: Turns) -> None:
    """Let fate and people have their way by turns."""
    for fate, pattern, crash_after in played:
        play(world, fate)
        if pattern:
            if crash_after:
                world.cloud.crash_after(crash_after)
            world.survive(lambda pattern=pattern: world.clear(pattern, name=stack_id))  # type: ignore[misc]
            world.cloud.crash_at = None


def check_stood(world: World, stood: Sequence[tuple[str, str]], kinds: Mapping[str, Sequence[str]]) -> None:
    """Check that nothing stood at a hook that nobody set."""
    for name, kind in stood:
        assert kind in {*kinds.get(name, ()), *kinds.get("*", ())}


@patient
@given(
    sequence=changes(),
    kinds=st.lists(hooks, min_size=5, max_size=5),
    played=st.lists(turns, min_size=5, max_size=5),
    ending=st.sampled_from(["update", "rollback", "delete"]),
)
def test_whatever_stands_wherever_the_last_word_counts(
    sequence: Sequence[Definition],
    kinds: Sequence[Mapping[str, Sequence[str]]],
    played: Sequence[Turns],
    ending: str,
) -> None:
    world = World()
    watch = Watch(world)
    jobs = [
        {"parameters": parameters_of(definition), "timeout_minutes": 6000, **environment(said)}
        for definition, said in zip(sequence, kinds, strict=False)
    ]
    stack_id = world.create(template_of(sequence[0]), **jobs[0])
    stood = world.settle_clearing()
    check_stood(world, stood, kinds[0])
    assert {(name, kind) for name, kind in stood} == {
        (name, kind)
        for name in sequence[0]
        for kind in {*kinds[0].get(name, ()), *kinds[0].get("*", ())}
        if kind.endswith("create")
    }
    for definition, job, turn in zip(sequence[1:], jobs[1:], played[1:], strict=False):
        world.update(template_of(definition), **job)
        play_turns(world, stack_id, turn)
    last = len(jobs) - 1
    if ending == "rollback" and world.state().endswith("IN_PROGRESS"):
        # Whatever was complete last is what it goes back to; the next update finds it so.
        world.cancel()
        world.settle_clearing()
        assert world.state() == "ROLLBACK_COMPLETE"
        world.update(template_of(sequence[last]), **jobs[last])
    if ending == "delete":
        world.delete()
        check_stood(world, world.settle_clearing(stack_id), kinds[last])
        assert world.state(stack_id) == "DELETE_COMPLETE"
        assert world.cloud.objects == {}
    else:
        check_stood(world, world.settle_clearing(), kinds[last])
        assert world.state() == "UPDATE_COMPLETE"
        check_became(world, stack_id, sequence[last])
    assert world.standing(stack_id) == []
    watch.check()
    world.close()
