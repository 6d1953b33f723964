"""A place for constraint caches of each kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services.servers import MemcachedServer, RedisServer
from tests.unit.cache.places import KINDS, SERVED, Place


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def place(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """An empty store of the parametrized kind; a server runs again afterwards."""
    if kind in SERVED:
        running: RedisServer | MemcachedServer = request.getfixturevalue(f"{kind}_server")
        running.flush()
        yield Place(kind, running.url)
        if not running.running:
            running.launch()
    elif kind == "file":
        yield Place(kind, str(tmp_path / "cache"))
    elif kind == "memory":
        yield Place(kind)
    else:
        yield Place(kind, arguments={"name": str(tmp_path)})


@pytest.fixture
def running(kind: str, request: pytest.FixtureRequest) -> RedisServer | MemcachedServer:
    """The server behind the place."""
    server: RedisServer | MemcachedServer = request.getfixturevalue(f"{kind}_server")
    return server
