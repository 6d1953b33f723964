"""Whatever is asked of a stack as it is, and whatever others do to its objects: an update that looks puts all right."""

from collections.abc import Callable, Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.engine.health import mark_unhealthy
from orchestrator.errors import Conflict, NotFound
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
    polls,
    template_of,
)
from tests.scenarios.world import World
from tests.thoroughness import examples


def _tamper(world: World, number: int) -> None:
    """Change an object behind the engine's back."""
    if world.cloud.objects:
        physical_id = sorted(world.cloud.objects)[number % len(world.cloud.objects)]
        world.cloud.sizes[physical_id] = "tampered"


def _vanish(world: World, number: int) -> None:
    """Take an object away behind the engine's back."""
    if world.cloud.objects:
        physical_id = sorted(world.cloud.objects)[number % len(world.cloud.objects)]
        del world.cloud.objects[physical_id]
        world.cloud.resting.discard(physical_id)


def _mark(world: World, number: int) -> None:
    stack = world.store.stacks.find("s", project="default")
    mark_unhealthy(world.store, stack, NAMES[number % len(NAMES)], reason="it hums")


def _reset(world: World, number: int) -> None:
    stack = world.store.stacks.find("s", project="default")
    mark_unhealthy(world.store, stack, NAMES[number % len(NAMES)], reason="", reset=True)


def _fail(world: World, number: int) -> None:
    """Let the next operation of a resource fail."""
    action = ("check", "suspend", "resume")[number % 3]
    world.cloud.failing_operations.add((action, NAMES[number % len(NAMES)]))


ACTS: dict[str, Callable[[World, int], object]] = {
    "check": lambda world, _: world.check(),
    "suspend": lambda world, _: world.suspend(),
    "resume": lambda world, _: world.resume(),
    "cancel": lambda world, number: world.cancel(rollback=bool(number % 2)),
    "tamper": _tamper,
    "vanish": _vanish,
    "mark": _mark,
    "reset": _reset,
    "fail": _fail,
}
patient = settings(max_examples=examples(8), deadline=None, suppress_health_check=[HealthCheck.too_slow])
#: What is done, a number that it may choose by, and what happens to the messages then.
deeds = st.lists(
    st.tuples(st.sampled_from([*ACTS, "update"]), st.integers(0, 50), fates), min_size=2, max_size=6
)


def do(world: World, deed: str, number: int, sequence: Sequence[Definition]) -> None:
    """Do one thing, or be refused."""
    try:
        if deed == "update":
            become(world, sequence[number % len(sequence)])
        else:
            ACTS[deed](world, number)
    except (Conflict, NotFound):
        return


def bring_back(world: World) -> None:
    """Resume a stack that is suspended, until all of it is."""
    for _ in range(4):
        if not world.state().startswith("SUSPEND"):
            return
        world.resume()
        world.settle()


def repair(world: World, definition: Definition) -> None:
    # What was under way when its object was changed is carried to its end by the first, and looked at by the second.
    for _ in range(2):
        world.update(template_of(definition), parameters=parameters_of(definition), refresh=True)
        world.settle()


@patient
@given(sequence=changes(), done=deeds, first=fates, polls=polls)
def test_an_update_that_looks_puts_all_right(
    sequence: Sequence[Definition],
    done: Sequence[tuple[str, int, Sequence[tuple[str, int]]]],
    first: Sequence[tuple[str, int]],
    polls: dict[str, int],
) -> None:
    world = World()
    world.cloud.polls = polls
    stack_id = begin(world, sequence[0])
    play(world, first)
    for deed, number, fate in done:
        do(world, deed, number, sequence)
        play(world, fate)
    world.settle()
    world.cloud.failing_operations.clear()
    bring_back(world)
    repair(world, sequence[-1])
    assert world.state() == "UPDATE_COMPLETE"
    assert world.cloud.resting == set()
    check_became(world, stack_id, sequence[-1])
    world.check()
    world.settle()
    assert world.state() == "CHECK_COMPLETE"
    check_unmade(world, stack_id, sequence[-1])
    world.close()


@patient
@given(sequence=changes(), done=deeds, first=fates, polls=polls)
def test_a_delete_at_any_moment_leaves_nothing(
    sequence: Sequence[Definition],
    done: Sequence[tuple[str, int, Sequence[tuple[str, int]]]],
    first: Sequence[tuple[str, int]],
    polls: dict[str, int],
) -> None:
    world = World()
    world.cloud.polls = polls
    stack_id = begin(world, sequence[0])
    play(world, first)
    for deed, number, fate in done:
        do(world, deed, number, sequence)
        play(world, fate)
    world.delete()
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert world.cloud.objects == {}
    world.close()


@patient
@given(sequence=changes(), played=st.lists(fates, min_size=3, max_size=3), polls=polls)
def test_a_stack_rests_and_comes_back_as_a_whole_whatever_happens(
    sequence: Sequence[Definition], played: Sequence[Sequence[tuple[str, int]]], polls: dict[str, int]
) -> None:
    world = World()
    world.cloud.polls = polls
    stack_id = begin(world, sequence[0])
    world.settle()
    objects = dict(world.cloud.objects)
    for fate in played[:2]:
        world.suspend()
        play(world, fate)
        world.settle()
        assert world.state() == "SUSPEND_COMPLETE"
        assert world.cloud.resting == set(world.cloud.objects)
        world.resume()
        play(world, fate)
        world.settle()
        assert world.state() == "RESUME_COMPLETE"
        assert world.cloud.resting == set()
    for fate in played[2:]:
        world.check()
        play(world, fate)
        world.settle()
        assert world.state() == "CHECK_COMPLETE"
    assert world.cloud.objects == objects
    check_became(world, stack_id, sequence[0])
    check_unmade(world, stack_id, sequence[0])
    world.close()
