"""What updates cost PostgreSQL, by its own statistics: those that change no index are HOT."""

import sqlalchemy as sa

from orchestrator.store import migrations
from orchestrator.store.database import Database
from orchestrator.store.store import Store
from tests.unit.orchestrator.store.conftest import Bench, FakeClock

RESOURCES = 400


def hot(database: Database, table: str) -> tuple[int, int]:
    """Return how many updates of a table's rows were HOT, and how many there were."""
    sql = "SELECT n_tup_hot_upd, n_tup_upd FROM pg_stat_user_tables WHERE relname = :table"
    with database.read() as connection:
        connection.execute(sa.text("SELECT pg_stat_force_next_flush()"))
    with database.read() as connection:
        some, all_of_them = connection.execute(sa.text(sql), {"table": table}).one()
    return some, all_of_them


def test_the_updates_of_resources_by_checks_change_no_index(postgres_url: str) -> None:
    migrations.upgrade(postgres_url)
    # One connection, so that its statistics are complete.
    clock = FakeClock()
    store = Store(Database(postgres_url, clock=clock, connections=1))
    bench = Bench(store, clock)
    for claim in [bench.claim(order) for order in bench.begin({f"r{no}": set() for no in range(RESOURCES)})]:
        bench.finish(claim)
    some, all_of_them = hot(store.database, "resource")
    assert all_of_them == 2 * RESOURCES
    assert some >= 0.98 * all_of_them
    store.close()
