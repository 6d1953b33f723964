"""An installation for each test: nothing of an earlier fault is left."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.store import migrations
from tests.faults.installation import PROCESSES, Installation
from tests.services.engine import running


@pytest.fixture
def installation(tmp_path: Path, redis_url: str, postgres_url: str) -> Iterator[Installation]:
    """A coordinator and three workers that take work."""
    migrations.upgrade(postgres_url)
    installation = Installation(tmp_path, broker_url=redis_url, database_url=postgres_url)
    with (
        installation.service,
        running([installation.start(name) for name in PROCESSES]) as installation.engines,
    ):
        yield installation
        # Shown where a test failed.
        print(installation.log)
