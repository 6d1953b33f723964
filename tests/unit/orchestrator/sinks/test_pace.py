"""A sink is given as much as it takes in time, and left alone for longer each time that it fails."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.sinks.pace import (
    LONGEST_PAUSE_SECONDS,
    MOST_EVENTS,
    first_number,
    next_number,
    pause_seconds,
    words_of,
)


@given(st.integers(1, 10_000), st.randoms(use_true_random=False))
def test_no_pause_is_longer_than_a_minute_nor_none_at_all(failures: int, chance: random.Random) -> None:
    pause = pause_seconds(failures, chance)
    longest = min(LONGEST_PAUSE_SECONDS, 2.0 ** min(failures - 1, 10))
    assert longest / 2 <= pause <= longest


def test_pauses_of_processes_differ() -> None:
    chance = random.Random(1)
    assert len({pause_seconds(5, chance) for _ in range(10)}) == 10


def test_who_failed_often_is_given_one_event() -> None:
    numbers = [first_number(failures) for failures in range(8)]
    assert numbers == [500, 125, 31, 7, 1, 1, 1, 1]
    assert first_number(100_000) == 1


@given(st.integers(1, MOST_EVENTS), st.floats(0, 30))
def test_there_is_always_something_and_never_too_much(number: int, took: float) -> None:
    assert 1 <= next_number(number, took_seconds=took, limit_seconds=30) <= MOST_EVENTS


@pytest.mark.parametrize("seconds_an_event", [0.001, 0.1, 1.0, 10.0])
def test_the_number_settles_where_a_call_stays_within_its_limit(seconds_an_event: float) -> None:
    number = 1
    for _ in range(50):
        took = number * seconds_an_event
        assert took < 30
        number = next_number(number, took_seconds=took, limit_seconds=30)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("two\n  lines"), "two lines"),
        (ConnectionError(), "ConnectionError"),
        (OSError("amqp://me:pass@host/ refused"), "amqp://******@host/ refused"),
        (OSError("http://host/a@b refused"), "http://host/a@b refused"),
    ],
)
def test_words_are_one_line_without_passwords(error: Exception, words: str) -> None:
    assert words_of(error) == words
