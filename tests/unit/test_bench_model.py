"""The model of an installation does what can be reckoned by hand."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.costs import Costs, keep, load
from tests.bench.model import CARRY_ON, Installation, Log, Machines, Process, Simulation, Station

ONE = Costs(begin=0, publish=0, dispatch=0, message=0, check=1, transactions=0, rows=0, broker=0, commit=0)
APART = Machines(workers=4, processors=2, children=2, postgres_processors=1)


def test_a_chain_takes_as_long_as_all_its_steps_one_after_the_other() -> None:
    costs = replace(ONE, check=2, transactions=3, commit=4, message=16, broker=16)
    predicted = Installation(costs, APART).run("chain", 160)
    # Sixteen of a message share what the message costs.
    assert 1000 / predicted.rate == pytest.approx(2 + 3 + 2 * 4 + (16 + 16) / CARRY_ON, rel=0.01)


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_resources_that_wait_for_nothing_are_made_by_all_processors(workers: int) -> None:
    machines = replace(APART, workers=workers)
    predicted = Installation(ONE, machines).run("wide", 1600)
    assert predicted.rate == pytest.approx(1000 * 2 * workers, rel=0.01)
    assert predicted.busiest == "workers"


def test_what_is_shared_limits_any_number_of_machines() -> None:
    costs = replace(ONE, transactions=1)
    for workers in (4, 40):
        predicted = Installation(costs, replace(APART, workers=workers)).run("wide", 2000)
        assert predicted.rate == pytest.approx(1000, rel=0.02)
        assert predicted.busiest == "PostgreSQL"


def test_shards_share_what_is_shared_only_by_whole_stacks() -> None:
    costs, machines = replace(ONE, transactions=1), replace(APART, workers=40, shards=4)
    assert Installation(costs, machines).run("wide", 2000, stacks=4).rate == pytest.approx(4000, rel=0.02)
    assert Installation(costs, machines).run("wide", 2000).rate == pytest.approx(1000, rel=0.02)


def test_the_log_writes_at_once_what_came_meanwhile() -> None:
    simulation, log = Simulation(), Log("log", 1)
    ended: list[float] = []

    def commit() -> Process:
        yield log, 10.0
        ended.append(simulation.now)

    for _ in range(5):
        simulation.begin(commit())
    simulation.run()
    assert ended == [10, 20, 20, 20, 20]


def test_places_are_taken_in_the_order_of_arrival() -> None:
    simulation, station = Simulation(), Station("station", 2)
    ended: list[tuple[str, float]] = []

    def work(name: str, needed_ms: float) -> Process:
        yield station, needed_ms
        ended.append((name, simulation.now))

    for name, needed_ms in (("a", 3.0), ("b", 1.0), ("c", 1.0), ("d", 5.0)):
        simulation.begin(work(name, needed_ms))
    simulation.run()
    assert ended == [("b", 1), ("c", 2), ("a", 3), ("d", 7)]


def test_costs_are_read_as_they_were_kept(tmp_path: Path) -> None:
    file = tmp_path / "build" / "costs.json"
    with pytest.raises(FileNotFoundError, match=r"tests\.bench\.costs"):
        load(file)
    keep(ONE, file)
    assert load(file) == ONE
