"""Pace of delivery: batch sizes, and pauses after failures; pure functions."""

import random
from typing import Final

from hooks.values import words

#: The largest batch of events.
MOST_EVENTS: Final = 500
#: The maximum of the first pause after a failure; it doubles with each further failure.
FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 60.0


def pause_seconds(failures: int, chance: random.Random) -> float:
    """Return the pause after so many failures in a row: random, between half the maximum and the maximum."""
    longest = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(max(failures - 1, 0), 16))
    return longest * chance.uniform(0.5, 1.0)


def first_number(failures: int) -> int:
    """Return the first batch size after so many failures in a row, down to one event.

    A slow sink can take a small batch; a batch of one shows which event a sink fails on.
    """
    return max(1, MOST_EVENTS >> 2 * min(failures, 8))


def next_number(number: int, *, took_seconds: float, limit_seconds: float) -> int:
    """Return the next batch size, after a batch of ``number`` events took ``took_seconds``.

    Aims below half of the time limit, so that slower events do not exceed it.
    """
    if took_seconds > limit_seconds / 2:
        return max(1, number // 2)
    if took_seconds < limit_seconds / 8:
        return min(MOST_EVENTS, number * 2)
    return number


def words_of(error: BaseException, options: object = None) -> str:
    """Return an error's message on one line, without passwords in URLs and the secrets of a sink's options."""
    return " ".join(words.words_of(error, options).split()) or type(error).__name__
