"""What happens on a node unasked is heard of, and voids what is remembered: no more often than needed."""

import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.unit.workers.agent.agents import ToldCache, agent_of, ask, change, settings_of, spec
from tests.waiting import PATIENCE_SECONDS
from workers.agent.agent import Agent
from workers.agent.hypervisors.fake import Fake, FakeOptions
from workers.agent.watching import Watching


class HeardCache(ToldCache):
    """Lets a test wait for what is told, and hold it up."""

    def __init__(self) -> None:
        super().__init__()
        self.changed = threading.Condition()
        self.open = threading.Event()
        self.open.set()

    @contextmanager
    def mutating(
        self,
        node: str,
        operation_id: str,
        *,
        rpc: str = "change",
        affects: Collection[str] = (),
        flush: bool = False,
        deferred: bool = False,
    ) -> Iterator[None]:
        with self.changed:
            self.told.append(rpc)
            self.changed.notify_all()
        self.open.wait(PATIENCE_SECONDS)
        yield

    def wait_for(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.told) >= count, PATIENCE_SECONDS), self.told


@pytest.fixture
def cache() -> HeardCache:
    return HeardCache()


def test_process_that_ends_by_itself_is_heard_of(tmp_path: Path, cache: HeardCache) -> None:
    agent = Agent("n1", settings_of(tmp_path, hypervisors={"process": {}}), cache, directory=tmp_path / "n1")
    sleeping = [sys.executable, "-c", "import time; time.sleep(600)"]
    started = change(agent, "instance_start", hypervisor="process", spec=spec(command=sleeping))
    psutil.Process(int(started["id"])).kill()
    cache.wait_for(2)
    assert cache.told == ["instance_start", "unasked change"]
    assert ask(agent, "instance_look", hypervisor="process", name="web")["state"] != "running"
    change(agent, "instance_remove", hypervisor="process", name="web")
    agent.close()


def test_many_changes_while_the_store_is_away_are_told_once(cache: HeardCache) -> None:
    watching = Watching(cache, "n1")
    cache.open.clear()
    watching.changed("first")
    cache.wait_for(1)
    for _ in range(9):
        watching.changed("another")
    cache.open.set()
    cache.wait_for(2)
    watching.changed("much later")
    cache.wait_for(3)
    watching.close()
    assert cache.told == ["unasked change"] * 3


class Broken(Fake):
    def watch(self, changed: Callable[[str], None]) -> None:
        raise RuntimeError("no events here")


def test_hypervisor_that_cannot_be_watched_does_all_the_rest(tmp_path: Path, cache: HeardCache) -> None:
    Watching(cache, "n1").watch(Broken(FakeOptions(), tmp_path))
    agent = agent_of(tmp_path, cache)
    change(agent, "instance_start", hypervisor="fake", spec=spec())
    assert cache.told == ["instance_start"]
