"""The engine podman: an image by its reference, and a writable layer per container."""

import hashlib
import json
import os
import re
import resource
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from cache.stores.private_files import write_private_file
from workers.agent.commands.environment import fault_of_environment
from workers.agent.hypervisors.containers.container import (
    Container,
    ContainerEngine,
    ContainerNetwork,
    ContainerOptions,
    ContainerStatus,
    OciOptions,
    check_disk,
    network_of,
    options_of,
)
from workers.agent.hypervisors.hypervisor import CannotDo, HypervisorFault, InstanceSpec
from workers.agent.hypervisors.tool import run_tool

_PULL_SECONDS: Final = 900.0
#: podman limits itself to this number of processes before it runs anything, and the limit cannot be raised again. It
#: counts the processes of a user on the whole machine; those of a container are limited by its control group.
_MOST_PROCESSES: Final = 32768
_OWNER: Final = "org.isotherm.directory"
_INSTANCE: Final = "org.isotherm.instance"
#: In the instance's directory, while podman reads it.
_VARIABLES: Final = "variables"
#: A digest of the specification: an equal one is the same container.
_ORDER: Final = "org.isotherm.order"
#: Variables that podman, or a program that it starts with its own environment, reads: a container's are passed in
#: another way than by podman's environment. Some name directories from which code is loaded, as root where it is root:
#: XTABLES_LIBDIR has iptables do so when the network of a container is set up.
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
    "XTABLES_",
    "IPTABLES_",
    "IP6TABLES_",
    "EBTABLES_",
    "ARPTABLES_",
    "NFT_",
    "NETAVARK_",
    "AARDVARK_",
    "CNI_",
    "OCI_",
    "CRUN_",
    "RUNC_",
    "CRIU_",
    "CONMON_",
    "BUILDAH_",
    "DOCKER_",
    "GCONV_",
    "GLIBC_",
    "LOCPATH",
    "NLSPATH",
    "MALLOC_",
    "GNUPG",
    "SSH_",
    "RUST_",
    "SYSTEMD_",
    "_",
)
#: Prefixes of a reference that podman takes for an image's location, most of them on the machine itself.
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


class Podman(ContainerEngine):
    """Containers by podman, identified by a label."""

    name = "podman"

    def __init__(self, options: OciOptions, directory: Path) -> None:
        self._options, self._directory = options, directory.absolute()
        # Part of a name, since two agents of one machine may share podman's store.
        self._owner = hashlib.sha256(str(self._directory).encode()).hexdigest()[:12]
        self._works = False

    def probe(self) -> str:
        """Run ``podman info``."""
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
        """Return those with this agent's label."""
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
        """Start the ended container if its specification is the same, else create a new one."""
        arguments, handed, filed = run_arguments(spec, directory=directory, pull=self._options.pull)
        order = hashlib.sha256(json.dumps([arguments, handed, filed]).encode()).hexdigest()
        existing = self._listed().get(spec.name)
        if existing is not None and existing["Labels"].get(_ORDER) == order:
            self._do("start", self._container(spec.name))
            return
        self.forget(spec.name)
        labels = {_OWNER: self._owner, _INSTANCE: spec.name, _ORDER: order}
        label_options = [text for key, value in labels.items() for text in ("--label", f"{key}={value}")]
        try:
            _write_variables(directory / _VARIABLES, filed)
            self._do(
                "run",
                "--name",
                self._container(spec.name),
                *label_options,
                *arguments,
                env=handed,
                timeout_seconds=_PULL_SECONDS,
            )
        finally:
            (directory / _VARIABLES).unlink(missing_ok=True)

    def signal(self, name: str, stop_signal: str) -> None:
        """Signal the first process.

        Raises:
            HypervisorFault: it still runs, and cannot be signalled.
        """
        try:
            self._do("kill", "--signal", stop_signal, self._container(name))
        except HypervisorFault:
            # It may have ended at the same moment.
            if self.alive(name):
                raise

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

    def _listed(self) -> dict[str, dict[str, Any]]:
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
        # The journal's events would be lost, and waited for, where there is no journal.
        global_options = [
            "--runtime",
            options.runtime,
            "--cgroup-manager",
            manager,
            "--events-backend",
            "file",
        ]
        global_options += store_arguments(options.podman_root, options.storage_driver)
        return run_tool(
            (options.podman, *global_options, *arguments), env=env, timeout_seconds=timeout_seconds
        )


