"""Who reads goes on without a store that fails; who changes something does not, and owes nothing in the end."""

import fcntl
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from cache.node_state.cache import NodeStateCache
from cache.node_state.errors import StateStoreFailed
from cache.node_state.file_store import FileNodeStore
from cache.node_state.memory_store import MemoryNodeStore
from cache.node_state.redis_store import RedisNodeStore, StoreMisconfigured
from cache.node_state.store import TIMEOUT_SECONDS, NodeStateStore
from orchestrator.config.nodes import NodeStateCacheSettings
from tests.services.servers import RedisServer
from tests.unit.cache.node_state.worlds import World, state_in
from tests.waiting import PATIENCE_SECONDS


class Flaky:
    """A store in memory that fails when told to."""

    def __init__(self) -> None:
        self.store = MemoryNodeStore()
        self.fails = False
        self.failed = threading.Semaphore(0)
        self.written = threading.Semaphore(0)

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            if self.fails and name != "close":
                self.failed.release()
                raise StateStoreFailed("it is down")
            answer = getattr(self.store, name)(*arguments, **named)
            if name == "unmark":
                self.written.release()
            return answer

        return call


@pytest.fixture
def flaky() -> Flaky:
    return Flaky()


@pytest.fixture
def world(flaky: Flaky) -> Iterator[World]:
    world = World(cast("NodeStateStore", flaky))
    yield world
    world.cache.close()


def test_who_reads_asks_the_node_and_leaves_the_store_alone_for_a_while(world: World, flaky: Flaky) -> None:
    world.cache.machine_state("n1")
    flaky.fails = True
    world.node.state = 1
    for _ in range(3):
        assert state_in(world.cache.machine_state("n1")) == 1
    assert world.cache.counters.errors == 1
    assert world.cache.counters.misses == {"absent": 1, "store": 3}


def test_a_store_that_fails_while_a_node_answers_loses_nothing_but_the_answer(
    world: World, flaky: Flaky
) -> None:
    def fail() -> None:
        flaky.fails = True

    world.node.meanwhile = fail
    assert state_in(world.cache.machine_state("n1")) == 0


def test_many_nodes_are_asked_without_a_store(world: World, flaky: Flaky) -> None:
    flaky.fails = True
    assert state_in(cast("Any", world.cache.machine_states(["n1"])["n1"])) == 0


def test_force_without_a_store_asks_all_the_same(world: World, flaky: Flaky) -> None:
    flaky.fails = True
    assert not world.cache.machine_state("n1", force=True).cached


def test_a_bump_that_is_not_written_is_an_error(world: World, flaky: Flaky) -> None:
    flaky.fails = True
    for change in (lambda: world.cache.bump("n1", "x"), lambda: world.cache.flush("x"), world.cache.leases):
        with pytest.raises(StateStoreFailed):
            change()


def test_a_change_does_not_begin_before_it_is_announced(world: World, flaky: Flaky) -> None:
    flaky.fails = True
    with pytest.raises(StateStoreFailed), world.cache.mutating("n1", "op", patience_seconds=0):
        pytest.fail("it began")


def test_a_change_begins_as_soon_as_it_can_be_announced(world: World, flaky: Flaky) -> None:
    begun = threading.Event()

    def change() -> None:
        with world.cache.mutating("n1", "op"):
            begun.set()

    flaky.fails = True
    thread = threading.Thread(target=change)
    thread.start()
    for _ in range(2):
        assert flaky.failed.acquire(timeout=PATIENCE_SECONDS)
    assert not begun.is_set()
    flaky.fails = False
    thread.join(PATIENCE_SECONDS)
    assert begun.is_set()
    assert not world.cache.dirty("n1")


@pytest.mark.parametrize("end", ["close", "stop_waiting"])
def test_a_change_that_waits_ends_with_the_cache(world: World, flaky: Flaky, end: str) -> None:
    raised: list[BaseException] = []

    def change() -> None:
        try:
            with world.cache.mutating("n1", "op"):
                pytest.fail("it began")
        except StateStoreFailed as error:
            raised.append(error)

    flaky.fails = True
    thread = threading.Thread(target=change)
    thread.start()
    assert flaky.failed.acquire(timeout=PATIENCE_SECONDS)
    getattr(world.cache, end)()
    thread.join(PATIENCE_SECONDS)
    assert len(raised) == 1
    # What need not wait goes on.
    flaky.fails = False
    with world.cache.mutating("n1", "op"):
        pass


def test_an_end_that_could_not_be_announced_is_later_and_nothing_is_served_until_then(
    world: World, flaky: Flaky
) -> None:
    world.cache.machine_state("n1")
    with world.cache.mutating("n1", "op"):
        world.node.state = 1
        flaky.fails = True
    # Another process has no trouble with the store.
    assert NodeStateCache(flaky.store, world._fetch).dirty("n1")
    # The first was at the beginning, when the node's agent took its lease.
    assert flaky.written.acquire(timeout=PATIENCE_SECONDS)
    flaky.fails = False
    assert flaky.written.acquire(timeout=PATIENCE_SECONDS)
    assert not flaky.store.look(["n1"])[0].dirty
    assert state_in(NodeStateCache(flaky.store, world._fetch).machine_state("n1")) == 1


