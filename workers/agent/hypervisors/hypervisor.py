"""The contract of a hypervisor: everything in MiB, seconds and counts, whatever its own tools speak."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict


class InstanceState(StrEnum):
    """What an instance is at the moment."""

    RUNNING = "running"
    PAUSED = "paused"
    SHUTDOWN = "shutdown"
    CRASHED = "crashed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeData:
    """A node as a hypervisor sees it; None where it cannot tell."""

    memory_total_mib: int
    memory_free_mib: int
    #: What the host itself uses, which on Linux holds what its guests use too.
    memory_dom0_mib: int
    cpu_total: int
    cpu_dom0: int
    memory_hv_mib: int | None = None
    cpu_nodes: int = 1
    cpu_sockets: int = 1
    hv_version: tuple[int, ...] | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return plain types."""
        wire = asdict(self)
        wire["hv_version"] = list(self.hv_version) if self.hv_version else None
        return wire


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceData:
    """An instance as a hypervisor sees it."""

    name: str
    #: What the hypervisor calls it: a process number, a domain's id.
    id: str
    #: What it was promised; of some hypervisors what it has just now.
    memory_mib: int
    vcpus: int
    state: InstanceState
    #: The hypervisor's own word for that.
    raw_state: str = ""
    #: Processor time used.
    cpu_seconds: float = 0.0
    #: Memory in use; None where nobody can tell.
    memory_used_mib: int | None = None
    #: Whatever else is known, plain types: the log's file, the exit code, when it was started.
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_wire(self) -> dict[str, Any]:
        """Return plain types without the name, which is the key."""
        wire = asdict(self)
        del wire["name"]
        wire["state"] = str(self.state)
        return wire

    @classmethod
    def from_wire(cls, name: str, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain types."""
        return cls(name=name, **{**data, "state": InstanceState(data["state"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """A disk of an instance: a volume of the node, by the path that its storage gave."""

    path: str
    #: raw, qcow2 or dir.
    format: str = "raw"
    readonly: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceSpec:
    """What an instance is to be."""

    #: Unique on the node, and its token: the uuid of the resource's row, as a rule.
    name: str
    #: For people: stack and resource.
    title: str = ""
    memory_mib: int
    vcpus: int = 1
    #: What it is made of, in the hypervisor's own terms: a file, a reference, an unpacked file system; empty: nothing.
    image: str = ""
    #: What runs in it; empty: what the image says.
    command: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    #: Where it runs; empty: the hypervisor's choice.
    cwd: str = ""
    #: Under which user; empty: the agent's.
    user: str = ""
    disks: Sequence[Disk] = ()
    #: In the hypervisor's own terms.
    networks: Sequence[Mapping[str, Any]] = ()
    #: Whatever else the hypervisor takes.
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_wire(self) -> dict[str, Any]:
        """Return plain types, the inverse of :meth:`from_wire`."""
        return asdict(self)

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain types.

        Raises:
            TypeError: something is missing, or there is too much.
        """
        return cls(**{**data, "disks": tuple(Disk(**disk) for disk in data.get("disks", ()))})


class HypervisorFault(Exception):
    """What a hypervisor raises when something cannot be done; the sentence is for people and holds no secret."""

    #: Whether doing the same again may help.
    retryable: ClassVar[bool] = False


class HypervisorBusy(HypervisorFault):
    """Doing the same again may help."""

    retryable = True


class CannotDo(HypervisorFault):
    """This hypervisor can never do that."""


class NoInstance(HypervisorFault):
    """There is no such instance, and the hypervisor is sure."""


class HypervisorOptions(BaseModel):
    """Base of the options of hypervisors: what ``[agent.hypervisors.NAME]`` may say."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Hypervisor(ABC):
    """Base of hypervisors; one instance serves all threads of an agent.

    Every method that changes something does no harm when it is done again: a call may come twice, and the agent may
    have died in the middle of the first. What must survive that is kept under ``directory``.
    """

    name: ClassVar[str]
    #: One sentence for people.
    description: ClassVar[str] = ""
    Options: ClassVar[type[HypervisorOptions]] = HypervisorOptions
    #: What templates may say in ``options`` and in each of ``networks`` of an instance; None: nothing, or anything.
    InstanceOptions: ClassVar[type[BaseModel] | None] = None
    InstanceNetwork: ClassVar[type[BaseModel] | None] = None
    #: What it can do besides starting and removing: pause, reboot, resize, migrate, snapshot, networks, disks.
    abilities: ClassVar[frozenset[str]] = frozenset()
    #: Whether what runs in it sees nothing of the node itself: commands, directories and users are those of its image,
    #: and no affair of the node's limits.
    walled: ClassVar[bool] = False

    def __init__(self, options: Any, directory: Path) -> None:
        """Keep what is needed; do not start anything yet. ``directory`` is its own, on the node's disk."""
        self.options, self.directory = options, directory

    @abstractmethod
    def probe(self) -> str:
        """Return why it cannot be used on this machine; empty: it can."""

    @abstractmethod
    def node(self) -> NodeData:
        """Return the node as it sees it."""

    @abstractmethod
    def instances(self) -> Sequence[InstanceData]:
        """Return all instances it knows, also those that do not run."""

    def instance(self, name: str) -> InstanceData | None:
        """Return one instance; None: there is none, for sure."""
        return next((each for each in self.instances() if each.name == name), None)

    @abstractmethod
    def start(self, spec: InstanceSpec) -> InstanceData:
        """Make the instance if it is not there, see to it that it runs, and return it. Again: the same one.

        Raises:
            HypervisorFault: it does not run.
        """

    @abstractmethod
    def stop(self, name: str, *, grace_seconds: float) -> None:
        """Ask the instance to end, and end it after the grace; it can be started again. One that is at rest stays so.

        Raises:
            NoInstance: there is none.
        """

    @abstractmethod
    def remove(self, name: str) -> None:
        """End the instance at once and forget it; one that is not there is no error."""

    def files_of(self, spec: InstanceSpec) -> Sequence[str]:  # noqa: ARG002  # for those who override it
        """Return the files of the node that an instance is given besides its image and its disks, by its options."""
        return ()

    def reboot(self, name: str) -> InstanceData:  # noqa: ARG002  # for those who override it
        """Start the instance anew as it was last started."""
        raise CannotDo(f"hypervisor {self.name!r} cannot reboot")

    def resize(self, name: str, *, memory_mib: int, vcpus: int) -> InstanceData:  # noqa: ARG002  # as above
        """Give a running instance another size in place."""
        raise CannotDo(f"hypervisor {self.name!r} cannot change the size of what runs")

    def pause(self, name: str) -> None:  # noqa: ARG002  # as above
        """Let the instance stand still where it is."""
        raise CannotDo(f"hypervisor {self.name!r} cannot let an instance stand still")

    def unpause(self, name: str) -> None:  # noqa: ARG002  # as above
        """Let it go on."""
        raise CannotDo(f"hypervisor {self.name!r} cannot let an instance stand still")

    def snapshot(self, name: str, tag: str) -> Mapping[str, Any]:  # noqa: ARG002  # as above
        """Keep the instance as it is under ``tag``; return what describes that."""
        raise CannotDo(f"hypervisor {self.name!r} cannot take snapshots")

    def restore(self, name: str, tag: str) -> None:  # noqa: ARG002  # as above
        """Bring the instance back to what was kept under ``tag``."""
        raise CannotDo(f"hypervisor {self.name!r} cannot take snapshots")

    def forget_snapshot(self, name: str, tag: str) -> None:  # noqa: B027  # as above
        """Delete what was kept under ``tag``; one that is not there is no error."""

    def export(self, name: str, directory: Path) -> Mapping[str, Any]:  # noqa: ARG002  # as above
        """Write the instance, which is at rest, into a directory, so that another node can have it."""
        raise CannotDo(f"hypervisor {self.name!r} cannot hand over instances")

    def take_in(self, spec: InstanceSpec, directory: Path) -> None:  # noqa: ARG002  # as above
        """Make an instance, at rest, of what another node has written into a directory."""
        raise CannotDo(f"hypervisor {self.name!r} cannot hand over instances")

    def watch(self, changed: Callable[[str], None]) -> Callable[[], None] | None:  # noqa: ARG002  # as above
        """Call ``changed(why)`` whenever something changes unasked; return what ends that; None: it cannot."""
        return None

    def close(self) -> None:  # noqa: B027  # most have nothing to let go of
        """Let go of connections; instances go on."""
