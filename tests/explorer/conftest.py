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
    with ground.driver.listening():
        yield ground
    ground.close()


# Undone after each test: others run in the same process meanwhile.
@pytest.fixture(autouse=True)
def short_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave something to do for each of several sweepers."""
    monkeypatch.setattr(sweeping, "BATCH", 3)
