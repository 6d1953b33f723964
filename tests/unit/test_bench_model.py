"""The model of an installation does what can be reckoned by hand."""

from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest

from tests.bench.costs import CASES, Case, Costs, Run, Used, divided, keep, load
from tests.bench.model import Installation, Log, Machines, Process, Simulation, Station
from tests.bench.passes import BATCH_SIZE, RUN_SIZE, passes
from tests.bench.shapes import SHAPES

NOTHING = Costs(**dict.fromkeys((field.name for field in fields(Costs)), 0.0))
ONE = replace(NOTHING, check=1)
APART = Machines(workers=4, processors=2, children=2, postgres_processors=1)


def test_a_chain_takes_as_long_as_all_its_steps_one_after_the_other() -> None:
    costs = replace(
        ONE,
        check=2,
        link=0.5,
        transaction=1,
        postgres_transaction=2,
        postgres_check=1,
        postgres_link=0.25,
        commit=4,
        dispatch=30,
        message=16,
        broker=16,
    )
    ended = passes(RUN_SIZE)
    predicted = Installation(costs, APART).run("chain", 10 * sum(ended))
    of_a_message: float = 30 + 16 + 16 + (1 + 2 + 4)
    # Each pass ends one check, and the links behind it, which it has read.
    of_a_message += sum(
        (2 + 1 + 2 + 1 + 4) + (0.5 + 0.25) * (each - 1) + (1 + 2) * (each > 1) for each in ended
    )
    assert 1000 / predicted.rate == pytest.approx(of_a_message / sum(ended), rel=0.01)


@pytest.mark.parametrize(("run_size", "expected"), [(1, [1] * 120), (32, [32, 32, 32, 23, 1])])
def test_the_links_of_a_message(run_size: int, expected: list[int]) -> None:
    assert passes(run_size) == expected


def test_whoever_asks_for_a_stack_knows_it_later() -> None:
    costs = replace(ONE, ask=5, ask_postgres=1)
    machines = replace(APART, workers=1, children=1)
    alone = Installation(costs, machines).run("wide", BATCH_SIZE)
    asked = Installation(costs, machines).run("wide", BATCH_SIZE, asked=True)
    assert 1000 / alone.rate * BATCH_SIZE == pytest.approx(BATCH_SIZE)
    # Asked at once, and twice more after pauses of 20 ms: 6 + 20 + 6 + 20 + 6.
    assert 1000 / asked.rate * BATCH_SIZE == pytest.approx(58)


def test_what_travels_together_shares_a_message_and_two_transactions() -> None:
    costs = replace(NOTHING, check=1, message=10, transaction=3)
    machines = replace(APART, workers=1, children=1)
    predicted = Installation(costs, machines).run("wide", 10 * BATCH_SIZE)
    assert 1000 / predicted.rate == pytest.approx(1 + (10 + 2 * 3) / BATCH_SIZE)


def used(costs: Costs, case: Case) -> Run:
    """Return what a stack of a case uses that has these costs."""
    if case.shape == "chain":
        ended = passes(case.run_size)
        messages = case.size / sum(ended)
        checks = messages * len(ended)
        transactions = messages * (1 + len(ended) + sum(each > 1 for each in ended))
    else:
        messages, checks = case.size / case.batch_size, case.size
        transactions = 2 * messages
    links = case.size - checks
    required = sum(len(SHAPES[case.shape](number, case.size)) for number in range(case.size))
    return Run(
        begun=Used(
            client=costs.submit_stack + costs.submit * case.size + costs.submit_requirement * required,
            coordinator=costs.begin_stack + costs.begin * case.size + costs.begin_requirement * required,
            postgres=costs.rows_stack + costs.rows * case.size + costs.rows_requirement * required,
            redis=costs.broker / 2 * messages,
        ),
        checked=Used(
            worker=costs.dispatch * messages,
            children=(
                costs.message * messages
                + costs.transaction * transactions
                + costs.check * checks
                + costs.link * links
                + (costs.end_worker if case.stacks > 1 else 0)
            ),
            coordinator=costs.end_coordinator,
            postgres=(
                costs.postgres_transaction * transactions
                + costs.postgres_check * checks
                + costs.postgres_link * links
                + (costs.end_rows if case.stacks > 1 else 0)
            ),
            redis=costs.broker / 2 * messages,
        ),
        asked=Used(
            client=costs.ask + costs.ask_resource * case.size,
            postgres=costs.ask_postgres + costs.ask_resource_postgres * case.size,
        ),
        idle=Used(client=costs.idle / 2, redis=costs.idle / 2),
        commit=costs.commit,
    )


def test_costs_are_found_again_in_runs_that_have_them() -> None:
    """The end of a stack is found in small ones; in a large one, it is lost among all others."""
    names = [field.name for field in fields(Costs)]
    costs = Costs(**{name: 0.1 + number / 10 for number, name in enumerate(names)})
    found = divided({name: used(costs, case) for name, case in CASES.items()})
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


def test_what_idle_processes_use_is_left_to_nobody() -> None:
    idle = Installation(replace(ONE, idle=500), Machines(processors=1)).run("wide", 3200)
    busy = Installation(ONE, Machines(processors=1)).run("wide", 3200)
    # 25 ms in each pause of 50 ms, after those of others.
    assert idle.rate < 0.8 * busy.rate


def test_costs_are_read_as_they_were_kept(tmp_path: Path) -> None:
    file = tmp_path / "build" / "costs.json"
    with pytest.raises(FileNotFoundError, match=r"tests\.bench\.costs"):
        load(file)
    keep(ONE, file)
    assert load(file) == ONE
