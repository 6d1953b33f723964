"""How much a sink is told at once, and when it is tried again: pure functions."""

import random
from typing import Final

from hooks.values import words

#: A sink is told at most so many events at once.
MOST_EVENTS: Final = 500
#: The first pause after a failure is up to this long; each further one up to twice as long.
FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 60.0


def pause_seconds(failures: int, chance: random.Random) -> float:
    """Return how long a sink is left alone that has failed so often in a row; at least half of what it may be."""
    longest = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(max(failures - 1, 0), 16))
    return longest * chance.uniform(0.5, 1.0)


def first_number(failures: int) -> int:
    """Return how many events a sink is told at first that has failed so often in a row.

    One that is too slow for many takes a few; one that chokes on a single event shows which.
    """
    return max(1, MOST_EVENTS >> 2 * min(failures, 8))


def next_number(number: int, *, took_seconds: float, limit_seconds: float) -> int:
    """Return how many events a sink is told at once that has taken so many in that time.

    It stays far enough below its time limit that events which take longer than those before do not break it.
    """
    if took_seconds > limit_seconds / 2:
        return max(1, number // 2)
    if took_seconds < limit_seconds / 8:
        return min(MOST_EVENTS, number * 2)
    return number


def words_of(error: BaseException) -> str:
    """Return what an error says, on one line, without what stands before an @ in a URL: it may be a password."""
    return " ".join(words.words_of(error).split()) or type(error).__name__
