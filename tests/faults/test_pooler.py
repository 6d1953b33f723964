"""An installation behind PgBouncer in transaction mode: a worker is killed, and PgBouncer restarts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.model.messages import StackJob
from orchestrator.store import migrations
from tests.bench.shapes import SHAPES, template
from tests.faults.history import assert_made_once_and_in_order
from tests.faults.installation import PROCESSES, STACK, Installation
from tests.services.engine import running
from tests.services.pgbouncer import PgBouncerServer

pytestmark = pytest.mark.slow

SIZE = 400
#: The resource that waits for the faults.
LAST = f"r{SIZE - 1}"


@pytest.fixture
def installation(tmp_path: Path, redis_url: str, pgbouncer_url: str) -> Iterator[Installation]:
    """A coordinator and three workers that reach the database through PgBouncer alone."""
    migrations.upgrade(pgbouncer_url)
    installation = Installation(tmp_path, broker_url=redis_url, database_url=pgbouncer_url)
    engines = [installation.start(name) for name in PROCESSES]
    with installation.service, running(engines) as installation.engines:
        yield installation
        print(installation.log)


def test_stacks_are_made_changed_and_deleted_through_few_connections_that_break(
    installation: Installation, pgbouncer_server: PgBouncerServer, postgres_url: str
) -> None:
    stack_id = installation.create(template("layers", SIZE), held=LAST)
    installation.until_done(stack_id, SIZE // 10)
    installation.engine("w1").kill()
    installation.until_done(stack_id, SIZE // 4)
    pgbouncer_server.restart()
    installation.release(stack_id, LAST)
    with pgbouncer_server.postgres.connect() as connection:
        sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
        (found,) = connection.execute(sql, [postgres_url.rpartition("/")[2]]).fetchone() or (0,)
    assert 0 <= found <= pgbouncer_server.connections
    assert installation.ended(stack_id).state == "CREATE_COMPLETE"
    requires = {
        f"r{number}": [f"r{other}" for other in SHAPES["layers"](number, SIZE)] for number in range(SIZE)
    }
    assert_made_once_and_in_order(installation.events(stack_id), requires)
    installation.service.update(StackJob(name=STACK, template=template("layers", SIZE // 2)))
    assert installation.ended(stack_id).state == "UPDATE_COMPLETE"
    installation.service.delete(STACK)
    assert installation.ended(stack_id).state == "DELETE_COMPLETE"
