"""A machine for tests of node resources: its settings, a clock that only tests move, its resources."""

import functools
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import psutil

from orchestrator.config.settings import Settings
from orchestrator.definition import StackDefinition
from orchestrator.plugins.properties import convert_properties
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import PropertyChanges, ResourceState, Wait
from tests.unit.workers.resources.nodes.direct import DirectNodes, clients_of
from tests.waiting import PATIENCE_SECONDS
from workers.agent.commands.launcher import MARKER
from workers.resources.nodes.file import NodeFile
from workers.resources.nodes.instance import NodeInstance
from workers.resources.nodes.process import NodeProcess
from workers.resources.nodes.volume import NodeVolume

R = TypeVar("R", bound=Resource)


@functools.cache
def _settings() -> Settings:
    """Return the settings that all machines have: to look for them in all places takes as long as to write a file."""
    return Settings()


@dataclass
class Machine:
    """Builds a fresh resource object for each step, as workers do; ``wait`` moves the clock."""

    settings: Settings
    now: float = 1_000_000.0
    nodes: DirectNodes = field(init=False)
    stack: StackDefinition = field(default_factory=lambda: StackDefinition(name="site", id="stack-1"))

    def __post_init__(self) -> None:
        self.nodes = DirectNodes(self.settings)

    @classmethod
    def at(cls, directory: Path) -> "Machine":
        """Return a machine whose allowed directory and records are in ``directory``."""
        files = directory / "files"
        files.mkdir(parents=True)
        own = {"state_directory": directory / "state", "node_directories": (files,)}
        return cls(_settings().with_values(**own))

    @property
    def files(self) -> Path:
        """The allowed directory."""
        return self.settings.allowed_directories[0]

    @property
    def records(self) -> Path:
        """Where node resources keep what they write down."""
        return self.settings.state_directory / "nodes"

    def file(self, state: ResourceState, *, name: str = "page", **properties: Any) -> NodeFile:
        """Build a file resource."""
        return self._build(NodeFile, state, name, properties)

    def process(self, state: ResourceState, *, name: str = "server", **properties: Any) -> NodeProcess:
        """Build a process resource."""
        return self._build(NodeProcess, state, name, properties)

    def instance(self, state: ResourceState, *, name: str = "box", **properties: Any) -> NodeInstance:
        """Build an instance resource."""
        return self._build(NodeInstance, state, name, properties)

    def volume(self, state: ResourceState, *, name: str = "data", **properties: Any) -> NodeVolume:
        """Build a volume resource."""
        return self._build(NodeVolume, state, name, properties)

    def _build(self, cls: type[R], state: ResourceState, name: str, given: Mapping[str, Any]) -> R:
        resource = cls(
            name=name,
            type_name=cls.__name__,
            state=state,
            properties=convert_properties(cls.properties_schema, given),
            stack=self.stack,
            settings=self.settings,
            now=self.now,
        )
        resource.clients = clients_of(self.settings, self.nodes)
        return resource

    def create(self, state: ResourceState, **properties: Any) -> None:
        """Create a process as the engine does, and wait until it is ready."""
        process = self.process(state, **properties)
        found = process.find()
        if found is not None:
            state.physical_id = found
            token = process.resume_create()
        else:
            token = process.handle_create()
        self.carry_on(token, lambda token: self.process(state, **properties).check_create_complete(token))

    def update(self, state: ResourceState, before: Mapping[str, Any], **properties: Any) -> None:
        """Update a process as the engine does, and wait until it is ready again."""
        token = self.process(state, **properties).handle_update(changes(before, properties))
        self.carry_on(token, lambda token: self.process(state, **properties).check_update_complete(token))

    def delete(self, state: ResourceState, **properties: Any) -> None:
        """Delete a process as the engine does, and wait until it is gone."""
        token = self.process(state, **properties).handle_delete()
        self.carry_on(token, lambda token: self.process(state, **properties).check_delete_complete(token))

    def carry_on(self, token: Any, check: Callable[[Any], bool | Wait]) -> None:
        """Ask again until it is complete, each time with the token that the time before has left."""

        def step() -> bool | Wait:
            nonlocal token
            answer = check(token)
            if isinstance(answer, Wait):
                token = answer.next_token(token)
            return answer

        self.poll(step)

    def poll(self, check: Callable[[], bool | Wait]) -> int:
        """Ask again after each pause the check asks for, by this clock and for real; return how many times."""
        for asked in range(1, 1000):
            answer = check()
            if isinstance(answer, Wait):
                # The pause is part of the contract; nothing else would tell of a process that is no child.
                threading.Event().wait(answer.seconds)
                self.now += answer.seconds
            else:
                assert answer is True
                return asked
        raise AssertionError("never complete")

    def marked(self, uuid: str) -> list[int]:
        """Return the numbers of all running processes that carry the marker of the row ``uuid``."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):  # zombies among them, which wait for somebody to ask
                if process.environ().get(MARKER) == uuid:
                    found.append(process.pid)
        return found

    def kill_everything(self) -> None:
        """Kill whatever a test left running: all that carries a marker of this machine's rows."""
        uuids = {path.name for path in self.records.glob("*")}
        killed = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                ours = str(self.records) in " ".join(process.cmdline())
                if ours or process.environ().get(MARKER) in uuids:
                    process.kill()
                    killed.append(process)
        # The next test has a row of the same uuid: it must not find them.
        psutil.wait_procs(killed, timeout=PATIENCE_SECONDS)


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> PropertyChanges:
    """Return what differs between two sets of properties."""
    return PropertyChanges(before=before, after=after)


def has_ended(process: psutil.Process) -> bool:
    """Whether a process has ended, even if nobody asked about it yet."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
