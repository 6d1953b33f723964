"""Connections are few, and each belongs to one thread at a time."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import httpx
import pytest

from workers.clients.connections import Connections

LIMIT = 3


@pytest.fixture
def connections() -> Iterator[Connections]:
    connections = Connections(LIMIT, httpx.Client)
    yield connections
    connections.close()


def test_no_client_is_lent_twice_at_a_time(connections: Connections) -> None:
    lent: list[httpx.Client] = []
    lock = threading.Lock()

    def use(_: int) -> httpx.Client:
        with connections.one(patience_seconds=20) as client:
            with lock:
                assert client not in lent
                assert len(lent) < LIMIT
                lent.append(client)
            with lock:
                lent.remove(client)
            return client

    with ThreadPoolExecutor(4 * LIMIT) as pool:
        assert len(set(map(id, pool.map(use, range(500))))) <= LIMIT


def test_who_waits_in_vain_is_told(connections: Connections) -> None:
    with ExitStack() as taken:
        for _ in range(LIMIT):
            taken.enter_context(connections.one(patience_seconds=0))
        with pytest.raises(httpx.PoolTimeout, match="in use"), connections.one(patience_seconds=0):
            pass
    with connections.one(patience_seconds=0):
        pass


def test_the_last_one_used_is_the_next_also_after_a_failure(connections: Connections) -> None:
    with connections.one(patience_seconds=0), connections.one(patience_seconds=0) as second:
        pass
    with suppress(OSError), connections.one(patience_seconds=0) as first:
        assert first is not second
        raise OSError("no")
    with connections.one(patience_seconds=0) as again:
        assert again is first


def test_all_are_closed(connections: Connections) -> None:
    with connections.one(patience_seconds=0) as one, connections.one(patience_seconds=0) as two:
        pass
    connections.close()
    assert one.is_closed
    assert two.is_closed
