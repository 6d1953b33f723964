"""What changes on a node unasked is void as soon as a hypervisor tells."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cache.node_state.errors import StateStoreFailed
from workers.agent.hypervisors.fake import Fake, FakeOptions
from workers.agent.hypervisors.hypervisor import Hypervisor, HypervisorFault, InstanceSpec
from workers.agent.hypervisors.process import ProcessHypervisor, ProcessOptions
from workers.agent.serving import watching
from workers.agent.serving.watching import Watching

PATIENCE_SECONDS = 30.0


class Telling(Fake):
    """Tells what tests say."""

    tell: Callable[[str], None]
    ended = False

    def watch(self, changed: Callable[[str], None]) -> Callable[[], None]:
        self.tell = changed
        return self.end

    def end(self) -> None:
        self.ended = True


class Failing(Fake):
    """Cannot even begin to tell."""

    def watch(self, changed: Callable[[str], None]) -> Callable[[], None]:
        raise HypervisorFault("no events")


class Bumps:
    """Counts bumps; the first so many fail."""

    def __init__(self, failures: int = 0) -> None:
        self._failures, self.count = failures, threading.Semaphore(0)

    def __call__(self) -> None:
        if self._failures > 0:
            self._failures -= 1
            raise StateStoreFailed("out of reach")
        self.count.release()

    def came(self) -> bool:
        return self.count.acquire(timeout=PATIENCE_SECONDS)


def test_an_instance_that_ends_unasked_makes_the_node_void(tmp_path: Path) -> None:
    hypervisor, bumps = ProcessHypervisor(ProcessOptions(), tmp_path), Bumps()
    watch = Watching({"process": hypervisor}, bumps)
    watch.start()
    started = hypervisor.start(InstanceSpec(name="web", memory_mib=16, command=["sleep", "1000"]))
    try:
        assert not bumps.count.acquire(blocking=False)
        os.kill(int(started.id), signal.SIGKILL)
        assert bumps.came()
    finally:
        watch.close()
        hypervisor.remove("web")


def test_it_is_said_until_somebody_has_heard_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_AGAIN_SECONDS", 0.01)
    hypervisor, bumps = Telling(FakeOptions(), tmp_path), Bumps(failures=3)
    watch = Watching({"telling": hypervisor}, bumps)
    watch.start()
    hypervisor.tell("it moved")
    assert bumps.came()
    watch.close()
    assert hypervisor.ended


def test_one_that_cannot_tell_keeps_no_other_from_it(tmp_path: Path) -> None:
    telling, bumps = Telling(FakeOptions(), tmp_path), Bumps()
    hypervisors: dict[str, Hypervisor] = {
        "failing": Failing(FakeOptions(), tmp_path),
        "mute": Fake(FakeOptions(), tmp_path),
        "telling": telling,
    }
    watch = Watching(hypervisors, bumps)
    watch.start()
    telling.tell("it moved")
    assert bumps.came()
    watch.close()
    telling.tell("nobody listens")
    assert not bumps.count.acquire(blocking=False)
