"""Containers by podman: an image by its reference, and a layer of the container's own to write into."""

import hashlib
import json
import os
import re
import resource
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from workers.agent.hypervisors.containers.container import (
    Container,
    ContainerEngine,
    ContainerNetwork,
    ContainerOptions,
    ContainerStatus,
    check_disk,
    network_of,
    options_of,
)
from workers.agent.hypervisors.hypervisor import CannotDo, HypervisorFault, InstanceSpec
from workers.agent.hypervisors.tool import run_tool

_PULL_SECONDS: Final = 900.0
#: To so many podman limits itself before it runs anything, and nobody can raise a limit again. It counts the processes
#: of a user on the whole machine; those of a container are limited by its control group.
_MOST_PROCESSES: Final = 32768
_OWNER: Final = "org.isotherm.directory"
_INSTANCE: Final = "org.isotherm.instance"
#: In the instance's directory, as long as podman reads it.
_VARIABLES: Final = "variables"
#: Of what was asked for: the same again is the same container.
_ORDER: Final = "org.isotherm.order"
#: Variables that podman itself heeds: a container's are told to it in another way than by its own environment.
_HEEDED: Final = frozenset(
    {"PATH", "HOME", "TMPDIR", "USER", "NOTIFY_SOCKET", "SSL_CERT_FILE", "SSL_CERT_DIR"}
    | {"GOCOVERDIR", "GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GORACE", "GOTRACEBACK"}
)
_HEEDED_PREFIXES: Final = (
    "XDG_",
    "CONTAINER",
    "STORAGE_",
    "PODMAN_",
    "DBUS_",
    "LD_",
    "REGISTRY_",
    "LISTEN_",
)
#: What podman takes for a place of an image, most of them on the machine itself, when it begins a reference.
_PLACES: Final = re.compile(
    r"(atomic|containers-storage|dir|docker(?!://)|docker-archive|docker-daemon|oci|oci-archive|ostree|sif|tarball):"
)
_STATUS: Final = {
    "created": ContainerStatus.CREATED,
    "configured": ContainerStatus.CREATED,
    "initialized": ContainerStatus.CREATED,
    "running": ContainerStatus.RUNNING,
    "stopping": ContainerStatus.RUNNING,
    "paused": ContainerStatus.PAUSED,
}


class PodmanOptions(Protocol):
    """What of the hypervisor's options is podman's."""

    @property
    def podman(self) -> str:
        """The program."""

    @property
    def runtime(self) -> str:
        """The runtime it uses."""

    @property
    def podman_root(self) -> str:
        """Where it keeps images and containers; empty: its own choice."""

    @property
    def storage_driver(self) -> str:
        """How it keeps them; empty: its own choice."""

    @property
    def cgroup_manager(self) -> str:
        """Who makes control groups; empty: what fits the machine."""

    @property
    def pull(self) -> str:
        """When it fetches an image."""