def store_arguments(root: str, storage_driver: str) -> list[str]:
    """Return podman's options for its storage; empty: as podman is configured."""
    store_options = ["--storage-driver", storage_driver] if storage_driver else []
    if root:
        # The run root is on a file system cleared at boot; podman requires a short name.
        place = "/run" if os.access("/run", os.W_OK) else tempfile.gettempdir()
        number = hashlib.sha256(str(Path(root).absolute()).encode()).hexdigest()[:12]
        store_options += ["--root", root, "--runroot", f"{place}/isotherm-podman-{number}"]
    return store_options


def run_arguments(
    spec: InstanceSpec, *, directory: Path, pull: str
) -> tuple[list[str], dict[str, str], dict[str, str]]:
    """Return the arguments of ``podman run``, and the variables for podman's own environment, and for a file.

    Raises:
        HypervisorFault: something requested is not possible.
    """
    options = options_of(spec)
    if fault := fault_of_environment(spec.env):
        raise HypervisorFault(f"env: {fault}")
    if _PLACES.match(spec.image):
        raise CannotDo(
            "image: expected a reference such as docker.io/library/alpine, and no place on the machine"
        )
    handed, filed = _environment(spec.env)
    env_options = [text for name in handed for text in ("--env", name)]
    env_options += ["--env-file", str(directory / _VARIABLES)] if filed else []
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
    arguments += ["--stop-signal", options.stop_signal, *env_options]
    for number, disk in enumerate(spec.disks):
        check_disk(disk, number)
        if Path(disk.path).is_block_device():
            if ":" in disk.path:
                raise CannotDo(f"disk {number}: podman takes no device whose path has a colon")
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
    """Return the variables passed by podman's environment, and those passed by a file; none is visible to others."""
    if pattern := next((name for name in env if name.endswith("*")), None):
        # Podman would pass every variable of the agent that begins so.
        raise CannotDo(
            f"env: podman takes no variable {pattern!r}: expected a name that does not end with '*'"
        )
    filed = {name: value for name, value in env.items() if _is_heeded(name)}
    for name, value in filed.items():
        if not name.isidentifier() or len(f"{value} ".splitlines()) > 1:
            raise CannotDo(f"env: podman takes variable {name!r} in one line, and its name as a word")
    return {name: value for name, value in env.items() if name not in filed}, filed


def _write_variables(file: Path, variables: Mapping[str, str]) -> None:
    if variables:
        write_private_file(file, "".join(f"{name}={value}\n" for name, value in variables.items()).encode())


def _is_heeded(name: str) -> bool:
    return name in _HEEDED or name.startswith(_HEEDED_PREFIXES) or name.lower().endswith("_proxy")


def _network(network: ContainerNetwork) -> str:
    if network.mode == "namespace":
        return f"ns:{network.path}"
    return network.name or network.mode


def _limits(memory_mib: int, vcpus: int) -> Iterator[str]:
    yield from ("--memory", f"{memory_mib}m", "--memory-swap", f"{memory_mib}m", "--cpus", str(vcpus))


def _ulimits(options: ContainerOptions) -> list[str]:
    """Return limits that the machine grants: podman's own defaults may be higher, and would be refused."""
    files = options.granted_open_files
    most = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    processes = _MOST_PROCESSES if most == resource.RLIM_INFINITY else min(most, _MOST_PROCESSES)
    return ["--ulimit", f"nofile={files}:{files}", "--ulimit", f"nproc={processes}:{processes}"]


def _exit_code(code: int) -> int:
    return 128 - code if code > 128 else code
