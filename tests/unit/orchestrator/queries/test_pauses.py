"""What it costs to watch a stack grows with the time that is watched, not with the stack's size times that."""

import pytest

from orchestrator.queries.progress import COUNTED_A_SECOND, LONGEST_PAUSE_SECONDS, Pauses
from orchestrator.views.stacks import Progress, StackView


def progress_of(total: int) -> Progress:
    """Return the progress of a stack of so many resources; only their number counts here."""
    stack = StackView.__new__(StackView)
    return Progress(
        stack=stack, counts={}, running=(), reasons={}, total=total, done=0, finished=False, hooks=()
    )


class Watched:
    """A watch of an operation that is over at some time."""

    def __init__(self, total: int, *, over_at: float = 300.0) -> None:
        self.progress, self.over_at = progress_of(total), over_at
        self.now, self.looks, self.finds = 0.0, 0, 0
        pauses = Pauses(0.25, sleep=self._sleep)
        while self.now < self.over_at:
            self.looks += 1
            pauses.after(self.progress, self._is_under_way)

    def _sleep(self, seconds: float) -> None:
        self.now += seconds

    def _is_under_way(self) -> bool:
        self.finds += 1
        return self.now < self.over_at


@pytest.mark.parametrize("total", [1_000, 10_000, 100_000])
def test_a_watch_counts_no_more_resources_a_second_however_many_there_are(total: int) -> None:
    watched = Watched(total)
    counted = watched.looks * total / watched.over_at
    assert counted <= 1.5 * COUNTED_A_SECOND
    # No more rows than one for each interval are read besides.
    assert watched.finds <= watched.over_at / 0.25 + 10


@pytest.mark.parametrize("total", [1, 10_000, 100_000, 10_000_000])
def test_the_end_of_an_operation_is_seen_within_the_interval(total: int) -> None:
    assert Watched(total, over_at=7.1).now <= 7.1 + 0.25


def test_a_small_stack_is_looked_at_every_interval_and_sooner_at_first() -> None:
    watched = Watched(100, over_at=10)
    assert watched.looks >= 10 / 0.25


def test_a_huge_stack_is_looked_at_all_the_same() -> None:
    assert Watched(10_000_000).looks >= 300 / (LONGEST_PAUSE_SECONDS + 0.25)