class Podman(ContainerEngine):
    """Containers by podman, told from those of others by a label."""

    name = "podman"

    def __init__(self, options: PodmanOptions, directory: Path) -> None:
        self._options, self._directory = options, directory.absolute()
        # Part of a name, since two agents of one machine may share podman's store.
        self._owner = hashlib.sha256(str(self._directory).encode()).hexdigest()[:12]
        self._works = False

    def probe(self) -> str:
        """Have podman say what it finds on the machine."""
        if self._works:
            return ""
        if shutil.which(self._options.podman) is None:
            return f"there is no program {self._options.podman!r}"
        try:
            self._do("info", "--format", "json")
        except HypervisorFault as fault:
            return str(fault)
        self._works = True
        return ""

    def containers(self) -> Mapping[str, Container]:
        """Return those that carry our label."""
        return {
            name: Container(
                status=_STATUS.get(each["State"], ContainerStatus.STOPPED),
                raw_status=each["State"],
                pid=each["Pid"],
                exit_code=_exit_code(each["ExitCode"]) if each["Exited"] else None,
            )
            for name, each in self._listed().items()
        }

    def run(self, spec: InstanceSpec, directory: Path) -> None:
        """Start the container that has ended if it is the one that is asked for, else make a new one."""
        arguments, handed, filed = run_arguments(spec, directory=directory, pull=self._options.pull)
        order = hashlib.sha256(json.dumps([arguments, handed, filed]).encode()).hexdigest()
        there = self._listed().get(spec.name)
        if there is not None and there["Labels"].get(_ORDER) == order:
            self._do("start", self._container(spec.name))
            return
        self.forget(spec.name)
        labels = {_OWNER: self._owner, _INSTANCE: spec.name, _ORDER: order}
        told = [text for key, value in labels.items() for text in ("--label", f"{key}={value}")]
        try:
            _write_variables(directory / _VARIABLES, filed)
            self._do(
                "run",
                "--name",
                self._container(spec.name),
                *told,
                *arguments,
                env=handed,
                timeout_seconds=_PULL_SECONDS,
            )
        finally:
            (directory / _VARIABLES).unlink(missing_ok=True)

    def signal(self, name: str, stop_signal: str) -> None:
        """Signal the first process."""
        self._kill(name, stop_signal)

    def kill(self, name: str) -> None:
        """Kill the first process; the kernel ends the others of its namespace with it."""
        if self.containers().get(name, _GONE).status is ContainerStatus.PAUSED:
            self.unpause(name)
        self._kill(name, "KILL")

    def forget(self, name: str) -> None:
        """Remove it with its layer."""
        self._do("rm", "--force", "--time", "0", "--ignore", "--volumes", self._container(name))

    def pause(self, name: str) -> None:
        """Freeze its control group."""
        self._do("pause", self._container(name))

    def unpause(self, name: str) -> None:
        """Thaw its control group."""
        self._do("unpause", self._container(name))

    def resize(self, name: str, *, memory_mib: int, vcpus: int) -> None:
        """Have podman write other limits."""
        self._do("update", *_limits(memory_mib, vcpus), self._container(name))

    def _kill(self, name: str, number: str) -> None:
        try:
            self._do("kill", "--signal", number, self._container(name))
        except HypervisorFault:
            # It may have ended at the same moment.
            if self.containers().get(name, _GONE).alive:
                raise

    def _listed(self) -> dict[str, dict[str, Any]]:
        """Return what podman lists of our containers, by instance."""
        ours = ("--filter", f"label={_OWNER}={self._owner}")
        listed = json.loads(self._do("ps", "--all", *ours, "--format", "json"))
        return {each["Labels"][_INSTANCE]: each for each in listed}

    def _container(self, name: str) -> str:
        return f"isotherm-{self._owner}-{name}"

    def _do(
        self, *arguments: str, env: Mapping[str, str] | None = None, timeout_seconds: float = 60.0
    ) -> str:
        options = self._options
        manager = options.cgroup_manager or (
            "systemd" if Path("/run/systemd/system").is_dir() else "cgroupfs"
        )
        # Events by the journal would be lost, and waited for, where there is none.
        told = ["--runtime", options.runtime, "--cgroup-manager", manager, "--events-backend", "file"]
        told += store_arguments(options.podman_root, options.storage_driver)
        return run_tool((options.podman, *told, *arguments), env=env, timeout_seconds=timeout_seconds)


_GONE: Final = Container(status=ContainerStatus.STOPPED, raw_status="absent")


def store_arguments(root: str, storage_driver: str) -> list[str]:
    """Return what tells podman where it keeps images and containers, and how; empty: as it is configured."""
    told = ["--storage-driver", storage_driver] if storage_driver else []
    if root:
        # What lives as long as the machine runs is in a place of its own, whose name podman wants to be short.
        place = "/run" if os.access("/run", os.W_OK) else tempfile.gettempdir()
        number = hashlib.sha256(str(Path(root).absolute()).encode()).hexdigest()[:12]
        told += ["--root", root, "--runroot", f"{place}/isotherm-podman-{number}"]
    return told


