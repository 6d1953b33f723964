"""What it costs to look at the sinks of many stacks: nothing for what happened to others."""

from collections.abc import Callable, Iterator

import pytest

from orchestrator.model.codec import Codec
from orchestrator.store import tables
from orchestrator.store.database import Database
from orchestrator.store.horizon import Horizon
from orchestrator.store.installation.sink_cursors import SinkCursors
from tests.drivers import driver_of

STACKS = 20


@pytest.fixture
def database() -> Iterator[Database]:
    database = Database("sqlite://")
    with database.write() as connection:
        tables.metadata.create_all(connection)
    yield database
    database.dispose()


def happen(database: Database, stacks: list[str]) -> None:
    rows = [
        {"at": 0.0, "stack_id": each, "traversal_id": "t", "action": "A", "status": "B"} for each in stacks
    ]
    with database.write() as connection:
        connection.execute(tables.event.insert(), rows)


def effort(database: Database, look: Callable[[], object]) -> int:
    """Return how many hundreds of instructions SQLite carries out for it."""
    steps = []
    # A database in memory has one connection.
    with driver_of(database) as driver:
        driver.set_progress_handler(lambda: steps.append(1), 100)
        look()
        driver.set_progress_handler(None, 0)
    return len(steps)


@pytest.mark.parametrize("look", ["all", "due", "bound"])
def test_what_happens_to_others_costs_the_sinks_of_quiet_stacks_nothing(
    database: Database, look: str
) -> None:
    cursors = SinkCursors(database, Codec(), Horizon(database))
    quiet = [f"s{number}" for number in range(STACKS)]
    happen(database, quiet)
    rows = [
        {"name": f"{each}:0", "stack_id": each, "type": "mail", "position": number, "created_at": 0}
        for number, each in enumerate(quiet, start=1)
    ]
    with database.write() as connection:
        connection.execute(tables.sink_cursor.insert(), rows)
    looks: dict[str, Callable[[], object]] = {
        "all": cursors.all,
        "due": lambda: cursors.due(["mail"], up_to=10**9, limit=16),
        "bound": lambda: cursors.bound(100),
    }
    looks[look]()
    before = effort(database, looks[look])
    happen(database, ["busy"] * 5000)
    assert effort(database, looks[look]) <= before + 20
