"""The model of an installation does what can be reckoned by hand."""

from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest

from tests.bench.costs import LINKS_OF_A_MESSAGE, RUNS, Costs, Run, Used, divided, keep, load
from tests.bench.model import BATCH_SIZE, Installation, Log, Machines, Process, Simulation, Station

NOTHING = Costs(**dict.fromkeys((field.name for field in fields(Costs)), 0.0))
ONE = replace(NOTHING, check=1)
APART = Machines(workers=4, processors=2, children=2, postgres_processors=1)


def test_a_chain_takes_as_long_as_all_its_steps_one_after_the_other() -> None:
    costs = replace(
        ONE,
        check=2,
        transaction=1,
        postgres_transaction=2,
        postgres_check=1,
        commit=4,
        dispatch=30,
        message=16,
        broker=16,
    )
    predicted = Installation(costs, APART).run("chain", 10 * LINKS_OF_A_MESSAGE)
    of_a_message = 30 + 16 + 16 + (1 + 2 + 4)
    assert 1000 / predicted.rate == pytest.approx(2 + 1 + 3 + 4 + of_a_message / LINKS_OF_A_MESSAGE, rel=0.01)


def test_what_travels_together_shares_a_message_and_two_transactions() -> None:
    costs = replace(NOTHING, check=1, message=10, transaction=3)
    machines = replace(APART, workers=1, children=1)
    predicted = Installation(costs, machines).run("wide", 10 * BATCH_SIZE)
    assert 1000 / predicted.rate == pytest.approx(1 + (10 + 2 * 3) / BATCH_SIZE)


def test_costs_are_found_again_in_runs_that_have_them() -> None:
    costs = replace(
        NOTHING,
        submit=0.3,
        begin=0.2,
        rows=0.1,
        dispatch=0.7,
        message=1.1,
        transaction=0.6,
        check=0.2,
        postgres_transaction=0.4,
        postgres_check=0.1,
        broker=0.5,
        commit=2.0,
    )
    runs = {}
    for name, shape, _, most in RUNS:
        messages, transactions = (
            (1 / LINKS_OF_A_MESSAGE, 1 + 1 / LINKS_OF_A_MESSAGE) if shape == "chain" else (1 / most, 2 / most)
        )
        runs[name] = Run(
            begun=Used(
                client=costs.submit,
                coordinator=costs.begin,
                postgres=costs.rows,
                redis=costs.broker / 2 * messages,
            ),
            checked=Used(
                worker=costs.dispatch * messages,
                children=costs.message * messages + costs.transaction * transactions + costs.check,
                postgres=costs.postgres_transaction * transactions + costs.postgres_check,
                redis=costs.broker / 2 * messages,
            ),
        )
    found = divided(runs, 2.0)
    assert asdict(found) == pytest.approx(asdict(costs))


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_resources_that_wait_for_nothing_are_made_by_all_processors(workers: int) -> None:
    machines = replace(APART, workers=workers)
    predicted = Installation(ONE, machines).run("wide", 5 * BATCH_SIZE * 2 * workers)
    assert predicted.rate == pytest.approx(1000 * 2 * workers, rel=0.01)
    assert predicted.busiest == "workers"


def test_what_is_shared_limits_any_number_of_machines() -> None:
    # Not quite: claims wait behind ends, so that now and then all children work at the same time.
    costs = replace(ONE, postgres_check=1)
    for workers in (16, 64):
        predicted = Installation(costs, replace(APART, workers=workers)).run("wide", 16_000)
        assert predicted.rate == pytest.approx(1000, rel=0.05)
        assert predicted.busiest == "PostgreSQL"


def test_shards_share_what_is_shared_only_by_whole_stacks() -> None:
    costs, machines = replace(ONE, postgres_check=1), replace(APART, workers=40, shards=4)
    assert Installation(costs, machines).run("wide", 16_000, stacks=4).rate == pytest.approx(4000, rel=0.1)
    assert Installation(costs, machines).run("wide", 16_000).rate == pytest.approx(1000, rel=0.05)


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
