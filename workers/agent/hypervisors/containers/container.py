"""What container engines share: options, states, and the engine's contract."""

import re
import resource
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import ClassVar, Final, Literal

from pydantic import Field, field_validator

from workers.agent.hypervisors.hypervisor import (
    CannotDo,
    Disk,
    HypervisorFault,
    HypervisorOptions,
    InstanceSpec,
)
from workers.agent.hypervisors.requested_options import RequestedOptions

#: Characters that would end the field of an engine's option in which a path stands, and begin another one.
_UNQUOTABLE: Final = re.compile(r'[,:"\x00-\x1f\x7f]')
#: Words that podman takes for a kind of network instead of a name.
_NETWORK_KINDS: Final = frozenset(
    {"bridge", "container", "default", "host", "none", "ns", "pasta", "private", "slirp4netns"}
)


class ContainerStatus(StrEnum):
    """The states of a container, in the engines' common words."""

    CREATED = "created"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container as its engine sees it."""

    status: ContainerStatus
    #: The engine's own word for the state.
    raw_status: str
    #: The first process; 0: it has ended.
    pid: int = 0
    #: The exit code; None: it runs, or the end was not observed.
    exit_code: int | None = None

    @property
    def alive(self) -> bool:
        """Whether it holds memory and can be signalled."""
        return self.status in (ContainerStatus.RUNNING, ContainerStatus.PAUSED)


class OciOptions(HypervisorOptions):
    """The available engines, and the settings of podman."""

    engines: tuple[Literal["runc", "podman"], ...] = Field(
        default=("runc", "podman"),
        min_length=1,
        description="The engines: runc for directories as images, podman for images by reference.",
    )
    runtime: str = Field(
        default="runc",
        description="The path of runc, or of a compatible program; podman uses it, too.",
    )
    podman: str = Field(default="podman", description="The path of podman.")
    podman_root: str = Field(
        default="",
        description="The directory of podman's images and containers; empty: the default for its user.",
    )
    storage_driver: str = Field(
        default="",
        description="Podman's storage driver, such as overlay or vfs; empty: as podman is configured.",
    )
    cgroup_manager: Literal["", "cgroupfs", "systemd"] = Field(
        default="",
        description="Podman's cgroup manager; empty: systemd if that runs the machine, else cgroupfs.",
    )
    networks: tuple[Literal["none", "host", "bridge", "namespace"], ...] = Field(
        default=("none", "host", "bridge", "namespace"),
        description="The network modes that instances may use; without host, they cannot reach services that "
        "listen only on the machine itself.",
    )
    pull: Literal["missing", "never", "always", "newer"] = Field(
        default="missing", description="When podman pulls an image."
    )


class ContainerOptions(RequestedOptions):
    """The options of a container in a template."""

    writable: bool = Field(
        default=False,
        description="Whether the instance may write into a directory that is its image. Else the directory "
        "is read-only, with directories in memory on /tmp, /run and /var/tmp.",
    )
    disk_paths: tuple[str, ...] = Field(
        default=(),
        description="The paths of its disks, in order; further disks are /disks/0, /disks/1 and so on.",
    )
    stop_signal: str = Field(
        default="TERM",
        pattern=r"^(SIG)?[A-Z0-9][A-Z0-9+-]*$",
        description="The signal that requests its end.",
    )
    processes: int = Field(default=4096, ge=1, description="The largest number of its processes and threads.")
    open_files: int = Field(
        default=65536, ge=16, description="The largest number of open files of each process."
    )

    @field_validator("disk_paths")
    @classmethod
    def _absolute(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        for path in paths:
            if (
                not path.startswith("/")
                or ".." in PurePosixPath(path).parts
                or PurePosixPath(path).name == ""
            ):
                raise ValueError("expected absolute paths of directories besides /")
            if _UNQUOTABLE.search(path):
                raise ValueError(
                    "expected paths without commas, colons, quotation marks and control characters"
                )
        return paths

    @property
    def granted_open_files(self) -> int:
        """The limit of open files, capped at what the machine grants."""
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        return self.open_files if most == resource.RLIM_INFINITY else min(self.open_files, most)

    def place_of(self, number: int) -> str:
        """Return the mount point of the disk of this number."""
        return self.disk_paths[number] if number < len(self.disk_paths) else f"/disks/{number}"


class ContainerNetwork(RequestedOptions):
    """A network of a container."""

    mode: Literal["none", "host", "namespace", "bridge"] = Field(
        default="none",
        description="none (no network), host (that of the machine), namespace (an existing one), bridge "
        "(podman's).",
    )
    path: str = Field(default="", description="For mode namespace, its file, such as /run/netns/web.")
    name: str = Field(
        default="",
        pattern=r"^([A-Za-z0-9][A-Za-z0-9_.-]*)?$",
        description="For mode bridge, the name of podman's network.",
    )

    @field_validator("name")
    @classmethod
    def _no_kind(cls, name: str) -> str:
        if name in _NETWORK_KINDS:
            raise ValueError("expected the name of a network, found a kind of network")
        return name


class ContainerEngine(ABC):
    """A tool that runs containers, each known by the name of its instance."""

    name: ClassVar[str]

    @abstractmethod
    def probe(self) -> str:
        """Return why it cannot be used on this machine; empty: it can."""

    @abstractmethod
    def containers(self) -> Mapping[str, Container]:
        """Return all its containers, by instance."""

    @abstractmethod
    def run(self, spec: InstanceSpec, directory: Path) -> None:
        """Create the container and start it, in place of an ended one; its files go into ``directory``.

        Raises:
            HypervisorFault: it does not run.
        """

    @abstractmethod
    def signal(self, name: str, stop_signal: str) -> None:
        """Send a signal to its first process; an ended one is no error."""

    def kill(self, name: str) -> None:
        """Kill the first process; the kernel ends the others of its namespace with it. An ended one is no error."""
        self.thaw(name)
        self.signal(name, "KILL")

    def thaw(self, name: str) -> None:
        """Thaw it if it is frozen: a frozen process does not even notice a kill."""
        container = self.containers().get(name)
        if container is not None and container.status is ContainerStatus.PAUSED:
            self.unpause(name)

    def alive(self, name: str) -> bool:
        """Return whether it exists and has not ended."""
        container = self.containers().get(name)
        return container is not None and container.alive

    @abstractmethod
    def forget(self, name: str) -> None:
        """Kill it and remove all of it; a missing one is no error."""

    @abstractmethod
    def pause(self, name: str) -> None:
        """Freeze it."""

    @abstractmethod
    def unpause(self, name: str) -> None:
        """Thaw it."""

    @abstractmethod
    def resize(self, name: str, *, memory_mib: int, vcpus: int) -> None:
        """Change its limits while it runs."""


def network_of(spec: InstanceSpec) -> ContainerNetwork:
    """Return the one network of a container; without any it has none.

    Raises:
        HypervisorFault: it is invalid, or there are several.
    """
    if len(spec.networks) > 1:
        raise CannotDo(f"expected one network at most, found {len(spec.networks)}")
    network = ContainerNetwork.read(spec.networks[0] if spec.networks else {}, "networks.0")
    if (network.mode == "namespace") != bool(network.path):
        raise HypervisorFault("networks.0: mode namespace and path belong together")
    if network.name and network.mode != "bridge":
        raise HypervisorFault("networks.0: name belongs to mode bridge")
    return network


def options_of(spec: InstanceSpec) -> ContainerOptions:
    """Return the options of the container.

    Raises:
        HypervisorFault: they are invalid.
    """
    return ContainerOptions.read(spec.options, "options")


def check_disk(disk: Disk, number: int) -> None:
    """Refuse a disk that no container can use.

    Raises:
        HypervisorFault: it does not exist, or is an image that only a virtual machine reads.
    """
    if disk.format == "qcow2":
        raise CannotDo(f"disk {number}: a container cannot use qcow2, expected dir or raw")
    if not Path(disk.path).exists():
        raise HypervisorFault(f"disk {number}: there is no {disk.path}")
