"""Every world ends with its test."""

from collections.abc import Iterator

import pytest

from tests.scenarios.world import World


@pytest.fixture(autouse=True)
def worlds_end() -> Iterator[None]:
    """Close the stores that a test left open."""
    yield
    while World.open:
        World.open[-1].close()
