"""Whatever process dies where, and whatever a sink does: it is told everything of each stack, in order."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.orchestrator.sinks.world import MOODS, TAKE, World

PROCESSES = st.integers(0, 2)
ACTIONS = st.one_of(
    st.tuples(st.just("happen"), st.sampled_from("abc"), st.integers(1, 4)),
    st.tuples(st.just("step"), PROCESSES, st.none() | st.integers(0, 9)),
    st.tuples(st.just("step"), PROCESSES, st.none()),
    st.tuples(st.just("kill"), PROCESSES, st.booleans()),
    st.tuples(st.just("mood"), st.sampled_from(MOODS)),
    st.tuples(st.just("pass"), st.sampled_from((0.1, 2.0, 20.0, 50.0))),
)


def act(world: World, action: tuple) -> None:  # type: ignore[type-arg]  # of as many kinds as there are actions
    match action:
        case ("happen", stack, count):
            world.happen(stack, count)
        case ("step", number, dies_after):
            world.step(number, dies_after=dies_after)
        case ("kill", number, noticed):
            world.kill(number, noticed=noticed)
        case ("mood", mood):
            world.outside.mood = mood
        case ("pass", seconds):
            world.clock.pass_(seconds)


@settings(max_examples=100)
@given(st.lists(ACTIONS, max_size=40))
def test_no_event_is_missed_and_none_comes_before_an_earlier_one(actions: list) -> None:  # type: ignore[type-arg]  # as above
    world = World()
    for action in actions:
        act(world, action)
    world.outside.mood = TAKE
    # All that were there stand still from here on, and their leases end.
    world.clock.pass_(100)
    world.until_done(9)
    assert world.arrived_first() == world.happened
    total = sum(len(ids) for ids in world.happened.values())
    assert world.counted() == total, "what is saved with the mark counts each event once"
    assert world.cursor.backlog == 0
