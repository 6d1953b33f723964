"""The contract of a hypervisor, in MiB, seconds and counts, whatever units its own tools use."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import psutil
from pydantic import BaseModel, ConfigDict

from hooks.values.dataclass import dataclass


class InstanceState(StrEnum):
    """The states of an instance."""

    RUNNING = "running"
    PAUSED = "paused"
    SHUTDOWN = "shutdown"
    CRASHED = "crashed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeData:
    """A machine as a hypervisor sees it; None where a value is unknown."""

    memory_total_mib: int
    memory_free_mib: int
    #: The host's own use, which on Linux includes that of its guests.
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
    #: The hypervisor's id: a process number, a domain's id.
    id: str
    #: The reserved memory; of some hypervisors the present one.
    memory_mib: int
    vcpus: int
    state: InstanceState
    #: The hypervisor's own word for the state.
    raw_state: str = ""
    #: Processor time used.
    cpu_seconds: float = 0.0
    #: Memory in use; None where it is unknown.
    memory_used_mib: int | None = None
    #: Further facts, plain types: the log's file, the exit code, when it was started.
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_wire(self) -> dict[str, Any]:
        """Return plain types without the name, which is the key."""
        wire = asdict(self)
        del wire["name"]
        wire["state"] = str(self.state)
        return wire

    @classmethod
    def from_wire(cls, name: str, data: Mapping[str, Any]) -> Self:
        """Return the data of plain types."""
        return cls(name=name, **{**data, "state": InstanceState(data["state"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """A disk of an instance: a volume of the machine, by the path that its storage gave."""

    path: str
    #: raw, qcow2 or dir.
    format: str = "raw"
    readonly: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceSpec:
    """The specification of an instance."""

    #: Unique on the machine, and its token: the uuid of the resource's row, as a rule.
    name: str
    #: For display: stack and resource.
    title: str = ""
    memory_mib: int
    vcpus: int = 1
    #: Its image, in the hypervisor's own terms: a file, a reference, an unpacked file system; empty: none.
    image: str = ""
    #: Its command; empty: the image's.
    command: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    #: Its working directory; empty: the hypervisor's choice.
    cwd: str = ""
    #: Its user; empty: the agent's.
    user: str = ""
    disks: Sequence[Disk] = ()
    #: In the hypervisor's own terms.
    networks: Sequence[Mapping[str, Any]] = ()
    #: Further options of the hypervisor.
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_wire(self) -> dict[str, Any]:
        """Return plain types, which :meth:`from_wire` reads."""
        return asdict(self)

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> Self:
        """Return the specification of plain types.

        Raises:
            TypeError: a field is missing or unknown.
        """
        return cls(**{**data, "disks": tuple(Disk(**disk) for disk in data.get("disks", ()))})


def process_family(instance: InstanceData | None) -> Sequence[psutil.Process]:
    """Return the process whose number is an instance's id, and its children."""
    if instance is None or not instance.id:
        return ()
    try:
        process = psutil.Process(int(instance.id))
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return ()


class HypervisorFault(Exception):
    """Raised by a hypervisor when an operation fails; the message is for users and holds no secret."""

    #: Whether a retry may help.
    retryable: ClassVar[bool] = False


class HypervisorBusy(HypervisorFault):
    """A retry may help."""

    retryable = True


class CannotDo(HypervisorFault):
    """This hypervisor can never do that."""


class NoInstance(HypervisorFault):
    """The instance certainly does not exist."""


class CommandLimits(Protocol):
    """The machine's limits on what runs beside its agent, for the project that the present call is made for."""

    @property
    def confines(self) -> bool:
        """Whether commands run without new privileges."""

    def command(self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path | None) -> str:
        """Return the file that is to be run as a command; empty: any that is found."""

    def instance(self, spec: InstanceSpec, *, walled: bool) -> InstanceSpec:
        """Return an instance that is allowed, with its user."""


