"""What a process counted reaches the store: once, later if the store is away, and at the end."""

import threading
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from cache.constraints.counters import Counters, Counts
from orchestrator.caches.statistics import CacheStatistics, Deltas
from orchestrator.errors import Unavailable
from tests.waiting import PATIENCE_SECONDS


class Record:
    """A store that can be away."""

    def __init__(self) -> None:
        self.is_away = False
        self.calls = 0
        self.asked = threading.Event()
        self.totals: Counter[str] = Counter()

    def add(self, deltas: Deltas) -> None:
        self.calls += 1
        self.asked.set()
        if self.is_away:
            raise Unavailable("away")
        for client, counts in deltas.items():
            self.totals[client] += counts.hits


class Caches:
    """The counters of two caches."""

    def __init__(self) -> None:
        self.counters = {"a": Counters(), "b": Counters()}

    def take(self) -> Deltas:
        return {client: counters.take() for client, counters in self.counters.items()}


def test_only_what_was_counted_is_told_and_only_once() -> None:
    record, caches = Record(), Caches()
    tally = CacheStatistics(caches.take, record.add)
    assert tally.persist()
    assert record.calls == 0
    caches.counters["a"].add("hits")
    assert tally.persist()
    assert tally.persist()
    assert record.totals == {"a": 1}
    assert record.calls == 1


def test_what_a_store_that_is_away_did_not_take_is_told_later() -> None:
    record, caches = Record(), Caches()
    tally = CacheStatistics(caches.take, record.add)
    record.is_away = True
    for _ in range(3):
        caches.counters["a"].add("hits")
        assert not tally.persist()
    caches.counters["b"].add("hits")
    record.is_away = False
    assert tally.persist()
    assert record.totals == {"a": 3, "b": 1}
    assert tally.persist()
    assert record.totals == {"a": 3, "b": 1}


STEPS = ("count a", "count b", "tell", "away", "back")


@given(st.lists(st.sampled_from(STEPS)))
def test_whatever_happens_everything_is_told_once(steps: list[str]) -> None:
    record, caches, counted = Record(), Caches(), Counter[str]()
    tally = CacheStatistics(caches.take, record.add)
    for step in [*steps, "back", "tell"]:
        match step.split():
            case ["count", client]:
                caches.counters[client].add("hits")
                counted[client] += 1
            case ["tell"]:
                assert tally.persist() is (not record.is_away or counted == record.totals)
            case [state]:
                record.is_away = state == "away"
    assert record.totals == counted


def test_a_fault_that_nobody_foresaw_costs_nothing_but_time() -> None:
    faults = iter([RuntimeError("a bug in a driver"), TimeoutError("the pool is used up")])
    told: list[Deltas] = []

    def add(deltas: Deltas) -> None:
        if (fault := next(faults, None)) is not None:
            raise fault
        told.append(deltas)

    tally = CacheStatistics(iter([{"a": Counts(hits=1)}, {}, {"a": Counts(hits=2)}]).__next__, add)
    assert [tally.persist() for _ in range(3)] == [False, False, True]
    assert told == [{"a": Counts(hits=3)}]


def test_a_thread_tells_from_time_to_time_and_at_the_end() -> None:
    record, caches = Record(), Caches()
    tally = CacheStatistics(caches.take, record.add, every_seconds=0.01)
    tally.start()
    tally.start()
    assert [thread.name for thread in threading.enumerate()].count("cache tally") == 1
    caches.counters["a"].add("hits")
    assert record.asked.wait(PATIENCE_SECONDS)
    tally.close()
    assert record.totals == {"a": 1}

    last = CacheStatistics(caches.take, record.add, every_seconds=3600)
    last.start()
    caches.counters["b"].add("hits")
    last.close()
    last.close()
    assert record.totals == {"a": 1, "b": 1}
    assert "cache tally" not in [thread.name for thread in threading.enumerate()]


def test_a_tally_that_never_began_ends_without_a_word() -> None:
    record = Record()
    CacheStatistics(lambda: {"a": Counts(hits=1)}, record.add).close()
    assert record.calls == 0
