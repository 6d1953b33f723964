"""A batch: what a worker has claimed and not begun, and what it has ended and not recorded."""

from typing import Any

import pytest

from orchestrator.store.nodes.claims import Ending, Outcome
from workers.check.batch import DELAY_SECONDS, PATIENCE_SECONDS, Batch
from workers.check.pace import Pace

DONE = Outcome(ending=Ending.DONE)


class Clock:
    """A clock that moves when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def batch_of(clock: Clock, *claims: str) -> Any:
    made: Any = claims
    return Batch(made, clock=clock)


def test_claims_come_in_order_and_outcomes_wait_to_be_recorded_together() -> None:
    clock = Clock()
    batch = batch_of(clock, "a", "b")
    first = batch.next()
    batch.add(first, DONE)
    assert (first, batch.due(), batch.next(), batch.next()) == ("a", (), "b", None)
    clock.now = DELAY_SECONDS * 1.1
    assert (batch.due(), batch.due()) == ([("a", DONE)], [])
    assert batch.rest() == ([], ())


def test_what_was_not_begun_in_time_is_not_begun_but_given_back() -> None:
    clock = Clock()
    batch = batch_of(clock, "a", "b", "c")
    first = batch.next()
    assert batch.overdue() == ((), ())
    clock.now = PATIENCE_SECONDS * 1.1
    assert batch.next() is None
    batch.add(first, DONE)
    assert batch.overdue() == ([("a", DONE)], ("b", "c"))
    assert batch.overdue() == ([], ())
    assert batch.rest() == ([], ())


@pytest.mark.parametrize(
    ("steps", "quick"),
    [
        ([], False),
        ([0.001], True),
        ([0.1], False),
        # What a type needs is loaded by its first step.
        ([0.1, 0.001], True),
        ([0.001, 0.1], False),
        # One step was slow because the machine was busy.
        ([0.001] * 12 + [0.05], True),
        ([0.001] * 12 + [0.05] * 3, False),
        ([0.1] * 12 + [0.001] * 40, True),
    ],
    ids=str,
)
def test_a_type_is_quick_whose_last_steps_were(steps: list[float], quick: bool) -> None:
    pace = Pace(quick_seconds=0.01)
    for seconds in steps:
        pace.took("T", seconds)
        pace.took("Other", 1.0)
    assert set(pace.quick) == ({"T"} if quick else set())