class HypervisorOptions(BaseModel):
    """Base of the options of hypervisors: the settings ``[agent.hypervisors.NAME]``."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Hypervisor(ABC):
    """Base of hypervisors; one instance serves all threads of an agent.

    Every method that changes something is idempotent: a call may come twice, and the agent may
    have died in the middle of the first. Durable state is kept under ``directory``.
    """

    name: ClassVar[str]
    #: One sentence, shown to operators.
    description: ClassVar[str] = ""
    Options: ClassVar[type[HypervisorOptions]] = HypervisorOptions
    #: The types of ``options`` and of each of ``networks`` of an instance; None: not checked.
    InstanceOptions: ClassVar[type[BaseModel] | None] = None
    InstanceNetwork: ClassVar[type[BaseModel] | None] = None
    #: Its abilities besides starting and removing: pause, reboot, resize, migrate, snapshot, networks, disks.
    abilities: ClassVar[frozenset[str]] = frozenset()
    #: Whether instances are isolated from the machine: commands, directories and users are those of their image,
    #: and the machine's limits on them do not apply.
    walled: ClassVar[bool] = False

    def __init__(self, options: Any, directory: Path) -> None:
        """Keep the arguments; do not start anything yet. ``directory`` is its own, on the machine's disk."""
        self.options, self.directory = options, directory
        #: The scope of its marks: the same for its agent's successors, also where they have lost this directory.
        self.scope = ""
        #: The machine's limits on commands; None: there are none.
        self.limits: CommandLimits | None = None

    @abstractmethod
    def probe(self) -> str:
        """Return why it cannot be used on this machine; empty: it can."""

    @abstractmethod
    def node(self) -> NodeData:
        """Return the machine as it sees it."""

    @abstractmethod
    def instances(self) -> Sequence[InstanceData]:
        """Return all its instances, also those that do not run."""

    def instance(self, name: str) -> InstanceData | None:
        """Return one instance; None: it certainly does not exist."""
        return next((each for each in self.instances() if each.name == name), None)

    def recover(self) -> Sequence[str]:
        """Record instances of this agent that exist without a record again; return their names."""
        return ()

    @abstractmethod
    def start(self, spec: InstanceSpec) -> InstanceData:
        """Make the instance if it does not exist, start it if it does not run, and return it.

        Raises:
            HypervisorFault: it does not run.
        """

    @abstractmethod
    def stop(self, name: str, *, grace_seconds: float) -> None:
        """Request the instance to end, and kill it after the grace; it can be started again. One at rest stays so.

        Raises:
            NoInstance: it does not exist.
        """

    @abstractmethod
    def remove(self, name: str) -> None:
        """Kill the instance and delete it; a missing one is no error."""

    def files_of(self, spec: InstanceSpec) -> Sequence[str]:  # noqa: ARG002  # for overriding methods
        """Return the machine's files that an instance's options refer to, besides its image and its disks."""
        return ()

    def networks_of(self, spec: InstanceSpec) -> Sequence[str]:
        """Return the networks of an instance, each as ``mode`` or ``mode:name``, for the machine's limits."""
        return [json.dumps(dict(each), sort_keys=True) for each in spec.networks]

    def processes_of(self, name: str) -> Sequence[psutil.Process]:  # noqa: ARG002  # for overriding methods
        """Return the machine's processes that make up an instance, as far as there are such."""
        return ()

    def writes_image(self, spec: InstanceSpec) -> bool:  # noqa: ARG002  # for overriding methods
        """Return whether an instance writes to its image, which is a path on the machine."""
        return False

    def reboot(self, name: str) -> InstanceData:  # noqa: ARG002  # for overriding methods
        """Restart the instance as it was last started.

        Raises:
            CannotDo: this hypervisor does not support it.
        """
        raise CannotDo(f"hypervisor {self.name!r} cannot reboot")

    def resize(self, name: str, *, memory_mib: int, vcpus: int) -> InstanceData:  # noqa: ARG002  # as above
        """Resize a running instance in place.

        Raises:
            CannotDo: this hypervisor does not support it.
        """
        raise CannotDo(f"hypervisor {self.name!r} cannot change the size of what runs")

    def pause(self, name: str) -> None:  # noqa: ARG002  # as above
        """Pause the instance.

        Raises:
            CannotDo: this hypervisor does not support it.
        """
        raise CannotDo(f"hypervisor {self.name!r} cannot let an instance stand still")

    def unpause(self, name: str) -> None:  # noqa: ARG002  # as above
        """Resume the instance.

        Raises:
            CannotDo: this hypervisor does not support it.
        """
        raise CannotDo(f"hypervisor {self.name!r} cannot let an instance stand still")

    def snapshot(self, name: str, tag: str) -> Mapping[str, Any]:  # noqa: ARG002  # as above
        """Save the instance's state under ``tag``; return a description of it.

        Raises:
            CannotDo: this hypervisor does not support it.
        """
        raise CannotDo(f"hypervisor {self.name!r} cannot take snapshots")

    def restore(self, name: str, tag: str) -> None:  # noqa: ARG002  # as above
        """Restore the state saved under ``tag``.

        Raises:
            CannotDo: this hypervisor does not support it.
        """
        raise CannotDo(f"hypervisor {self.name!r} cannot take snapshots")

    def forget_snapshot(self, name: str, tag: str) -> None:  # noqa: B027  # as above
        """Delete the state saved under ``tag``; a missing one is no error."""

    def export(self, name: str, directory: Path) -> Mapping[str, Any]:  # noqa: ARG002  # as above
        """Write the instance, which is at rest, into a directory, for its migration to another machine.

        Raises:
            CannotDo: this hypervisor does not support it.
        """
        raise CannotDo(f"hypervisor {self.name!r} cannot hand over instances")

    def take_in(self, spec: InstanceSpec, directory: Path) -> None:  # noqa: ARG002  # as above
        """Make an instance, at rest, from a directory that another machine has written.

        Raises:
            CannotDo: this hypervisor does not support it.
        """
        raise CannotDo(f"hypervisor {self.name!r} cannot hand over instances")

    def watch(self, changed: Callable[[str], None]) -> Callable[[], None] | None:  # noqa: ARG002  # as above
        """Call ``changed(why)`` on unrequested changes; return a function that ends this; None: unsupported."""
        return None

    def close(self) -> None:  # noqa: B027  # most hypervisors hold no resources
        """Close connections; instances go on."""
