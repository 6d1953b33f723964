"""One explored database for the tests of a process."""

from collections.abc import Iterator

import pytest

from orchestrator.store.traversals import sweeping
from tests.explorer.ground import Ground
from tests.services.servers import PostgresServer


@pytest.fixture(scope="session")
def ground(postgres_server: PostgresServer) -> Iterator[Ground]:
    """The ground of explored operations."""
    ground = Ground(postgres_server)
    with ground.driver.listening(), pytest.MonkeyPatch.context() as patch:
        # Of several sweepers, each has something to do.
        patch.setattr(sweeping, "BATCH", 3)
        yield ground
    ground.close()
