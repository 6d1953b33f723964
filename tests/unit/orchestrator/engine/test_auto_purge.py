"""What coordinators purge by themselves, and when."""

from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.engine import auto_purge
from orchestrator.engine.auto_purge import EVERY_SECONDS, LOOK_SECONDS, Housekeeping
from orchestrator.errors import Unavailable
from orchestrator.model.purge import Purge, Removed


class FakePurger:
    """Hands out turns as it is told, and steps that take a while each."""

    def __init__(self) -> None:
        self.now = 0.0
        self.has_turn = True
        self.asked: list[float] = []
        self.purges: list[Purge] = []
        self.steps: list[int] = []
        self.fault: Exception | None = None

    def take_turn(self, *, every_seconds: float) -> bool:
        self.asked.append(every_seconds)
        return self.has_turn

    def purge(self, wanted: Purge) -> Iterator[Removed]:
        self.purges.append(wanted)
        for number in range(3):
            if self.fault:
                raise self.fault
            self.now += auto_purge.AT_A_TIME_SECONDS
            self.steps.append(number)
            yield Removed(kind="events", count=1)


class FakeStore:
    def __init__(self, purger: FakePurger) -> None:
        self.purger = purger
        #: The cursors of event sinks are here too: before each purge they are moved on that lag too far behind.
        self.sink_cursors = self
        self.bounds: list[int] = []

    def bound(self, most: int) -> None:
        assert not self.purger.steps[len(self.bounds) * 3 :], "events went before"
        self.bounds.append(most)


@pytest.fixture
def purger() -> FakePurger:
    return FakePurger()


def keeping(purger: FakePurger, days: float = 2) -> Housekeeping:
    settings: Any = Settings(purge_after_days=days, max_events_per_stack=7)
    store: Any = FakeStore(purger)
    return Housekeeping(store, settings, clock=lambda: purger.now)


def test_nothing_is_purged_unless_it_was_set(purger: FakePurger) -> None:
    keeping(purger, days=0).go_on()
    assert (purger.asked, purger.purges) == ([], [])


def test_a_purge_goes_on_a_moment_at_a_time(purger: FakePurger) -> None:
    keeper = keeping(purger)
    for steps in ([0], [0, 1], [0, 1, 2]):
        keeper.go_on()
        assert purger.steps == steps
    assert purger.asked == [EVERY_SECONDS]
    days = 86400.0
    assert purger.purges == [
        Purge(older_than_seconds=2 * days, max_events_per_stack=7, logs_older_than_seconds=14 * days)
    ]


def test_whoever_has_no_turn_asks_again_later(purger: FakePurger) -> None:
    purger.has_turn = False
    keeper = keeping(purger)
    keeper.go_on()
    purger.now += LOOK_SECONDS - 1
    keeper.go_on()
    assert len(purger.asked) == 1
    purger.now += 1
    keeper.go_on()
    assert len(purger.asked) == 2
    assert purger.purges == []


@pytest.mark.parametrize("fault", [Unavailable("the database does not answer"), ValueError("a bug")])
def test_a_fault_is_no_fault_of_the_sweep(purger: FakePurger, fault: Exception) -> None:
    purger.fault = fault
    keeper = keeping(purger)
    keeper.go_on()
    purger.fault = None
    purger.now += LOOK_SECONDS
    keeper.go_on()
    assert purger.steps == [0]
