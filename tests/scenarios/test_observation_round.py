"""Rounds of observations, as embedded mode has them: what is due is observed and repaired, and then it is over."""

import pytest

from orchestrator.engine.observation_round import ObservationRound, carry_out
from orchestrator.errors import Unavailable
from orchestrator.views.drift import RoundView
from tests.scenarios.test_drift import object_of, set_policy, world
from tests.scenarios.world import World

__all__ = ["world"]


def rounds(world: World) -> list[RoundView]:
    """Let a round of observations be carried out, with time passing."""
    world.looks_for_drift = True

    def pause(_: float) -> None:
        world.sweep(after=1)
        world.settle()

    return carry_out(ObservationRound(world.store, "default"), lambda _: None, pause=pause)


def test_a_round_observes_what_is_due_and_ends_with_its_repairs(world: World) -> None:
    set_policy(world, mode="repair")
    world.cloud.sizes[object_of(world, "a")] = "l"
    del world.cloud.objects[object_of(world, "b")]
    (view,) = rounds(world)
    assert view == RoundView(stack="s", observed=True, drifted=0, repaired=2, trouble="")
    assert world.cloud.sizes[object_of(world, "a")] == "s"
    assert object_of(world, "b") in world.cloud.objects
    # The next time is an interval later.
    assert rounds(world) == []


def test_a_round_reports_what_is_only_detected(world: World) -> None:
    set_policy(world, mode="detect")
    world.cloud.sizes[object_of(world, "a")] = "l"
    assert rounds(world) == [RoundView(stack="s", observed=True, drifted=1, repaired=0, trouble="")]


def test_a_round_observes_again_what_a_process_that_died_has_begun(world: World) -> None:
    set_policy(world, mode="detect")
    world.looks_for_drift = True
    world.sweep(after=2)
    assert [order.phase for order in world.messages] == ["observe"]
    world.messages.clear()
    begun = world.now
    (view,) = rounds(world)
    assert (view.observed, world.now < begun + 60) == (True, True)


def test_a_round_leaves_a_stack_with_an_operation_in_progress_alone(world: World) -> None:
    set_policy(world, mode="detect")
    world.check()
    observations = ObservationRound(world.store, "default")
    (view,) = carry_out(observations, lambda _: None, pause=lambda _: pytest.fail("it waits"))
    assert view == RoundView(
        stack="s", observed=False, drifted=0, repaired=0, trouble="an operation is in progress"
    )


def test_a_round_does_not_wait_for_ever(world: World) -> None:
    set_policy(world, mode="detect")
    now = iter(range(0, 10_000, 100))
    with pytest.raises(Unavailable, match="1 of 1 stacks were not observed: nothing has changed for 600"):
        carry_out(
            ObservationRound(world.store, "default"),
            lambda _: None,
            pause=lambda _: None,
            clock=lambda: float(next(now)),
        )