def test_an_end_that_is_owed_when_all_ends_is_announced_then(world: World, flaky: Flaky) -> None:
    with world.cache.mutating("n1", "op"):
        flaky.fails = True
    flaky.fails = False
    world.cache.close()
    assert not flaky.store.look(["n1"])[0].dirty


def test_a_server_that_hangs_costs_a_moment() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = RedisNodeStore(f"redis://:secret@127.0.0.1:{silent.getsockname()[1]}/0", timeout_seconds=0.1)
        with pytest.raises(StateStoreFailed) as failed:
            store.look(["n1"])
        assert "secret" not in str(failed.value)
        # Its own library would connect again and again.
        silent.setblocking(False)
        silent.accept()
        with pytest.raises(BlockingIOError):
            silent.accept()


def test_a_busy_server_is_waited_for_but_no_lease_is_lost_over_it() -> None:
    # A heartbeat that waits in vain leaves time for two more.
    numbers = NodeStateCacheSettings()
    assert 2 * (numbers.heartbeat_seconds + TIMEOUT_SECONDS) < numbers.lease_seconds


def test_a_server_that_was_restarted_empty_serves_nothing_old(redis_server: RedisServer) -> None:
    world = World(RedisNodeStore(redis_server.url, timeout_seconds=PATIENCE_SECONDS))
    world.cache.machine_state("n1")

    def restart() -> None:
        world.node.meanwhile = lambda: None
        redis_server.restart()
        # Others have begun anew by then.
        World(
            RedisNodeStore(redis_server.url, timeout_seconds=PATIENCE_SECONDS), world.node
        ).cache.machine_state("n1")
        world.node.state = 1
        world.cache.bump("n1", "change")

    world.node.meanwhile = restart
    world.cache.machine_state("n1", force=True)
    assert world.cache.counters.refused == 1
    assert state_in(world.cache.machine_state("n1")) == 1
    assert world.cache.counters.errors == 0


def test_a_server_that_went_back_to_what_it_knew_serves_nothing_old(redis_server: RedisServer) -> None:
    world = World(RedisNodeStore(redis_server.url, timeout_seconds=PATIENCE_SECONDS))
    world.cache.machine_state("n1")
    with redis_server.client() as client:
        saved = {key: client.dump(key) for key in client.keys("{nsc}*")}
        world.node.state = 1
        world.cache.bump("n1", "change")
        # As from its last file, or as another that had not heard of the bump.
        redis_server.restart()
        for key, value in saved.items():
            client.restore(key, 0, value)
    assert state_in(world.cache.machine_state("n1")) == 1
    assert (
        state_in(
            World.another(
                world, RedisNodeStore(redis_server.url, timeout_seconds=PATIENCE_SECONDS)
            ).machine_state("n1")
        )
        == 1
    )
    assert world.cache.counters.errors == 0


def test_what_others_have_written_into_files_is_nothing(tmp_path: Path) -> None:
    world = World(FileNodeStore(tmp_path, timeout_seconds=PATIENCE_SECONDS))
    world.cache.machine_state("n1")
    for file in tmp_path.iterdir():
        file.write_bytes(b"\xc1 nonsense")
    world.cache.acquire(world.node.lease())
    assert not world.cache.machine_state("n1").cached
    assert world.cache.machine_state("n1").cached


def test_a_directory_that_cannot_be_used_is_a_store_that_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = FileNodeStore(tmp_path / "file")
    for ask in (
        lambda: store.look(["n1"]),
        lambda: store.bump("n1"),
        lambda: store.begin_fill("n1", "me", 1),
    ):
        with pytest.raises(StateStoreFailed, match="cannot be used"):
            ask()


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    FileNodeStore(tmp_path / "states", timeout_seconds=PATIENCE_SECONDS).bump("n1")
    assert (tmp_path / "states").stat().st_mode & 0o077 == 0


def test_who_holds_the_lock_for_too_long_is_not_waited_for(tmp_path: Path) -> None:
    store = FileNodeStore(tmp_path, timeout_seconds=0.05)
    store.bump("n1")
    lock = os.open(tmp_path / "lock", os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert store.look(["n1"])
        with pytest.raises(StateStoreFailed, match="in use"):
            store.bump("n1")
    finally:
        os.close(lock)


def test_what_is_no_redis_is_refused() -> None:
    with pytest.raises(StoreMisconfigured, match=r"amqp://\*\*\*@host"):
        RedisNodeStore("amqp://user:secret@host")
