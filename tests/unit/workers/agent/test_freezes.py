"""Agents that stand still in the middle of a change while a successor acts: nothing is there twice, nothing is left.

What there is is counted outside: processes by what they run, volumes and files by what the disk holds.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import psutil

from cache.node_state.cache import NodeStateCache
from cache.node_state.file_store import FileNodeStore
from cache.node_state.requests import MachineState, MachineStateRequest
from orchestrator.nodes.rpc.messages import Request
from tests.thoroughness import some_of
from tests.unit.workers.agent.agents import request_of, settings_of, spec, told
from tests.unit.workers.agent.freezing import frozen_after
from tests.unit.workers.agent.killing import in_a_small_process
from tests.waiting import PATIENCE_SECONDS, until
from workers.agent.agent import Agent
from workers.agent.serving.presence import Presence
from workers.agent.serving.tenancy import Tenancy

#: The lease of an agent that is not ended: soon over where it stands still. One that is merely slow may lose it too,
#: and must do no harm either.
SHORT_SECONDS = 1.0
#: That of all others, which is over for no other reason.
LONG_SECONDS = 3600.0
#: Every so many lines one freeze; a prime, so that it meets the lines of loops at different places.
STRIDE = 101


def fails(node: str, request: MachineStateRequest, seconds: float) -> MachineState:
    raise AssertionError(f"{node} was asked")


@dataclass
class Place:
    """A machine on which agents of one node come one after the other."""

    directory: Path
    #: Whether the successor has the directory of the agent before it, and ends it.
    same_directory: bool
    evicts: bool = True
    agents: list[tuple[Agent, Tenancy]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pid = os.getpid()
        self.directory.mkdir()
        (self.directory / "volumes").mkdir()
        # Nobody else sleeps so long, and no other test for this long.
        self.seconds = f"86400{os.getpid()}.{abs(hash(self.directory)) % 10**9}"
        storage = {"disk": {"type": "file", "directory": str(self.directory / "volumes")}}
        allowed = {"commands": ["*"], "run_as": "root"}
        given = settings_of(self.directory, hypervisors={"process": {}}, storage=storage, **allowed)
        self.settings = given.with_values(broker_url=f"redis://nowhere/{self.directory}")

    @property
    def row(self) -> str:
        return f"row-{self.seconds}"

    @property
    def files(self) -> Path:
        return self.directory / "files"

    @property
    def command(self) -> list[str]:
        return ["/bin/sleep", self.seconds]

    def cache(self, lease_seconds: float = LONG_SECONDS) -> NodeStateCache:
        return NodeStateCache(
            FileNodeStore(self.directory / "cache", timeout_seconds=PATIENCE_SECONDS),
            fails,
            lease_seconds=lease_seconds,
        )

    def begin(self, name: str) -> Agent:
        """Have an agent begin as ``isotherm agent`` does: the ``first``, or another."""
        lease_seconds = SHORT_SECONDS if name == "first" and not self.evicts else LONG_SECONDS
        own = self.directory / ("state" if self.same_directory else f"state-{name}")
        settings = self.settings.with_values(state_directory=own)
        cache = self.cache(lease_seconds)
        agent = Agent("n1", settings, cache, directory=own / "n1")
        tenancy = Tenancy(
            cache,
            agent.lease,
            directory=agent.directory,
            heartbeat_seconds=lease_seconds / 5,
            on_lost=lambda error: None,
            presence=Presence("n1", agent.scope, patience_seconds=60.0) if self.evicts else None,
        )
        agent.stand_behind(tenancy.fence)
        tenancy.take()
        tenancy.keep()
        agent.recover()
        self.agents.append((agent, tenancy))
        return agent

    def let_lease_run_out(self) -> None:
        """Return when no agent holds the lease; an agent that will be ended need not be waited for."""
        cache = self.cache()
        if self.evicts and (lease := cache.lease("n1")) is not None:
            cache.store.withdraw("n1", lease.incarnation)
        until(lambda: not cache.leases())

    def end(self) -> None:
        """End the agents of this process, and what a failed test has left."""
        for agent, tenancy in self.agents:
            tenancy.leave()
            agent.close()
        if os.getpid() == self.pid:
            for process in self.commands():
                process.kill()

    def commands(self) -> list[psutil.Process]:
        # What it tells of each is of one moment: a process may end while others are looked at.
        return [
            each
            for each in psutil.process_iter(["cmdline", "status"])
            if each.info["cmdline"] == self.command and each.info["status"] != psutil.STATUS_ZOMBIE
        ]

    def running(self) -> int:
        """How many commands run."""
        return len(self.commands())

    def on_disk(self, part: str) -> list[str]:
        """What is in a directory, hidden files too."""
        return sorted(each.name for each in (self.directory / part).iterdir())

    def instance(self) -> dict[str, Any]:
        return {"hypervisor": "process", "spec": spec(memory_mib=16, command=self.command)}


Steps = Callable[[Place], Sequence[Request]]


def freeze_everywhere(
    place_of: Callable[[int], Place],
    before: Steps,
    change: Steps,
    after: Callable[[Place], None],
    *,
    undo: Steps,
    stride: int = STRIDE,
) -> int:
    """Freeze an agent after each so many lines of a change, have a successor carry it out, and thaw the first.

    ``after`` looks at what there is then; ``undo`` must leave nothing. An ordinary run freezes at one such line of two.
    Returns how many such lines there are, or one more.
    """
    for freezes in some_of(range(1000), 2):
        place = place_of(freezes)
        try:
            if not freeze_once(place, freezes * stride + 1, before, change, after, undo):
                return freezes
        finally:
            place.end()
    raise AssertionError("it never ended")


def succeeds(agent: Agent, request: Request) -> bool:
    """Send a change anew, and return whether it has succeeded: an agent may lose a short lease in between."""
    return agent.carry_out(replace(request, id=uuid4().hex)).error is None


def freeze_once(
    place: Place, lines: int, before: Steps, change: Steps, after: Callable[[Place], None], undo: Steps
) -> bool:
    """Freeze an agent after so many lines; return whether it had that many."""
    # All made in this process, so that no two requests have the same id.
    made, changed = before(place), change(place)
    first: list[Agent] = []

    def begin() -> None:
        first.append(place.begin("first"))
        for request in made:
            until(partial(succeeds, first[0], request))

    def step() -> None:
        for request in changed:
            first[0].carry_out(request)

    frozen = frozen_after(lines, begin, step, stays=place.end)
    try:
        place.let_lease_run_out()
        second = place.begin("second")
        for request in changed:
            told(second.carry_out(request))
    finally:
        if frozen is not None:
            frozen.thaw()
    after(place)
    for request in undo(place):
        told(second.carry_out(request))
    none_runs(place)
    assert (place.on_disk("volumes"), place.on_disk("files")) == ([], []), lines
    return frozen is not None


def nothing(_place: Place) -> Sequence[Request]:
    return ()


def start(place: Place) -> Sequence[Request]:
    return [request_of("instance_start", **place.instance())]


def reboot(_place: Place) -> Sequence[Request]:
    return [request_of("instance_reboot", hypervisor="process", name="web")]


def remove(_place: Place) -> Sequence[Request]:
    return [request_of("instance_remove", hypervisor="process", name="web")]


def one_runs(place: Place) -> None:
    assert place.running() == 1


def none_runs(place: Place) -> None:
    # A killed process takes a moment to be gone, which its kill does not wait for.
    until(lambda: place.running() == 0)


def volume(rpc: str, size_mib: int = 0) -> Steps:
    size: dict[str, Any] = {"size_mib": size_mib} if size_mib else {}
    return lambda _: [request_of(rpc, storage="disk", name="data", **size)]


def volume_of(size_mib: int) -> Callable[[Place], None]:
    def check(place: Place) -> None:
        assert place.on_disk("volumes") == ["data.raw"]
        assert (place.directory / "volumes" / "data.raw").stat().st_size == size_mib * 1024 * 1024

    return check


OWNER: Final = {"uuid": "file-row", "stack": "s", "resource": "r"}


def put(content: bytes, *, new: bool) -> Steps:
    def requests(place: Place) -> Sequence[Request]:
        path = str(place.files / "a")
        return [request_of("file_put", owner=OWNER, path=path, content=content, mode=0o600, new=new)]

    return requests


def remove_file(place: Place) -> Sequence[Request]:
    return [request_of("file_remove", owner=OWNER, path=str(place.files / "a"), content=b"two")]


def file_of(content: bytes) -> Callable[[Place], None]:
    def check(place: Place) -> None:
        assert place.on_disk("files") == ["a"]
        assert (place.files / "a").read_bytes() == content

    return check


def no_remains(place: Place) -> None:
    assert (place.on_disk("volumes"), place.on_disk("files")) == ([], [])


def run(place: Place) -> Sequence[Request]:
    probe = {"when": "running", "host": "", "port": 0, "page": "", "secure": False, "status": 200}
    given: dict[str, Any] = {"run": "r1", "argv": place.command, "cwd": "", "env": {}, "probe": probe}
    return [request_of("process_start", uuid=place.row, **given)]


def kill(place: Place) -> Sequence[Request]:
    return [request_of("process_kill", uuid=place.row)]


def places(
    directory: Path, name: str, *, same_directory: bool, evicts: bool = True
) -> Callable[[int], Place]:
    (directory / name).mkdir()
    return lambda number: Place(directory / name / str(number), same_directory, evicts)


@in_a_small_process
def test_agent_frozen_in_a_change_of_an_instance_is_followed_in_its_directory(tmp_path: Path) -> None:
    for name, before, change, after in (
        ("start", nothing, start, one_runs),
        ("reboot", start, reboot, one_runs),
        ("remove", start, remove, none_runs),
    ):
        place_of = places(tmp_path, name, same_directory=True)
        assert freeze_everywhere(place_of, before, change, after, undo=remove) >= 3, name


@in_a_small_process
def test_agent_frozen_in_a_change_of_an_instance_is_followed_from_another_directory(tmp_path: Path) -> None:
    for name, before, change, after in (
        ("start", nothing, start, one_runs),
        ("remove", start, remove, none_runs),
    ):
        place_of = places(tmp_path, name, same_directory=False)
        assert freeze_everywhere(place_of, before, change, after, undo=remove) >= 3, name


@in_a_small_process
def test_agent_that_cannot_be_ended_has_no_effect_once_it_goes_on(tmp_path: Path) -> None:
    for name, before, change, after in (
        ("start", nothing, start, one_runs),
        ("remove", start, remove, none_runs),
    ):
        place_of = places(tmp_path, name, same_directory=False, evicts=False)
        assert freeze_everywhere(place_of, before, change, after, undo=remove) >= 3, name


@in_a_small_process
def test_agent_frozen_in_a_change_of_a_volume_or_a_file_is_followed(tmp_path: Path) -> None:
    discard, gone = volume("storage_remove"), no_remains
    one, two = volume("storage_create", 1), volume("storage_grow", 2)
    old, new, edited = put(b"one", new=True), put(b"two", new=True), put(b"two", new=False)
    for name, before, change, after, undo, same in (
        ("create", nothing, one, volume_of(1), discard, True),
        ("create-elsewhere", nothing, one, volume_of(1), discard, False),
        ("grow", one, two, volume_of(2), discard, True),
        ("discard", one, discard, gone, discard, True),
        ("put", nothing, new, file_of(b"two"), remove_file, True),
        ("put-elsewhere", nothing, new, file_of(b"two"), remove_file, False),
        ("edit", old, edited, file_of(b"two"), remove_file, True),
        ("erase", new, remove_file, gone, remove_file, True),
    ):
        place_of = places(tmp_path, name, same_directory=same)
        assert freeze_everywhere(place_of, before, change, after, undo=undo, stride=67) >= 2, name


@in_a_small_process
def test_agent_frozen_in_a_change_of_a_process_is_followed(tmp_path: Path) -> None:
    for name, before, change, after, same in (
        ("run", nothing, run, one_runs, True),
        ("run-elsewhere", nothing, run, one_runs, False),
        ("kill", run, kill, none_runs, True),
    ):
        place_of = places(tmp_path, name, same_directory=same)
        assert freeze_everywhere(place_of, before, change, after, undo=kill) >= 1, name
