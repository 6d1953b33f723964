"""Signals, updates and deaths in any order: a group always comes to rest with what was asked for last."""

import contextlib
from collections.abc import Sequence
from contextlib import closing

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import Conflict
from tests.scenarios.groups import TYPES, members, outputs
from tests.scenarios.test_scaling import scaled, signal
from tests.scenarios.trees import assert_at_rest
from tests.scenarios.world import World
from tests.thoroughness import examples

#: What is done, and a number for how much of it.
Move = tuple[str, int]

moves = st.lists(
    st.tuples(
        st.sampled_from(["up", "down", "update", "desired", "deliver", "pass", "crash"]), st.integers(1, 12)
    ),
    min_size=1,
    max_size=12,
)
ROLLING = "rolling_updates: {max_batch_size: 1, min_in_service: 1}"


def make(world: World, move: Move) -> None:
    """Do one thing; a crash that was set before may cut it short."""
    what, much = move
    if what in ("up", "down"):
        with contextlib.suppress(Conflict):
            signal(world, what)
    elif what == "update":
        world.update(scaled(size=f"s{much}", rolling=ROLLING))
    elif what == "desired":
        world.update(scaled(size="s", desired=f"desired_capacity: {1 + much % 5}", rolling=ROLLING))
    elif what == "deliver":
        for _ in range(min(much, len(world.messages))):
            world.deliver()
    elif what == "pass":
        world.sweep(after=float(much * 10))


@settings(max_examples=examples(10), deadline=None)
@given(sequence=moves)
def test_a_group_comes_to_rest_as_it_was_asked_last(sequence: Sequence[Move]) -> None:
    with closing(World(TYPES)) as world:
        stack_id = world.create(scaled())
        world.settle()
        for move in sequence:
            if move[0] == "crash":
                world.cloud.crash_after(5 * move[1])
            else:
                world.survive(lambda move=move: make(world, move))  # type: ignore[misc]
        while not world.survive(world.settle):
            pass
        world.cloud.crash_at = None
        world.update(scaled(size="last"))
        world.settle()
        assert world.state() == "UPDATE_COMPLETE"
        assert_at_rest(world)
        size = len(members(world))
        assert 1 <= size <= 5
        assert {found for _, found in members(world).values()} == {"last"}
        assert outputs(world, stack_id)["size"] == size
        signal(world, "down")
        world.settle()
        assert len(members(world)) == max(1, size - 1)
        assert_at_rest(world)
