"""A store of what nodes said of each kind, by a clock that stands still until it is moved."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cache.node_state.file_store import FileNodeStore
from cache.node_state.memory_store import MemoryNodeStore
from cache.node_state.redis_store import RedisNodeStore
from cache.node_state.store import NodeStateStore
from tests.unit.cache.node_state.worlds import Clock
from tests.waiting import PATIENCE_SECONDS

KINDS = ("memory", "file", "redis")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=KINDS)
def opened(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Callable[[], NodeStateStore]:
    """Opens one and the same store, each time as a process of its own would; memory only ever once."""
    kind: str = request.param
    if kind == "memory":
        store = MemoryNodeStore(clock)
        return lambda: store
    if kind == "file":
        return lambda: FileNodeStore(tmp_path / "states", clock, timeout_seconds=PATIENCE_SECONDS)
    url = request.getfixturevalue("redis_url")
    return lambda: RedisNodeStore(url, clock=clock, timeout_seconds=PATIENCE_SECONDS)


@pytest.fixture
def store(opened: Callable[[], NodeStateStore]) -> NodeStateStore:
    return opened()
