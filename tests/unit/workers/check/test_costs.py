"""What a check costs, by counts: whoever makes it dearer must raise a number of these tables on purpose.

All is counted for one resource, in one real worker process, from the message to its acknowledgement, and with the
publishing of the first messages. ``python -m tests.bench.profile`` shows which layer each call is of.
"""

import functools
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import pytest

from tests.bench.layers import CALLS_OF, LAYERS
from tests.keys import others
from tests.services.servers import PostgresServer, RedisServer
from tests.unit.docs.pages import ROOT

Counted: TypeAlias = Mapping[str, Mapping[str, float]]
Count: TypeAlias = Callable[[str, str], Counted]

#: So many resources: five messages of independent ones; chains are carried on with for sixteen at a time.
SIZE: Final = 160
COLUMNS: Final = ("wide", "layers", "chain")
#: The most of each; the count itself, or a little more where it differs between runs.
POSTGRES: Final = {
    "statements": (0.20, 0.19, 0.20),
    "database_round_trips": (0.25, 0.17, 0.32),
    "database_bytes": (775, 905, 950),
    "messages": (0.032, 0.007, 0.013),
    "broker_round_trips": (0.29, 0.051, 0.09),
    "broker_bytes": (321, 65, 95),
    # Of Python 3.11, and of the kombu, redis-py and psycopg of today: a new version of one may need new bounds.
    "calls": (785, 760, 765),
}
SQLITE: Final = {
    "statements": (9.2, 9.1, 9.1),
    "messages": (0.032, 0.007, 0.013),
    "broker_round_trips": (0.29, 0.051, 0.09),
    "broker_bytes": (321, 65, 95),
    "calls": (787, 713, 820),
}
#: Of Python's objects: the most at any time, and what is there at the end and was not at the beginning.
MEMORY: Final = {
    # With what is garbage until the collector looks, which it does after 5000 new objects; of a chain, with the links
    # of a run, which are recorded together.
    "peak_bytes": (3500, 3500, 4450),
    "kept_bytes": (850, 1100, 1400),
}
#: A bound that is so far above its count guards nothing.
LOOSE: Final = 0.7


@pytest.fixture(scope="session")
def count(
    redis_server: RedisServer, postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Count:
    """Return a function that counts once, in a process of its own."""

    @functools.cache
    def counted(mode: str, store: str) -> Counted:
        file = tmp_path_factory.mktemp("costs") / "isotherm.db"
        environment = {
            **others(),
            "ISOTHERM_BROKER_URL": redis_server.empty_database(),
            "ISOTHERM_DATABASE_URL": postgres_server.create_database()
            if store == "postgres"
            else f"sqlite:///{file}",
            "ISOTHERM_LOG_LEVEL": "WARNING",
            # What is checked together does not depend on how busy the machine is.
            "ISOTHERM_QUICK_STEP_SECONDS": "1",
        }
        command = [sys.executable, "-m", "tests.bench.one_worker", mode, str(SIZE), *COLUMNS]
        done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found: Counted = json.loads(done.stdout.splitlines()[-1])
        return found

    return counted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "store", "bounds"),
    [("counts", "postgres", POSTGRES), ("counts", "sqlite", SQLITE), ("memory", "postgres", MEMORY)],
    ids=["postgres", "sqlite", "memory"],
)
def test_a_check_costs_what_the_table_says(
    count: Count, mode: str, store: str, bounds: Mapping[str, tuple[float, ...]]
) -> None:
    found = count(mode, store)
    cells = [
        (name, shape, round(found[shape][name], 3), bound)
        for name, row in bounds.items()
        for shape, bound in zip(COLUMNS, row, strict=True)
    ]
    assert [cell for cell in cells if cell[2] > cell[3]] == [], str(cells)
    assert [cell for cell in cells if cell[2] < LOOSE * cell[3]] == [], "lower these bounds"


@pytest.mark.slow
def test_calls_are_told_apart_by_layer(count: Count) -> None:
    for costs in count("counts", "postgres").values():
        reached = {name.removeprefix(CALLS_OF).strip() for name in costs if name.startswith(CALLS_OF)}
        assert {name for _, name in LAYERS.values()} - reached <= {"ledger"}
        assert costs["calls of claim"] < costs["calls"] / 2


def test_every_layer_is_one_of_a_file_that_exists() -> None:
    ours = [each for each in LAYERS if each.startswith(("orchestrator/", "workers/"))]
    assert len(ours) > 10
    for each in ours:
        path, _, function = each.partition(":")
        owner, _, name = function.partition(".")
        assert (ROOT / path).exists()
        assert not function or (f"class {owner}(" in (ROOT / path).read_text())
        assert not function or (f"    def {name}(" in (ROOT / path).read_text())
