"""Many who want to know the same at once, in one process and in several."""

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cache.node_state.cache import NodeStateCache
from cache.node_state.errors import NodeTimeout
from cache.node_state.file_store import FileNodeStore
from cache.node_state.redis_store import RedisNodeStore
from cache.node_state.store import NodeStateStore
from tests.unit.cache.node_state.worlds import DISKINFO, HV, Node, World, state_in
from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).parents[4]
READERS = 8


@pytest.fixture
def world(store: NodeStateStore) -> World:
    return World(store)


class Gate:
    """Holds up answers until it is opened, and tells when somebody stands before it."""

    def __init__(self) -> None:
        self.arrived, self.opened = threading.Semaphore(0), threading.Event()

    def __call__(self) -> None:
        self.arrived.release()
        assert self.opened.wait(PATIENCE_SECONDS)


def test_readers_after_a_flush_ask_once_for_all(opened: Callable[[], NodeStateStore]) -> None:
    world = World(opened())
    # Half of them in one process, half in processes of their own.
    others = [world.another(opened()) for _ in range(READERS // 2)]
    world.cache.machine_state("n1")
    world.cache.flush("test")
    gate = world.node.meanwhile = Gate()
    with ThreadPoolExecutor(READERS) as pool:
        answers = [
            pool.submit(cache.machine_state, "n1", HV) for cache in [world.cache] * (READERS // 2) + others
        ]
        assert gate.arrived.acquire(timeout=PATIENCE_SECONDS)
        gate.opened.set()
        assert {state_in(answer.result()) for answer in answers} == {0}
    assert len(world.node.asked) == 2


def test_who_comes_after_a_change_does_not_join_who_asked_before(world: World) -> None:
    gate = world.node.meanwhile = Gate()
    with ThreadPoolExecutor(2) as pool:
        early = pool.submit(world.cache.machine_state, "n1", HV)
        assert gate.arrived.acquire(timeout=PATIENCE_SECONDS)
        with world.cache.mutating("n1", "op"):
            world.node.state = 1
        late = pool.submit(world.cache.machine_state, "n1", HV)
        assert gate.arrived.acquire(timeout=PATIENCE_SECONDS)
        gate.opened.set()
        assert (state_in(early.result()), state_in(late.result())) == (0, 1)
    assert state_in(world.cache.machine_state("n1", HV)) == 1


def test_who_wants_something_else_is_told_that(store: NodeStateStore) -> None:
    world = World(store, fill_full=False)
    gate = world.node.meanwhile = Gate()
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(world.cache.machine_state, "n1", HV)
        assert gate.arrived.acquire(timeout=PATIENCE_SECONDS)
        other = pool.submit(world.cache.machine_state, "n1", DISKINFO)
        gate.opened.set()
        assert one.result().sections.keys() != other.result().sections.keys()


def test_all_who_wait_learn_that_a_node_does_not_answer(world: World) -> None:
    world.node.error = NodeTimeout("n1", "no answer")
    another = world.another()
    gate = world.node.meanwhile = Gate()
    with ThreadPoolExecutor(3) as pool:
        answers = [pool.submit(cache.machine_state, "n1") for cache in (world.cache, world.cache, another)]
        assert gate.arrived.acquire(timeout=PATIENCE_SECONDS)
        gate.opened.set()
        for answer in answers:
            with pytest.raises(NodeTimeout, match="no answer"):
                answer.result()
    assert len(world.node.asked) == 1


def test_one_who_asks_for_too_long_is_not_waited_for(store: NodeStateStore) -> None:
    world = World(store)
    gate = world.node.meanwhile = Gate()
    # It waits as long as an answer may take, and a second.
    hasty = world.another(rpc_timeout_seconds=-0.9)
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(world.cache.machine_state, "n1")
        assert gate.arrived.acquire(timeout=PATIENCE_SECONDS)
        fast = pool.submit(hasty.machine_state, "n1")
        assert gate.arrived.acquire(timeout=PATIENCE_SECONDS)
        gate.opened.set()
        assert not fast.result().cached
        assert slow.result()
    assert len(world.node.asked) == 2


def test_many_nodes_are_asked_at_the_same_time(store: NodeStateStore) -> None:
    nodes = [Node(f"n{number}") for number in range(5)]
    world = World(store, *nodes)
    together = threading.Barrier(len(nodes))

    def meet() -> None:
        together.wait(PATIENCE_SECONDS)

    for node in nodes:
        node.meanwhile = meet
    assert list(world.cache.machine_states(world.nodes)) == list(world.nodes)


def test_a_flush_in_one_process_is_heeded_in_another(tmp_path: Path, redis_url: str) -> None:
    command = [sys.executable, "-m", "tests.unit.cache.node_state.neighbour", str(tmp_path), redis_url]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def neighbour(line: str) -> str:
            assert process.stdin
            assert process.stdout
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            return process.stdout.readline().strip()

        for number, store in enumerate(
            (
                FileNodeStore(tmp_path, timeout_seconds=PATIENCE_SECONDS),
                RedisNodeStore(redis_url, timeout_seconds=PATIENCE_SECONDS),
            )
        ):
            cache: NodeStateCache = World(store).cache
            cache.machine_state("n1")
            assert neighbour(f"look {number}") == "true"
            cache.flush("test")
            assert neighbour(f"look {number}") == "false"
            assert cache.machine_state("n1").cached
            neighbour(f"flush {number}")
            assert not cache.machine_state("n1").cached
        assert process.stdin
        process.stdin.close()
