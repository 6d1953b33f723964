"""How long an operation usually takes, and how sure that is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.queries.usual import FEWEST, MOST, usual_of

SECONDS = st.floats(0, 10**6)


@given(st.lists(SECONDS, max_size=FEWEST - 1))
def test_of_too_few_nothing_is_said(seconds: list[float]) -> None:
    assert usual_of(seconds) is None


@given(st.lists(SECONDS, min_size=FEWEST, max_size=3 * MOST))
def test_the_usual_lies_between_what_there_was(seconds: list[float]) -> None:
    usual = usual_of(seconds)
    assert usual is not None
    last = seconds[:MOST]
    # Rounded to a millisecond.
    assert min(last) - 0.001 <= usual.low_seconds <= usual.seconds <= usual.high_seconds <= max(last) + 0.001
    assert usual.samples == len(last)


@given(st.lists(SECONDS, min_size=FEWEST, max_size=MOST), st.lists(SECONDS, max_size=5))
def test_only_the_last_ones_count(seconds: list[float], before: list[float]) -> None:
    assert usual_of(seconds * MOST + before) == usual_of((seconds * MOST)[:MOST])


@given(SECONDS, st.integers(FEWEST, MOST))
def test_what_always_takes_the_same_is_steady(seconds: float, times: int) -> None:
    usual = usual_of([seconds] * times)
    assert usual is not None
    assert usual.is_steady
    assert usual.seconds == usual.low_seconds == usual.high_seconds == round(seconds, 3)


@pytest.mark.parametrize(
    ("seconds", "middle", "is_steady"),
    [
        # One that took far longer changes little.
        ([120, 118, 119, 121, 4000], 120, True),
        ([10, 200, 12, 300], 106, False),
        ([1, 1, 1, 100, 100, 100], 50.5, False),
        # A clock that was set back.
        ([-5, 2, 2], 2, True),
    ],
)
def test_a_few_that_are_unlike_the_others_are_told_from_many(
    seconds: list[float], middle: float, is_steady: bool
) -> None:
    usual = usual_of(seconds)
    assert usual is not None
    assert (usual.seconds, usual.is_steady) == (middle, is_steady)
