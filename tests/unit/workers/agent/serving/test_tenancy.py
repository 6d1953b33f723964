"""Holding a node's name: one agent for each, which says that it is there, and gives way when it is not the one."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cache.node_state.cache import NodeStateCache
from cache.node_state.errors import LeaseLost, StateStoreFailed
from cache.node_state.lease import Lease
from cache.node_state.memory_store import MemoryNodeStore
from cache.node_state.requests import MachineState, MachineStateRequest
from orchestrator.errors import Conflict, Unavailable
from tests.waiting import PATIENCE_SECONDS, until
from workers.agent.serving.tenancy import Tenancy


def nobody_asks(node: str, request: MachineStateRequest, seconds: float) -> MachineState:
    raise AssertionError(f"{node} was asked")


@pytest.fixture
def cache() -> NodeStateCache:
    return NodeStateCache(MemoryNodeStore(), nobody_asks)


def tenancy(
    cache: NodeStateCache,
    directory: Path,
    incarnation: str,
    on_lost: Callable[[LeaseLost], None] = lambda error: None,
) -> Tenancy:
    directory.mkdir(exist_ok=True)
    lease = Lease(node="n1", incarnation=incarnation, boot_id="b", holder=f"where {incarnation} is")
    return Tenancy(cache, lambda: lease, directory=directory, heartbeat_seconds=0.005, on_lost=on_lost)


def test_name_is_held_until_it_is_given_back(cache: NodeStateCache, tmp_path: Path) -> None:
    first, second = tenancy(cache, tmp_path / "1", "1"), tenancy(cache, tmp_path / "2", "2")
    first.take()
    with pytest.raises(Conflict, match="node 'n1' has an agent already: where 1 is"):
        second.take()
    first.leave()
    second.take()
    assert cache.leases()["n1"].incarnation == "2"


def test_one_process_serves_a_directory(cache: NodeStateCache, tmp_path: Path) -> None:
    first = tenancy(cache, tmp_path, "1")
    first.take()
    with pytest.raises(Conflict, match=f"on this machine already, in {tmp_path}"):
        tenancy(cache, tmp_path, "2").take()
    first.leave()


def test_dead_agent_of_the_same_directory_is_followed_at_once(cache: NodeStateCache, tmp_path: Path) -> None:
    dead = tenancy(cache, tmp_path, "1")
    dead.take()
    # What a process holds goes with it; what stands in the store stays.
    dead._held.close()
    tenancy(cache, tmp_path, "2").take()
    assert cache.leases()["n1"].incarnation == "2"


def test_living_agent_elsewhere_is_no_dead_one_of_here(cache: NodeStateCache, tmp_path: Path) -> None:
    mine = tenancy(cache, tmp_path / "1", "1")
    mine.take()
    mine.leave()
    tenancy(cache, tmp_path / "2", "2").take()
    with pytest.raises(Conflict, match="where 2 is"):
        tenancy(cache, tmp_path / "1", "3").take()
    assert cache.leases()["n1"].incarnation == "2"


def test_lost_lease_is_taken_again(cache: NodeStateCache, tmp_path: Path) -> None:
    mine = tenancy(cache, tmp_path, "1")
    mine.take()
    cache.store.forget("n1")
    mine.keep()
    until(cache.leases)
    mine.leave()
    assert not cache.leases()


def test_who_has_lost_the_name_to_another_is_told_so(cache: NodeStateCache, tmp_path: Path) -> None:
    lost: list[LeaseLost] = []
    told = threading.Event()

    def note(error: LeaseLost) -> None:
        lost.append(error)
        told.set()

    mine = tenancy(cache, tmp_path, "1", note)
    mine.take()
    cache.store.forget("n1")
    cache.acquire(Lease(node="n1", incarnation="2", boot_id="b", holder="elsewhere"))
    mine.keep()
    assert told.wait(PATIENCE_SECONDS)
    mine.leave()
    assert [str(error) for error in lost] == ["node 'n1' has another agent now: elsewhere"]
    assert cache.leases()["n1"].incarnation == "2", "it is not the loser's to give back"


class Failing(MemoryNodeStore):
    """A store that is away."""

    def acquire(
        self, node: str, incarnation: str, data: bytes, life_seconds: float, *, exclusive: bool = True
    ) -> bytes | None:
        raise StateStoreFailed("refused")


def test_agent_does_not_begin_while_nobody_knows_who_has_its_name(tmp_path: Path) -> None:
    cache = NodeStateCache(Failing(), nobody_asks)
    for _ in range(2):
        with pytest.raises(Unavailable, match="the node state cache does not answer: refused"):
            tenancy(cache, tmp_path, "1").take()


@pytest.mark.parametrize("trouble", ["raises", "hangs"])
def test_name_is_kept_whatever_befalls_who_says_what_the_node_has(
    cache: NodeStateCache, tmp_path: Path, trouble: str
) -> None:
    said = Lease(node="n1", incarnation="1", boot_id="b", holder="here")
    asked, go_on = threading.Semaphore(0), threading.Event()
    well = True

    def lease() -> Lease:
        if well:
            return said
        asked.release()
        if trouble == "hangs":
            go_on.wait(60)
        raise RuntimeError("a plugin of somebody's")

    mine = Tenancy(cache, lease, directory=tmp_path, heartbeat_seconds=0.005, on_lost=lambda error: None)
    mine.take()
    well = False
    mine.keep()
    assert asked.acquire(timeout=PATIENCE_SECONDS)
    cache.store.forget("n1")
    held = until(cache.leases)
    mine.leave()
    go_on.set()
    assert held == {"n1": said}
    assert not cache.leases()


def test_agent_that_died_before_it_wrote_down_who_it_is_is_followed_at_once(
    cache: NodeStateCache, tmp_path: Path
) -> None:
    class Killed(BaseException):
        pass

    class Dying(MemoryNodeStore):
        dies = True

        def acquire(self, *arguments: Any, **more: Any) -> bytes | None:
            holder = super().acquire(*arguments, **more)
            if self.dies:
                raise Killed
            return holder

    store = Dying()
    dead = tenancy(NodeStateCache(store, nobody_asks), tmp_path, "1")
    with pytest.raises(Killed):
        dead.take()
    dead._held.close()
    store.dies = False
    after = NodeStateCache(store, nobody_asks)
    tenancy(after, tmp_path, "2").take()
    assert after.leases()["n1"].incarnation == "2"