def run_arguments(
    spec: InstanceSpec, *, directory: Path, pull: str
) -> tuple[list[str], dict[str, str], dict[str, str]]:
    """Return what ``podman run`` is told, and the variables that it is to find in its own environment, and in a file.

    Raises:
        HypervisorFault: something that was asked for cannot be had.
    """
    options = options_of(spec)
    if _PLACES.match(spec.image):
        raise CannotDo(
            "image: expected a reference such as docker.io/library/alpine, and no place on the machine"
        )
    handed, filed = _environment(spec.env)
    told = [text for name in handed for text in ("--env", name)]
    told += ["--env-file", str(directory / _VARIABLES)] if filed else []
    arguments = ["--detach", "--pull", pull, "--http-proxy=false", "--network", _network(network_of(spec))]
    arguments += [
        "--hostname",
        spec.name[:63],
        "--log-driver",
        "k8s-file",
        "--log-opt",
        f"path={directory / 'log'}",
    ]
    arguments += [*_limits(spec.memory_mib, spec.vcpus), "--pids-limit", str(options.processes)]
    arguments += _ulimits(options)
    arguments += ["--stop-signal", options.stop_signal, *told]
    for number, disk in enumerate(spec.disks):
        check_disk(disk, number)
        if Path(disk.path).is_block_device():
            access = "r" if disk.readonly else "rw"
            arguments += ["--device", f"{disk.path}:{options.place_of(number)}:{access}"]
            continue
        if "," in disk.path or '"' in disk.path:
            raise CannotDo(f"disk {number}: podman takes no path with a comma or a quotation mark")
        readonly = ",readonly=true" if disk.readonly else ""
        arguments += ["--mount", f"type=bind,source={disk.path},target={options.place_of(number)}{readonly}"]
    for flag, value in (("--user", spec.user), ("--workdir", spec.cwd)):
        arguments += [flag, value] if value else []
    return [*arguments, "--", spec.image, *spec.command], handed, filed


def _environment(env: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the variables that podman takes from its environment, and those from a file, so that nobody sees them.

    Raises:
        CannotDo: one of the latter fits into no line of a file.
    """
    filed = {name: value for name, value in env.items() if _is_heeded(name)}
    for name, value in filed.items():
        if not name.isidentifier() or len(f"{value} ".splitlines()) > 1:
            raise CannotDo(f"env: podman takes variable {name!r} in one line, and its name as a word")
    return {name: value for name, value in env.items() if name not in filed}, filed


def _write_variables(file: Path, variables: Mapping[str, str]) -> None:
    if variables:
        file.touch(mode=0o600)
        file.write_text("".join(f"{name}={value}\n" for name, value in variables.items()), encoding="utf-8")


def _is_heeded(name: str) -> bool:
    return name in _HEEDED or name.startswith(_HEEDED_PREFIXES) or name.lower().endswith("_proxy")


def _network(network: ContainerNetwork) -> str:
    if network.mode == "namespace":
        return f"ns:{network.path}"
    return network.name or network.mode


def _limits(memory_mib: int, vcpus: int) -> Iterator[str]:
    yield from ("--memory", f"{memory_mib}m", "--memory-swap", f"{memory_mib}m", "--cpus", str(vcpus))


def _ulimits(options: ContainerOptions) -> list[str]:
    """Return limits that the machine grants: podman's own defaults may be above, and are then refused."""
    files = options.granted_open_files
    most = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    processes = _MOST_PROCESSES if most == resource.RLIM_INFINITY else min(most, _MOST_PROCESSES)
    return ["--ulimit", f"nofile={files}:{files}", "--ulimit", f"nproc={processes}:{processes}"]


def _exit_code(code: int) -> int:
    return 128 - code if code > 128 else code
