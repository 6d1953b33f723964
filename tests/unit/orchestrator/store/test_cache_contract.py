"""What every store promises about constraint caches: their counters, and word of their flushes."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import pytest

from cache.constraints.counters import Counts
from orchestrator.errors import Unavailable
from orchestrator.store import tables
from orchestrator.store.installation.cache_counters import CacheTotals, Flushes
from orchestrator.store.store import Store
from tests.unit.orchestrator.store.conftest import Bench


def test_what_processes_counted_is_added_up_by_client(bench: Bench) -> None:
    counters = bench.store.cache_counters
    assert counters.read() == {}
    began = bench.clock.now
    counters.add({"http": Counts(hits=1, misses=2, generated=1, refused=1), "openstack": Counts(errors=3)})
    bench.clock.pass_(60)
    counters.add({"http": Counts(hits=2**40, garbage=7, evicted=4)})
    assert counters.read() == {
        "http": CacheTotals(
            counts=Counts(hits=1 + 2**40, misses=2, generated=1, refused=1, garbage=7, evicted=4), since=began
        ),
        "openstack": CacheTotals(counts=Counts(errors=3), since=began),
    }


def test_a_reset_begins_again_at_zero_and_says_what_there_was(bench: Bench) -> None:
    counters = bench.store.cache_counters
    counters.add({name: Counts(hits=number) for number, name in enumerate(("a", "b", "c"), start=1)})
    assert {name: total.counts.hits for name, total in counters.reset("b").items()} == {"b": 2}
    assert counters.reset("b") == {}
    assert set(counters.read()) == {"a", "c"}
    bench.clock.pass_(60)
    counters.add({"b": Counts(hits=5)})
    assert counters.read()["b"] == CacheTotals(counts=Counts(hits=5), since=bench.clock.now)
    assert set(counters.reset()) == {"a", "b", "c"}
    assert counters.read() == {}


def test_nothing_is_lost_when_many_add_at_once(bench: Bench) -> None:
    deltas = [{"x": Counts(hits=1), "y": Counts(misses=1)}, {"y": Counts(misses=1), "x": Counts(hits=1)}]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(bench.store.cache_counters.add, deltas * 20))
    found = bench.store.cache_counters.read()
    assert {name: total.counts for name, total in found.items()} == {
        "x": Counts(hits=40),
        "y": Counts(misses=40),
    }


def test_word_of_the_last_flush_of_each_cache_is_kept(bench: Bench) -> None:
    flushes = bench.store.cache_flushes
    began = bench.clock.now
    assert flushes.read() == Flushes(at={}, now=began)
    flushes.note([])
    flushes.note(["http", "openstack"])
    bench.clock.pass_(60)
    flushes.note(["http"])
    bench.clock.pass_(5)
    assert flushes.read() == Flushes(at={"http": began + 60, "openstack": began}, now=began + 65)


def test_a_table_that_is_not_there_yet_is_told_as_a_database_that_does_not_answer() -> None:
    store = Store("sqlite://")
    with pytest.raises(Unavailable, match="no such table"):
        store.cache_counters.add({"http": Counts(hits=1)})
    with pytest.raises(Unavailable, match="no such table"):
        store.cache_flushes.read()
    store.close()


def test_the_table_has_a_column_for_everything_that_is_counted() -> None:
    counted = {field.name for field in fields(Counts)}
    assert {column.name for column in tables.cache_counter.c} == counted | {"client", "since"}
