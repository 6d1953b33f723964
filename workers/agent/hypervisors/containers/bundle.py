"""The configuration of a container for OCI runtimes, made from an instance's specification."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from workers.agent.hypervisors.containers.container import (
    ContainerOptions,
    check_disk,
    network_of,
    options_of,
)
from workers.agent.hypervisors.hypervisor import CannotDo, HypervisorFault, InstanceSpec
from workers.agent.hypervisors.kernel import BYTES_PER_MIB

CPU_PERIOD_MICROSECONDS: Final = 100_000
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: The capabilities of a container's root: the engines' usual ones, without raw sockets and devices.
_CAPABILITIES: Final = [
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_NET_BIND_SERVICE",
    "CAP_SETFCAP",
    "CAP_SETGID",
    "CAP_SETPCAP",
    "CAP_SETUID",
    "CAP_SYS_CHROOT",
]
_MASKED: Final = [
    "/proc/acpi",
    "/proc/asound",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
    "/sys/devices/virtual/powercap",
]
_READONLY: Final = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
_IN_MEMORY: Final = ("/tmp", "/run", "/var/tmp")  # noqa: S108 -- inside the container
_HOSTNAME_LENGTH: Final = 63


def bundle_config(spec: InstanceSpec, *, cgroup: str, limit_swap: bool) -> dict[str, Any]:
    """Return the ``config.json`` of an instance whose image is a directory.

    Raises:
        HypervisorFault: something requested is not possible.
    """
    options, network = options_of(spec), network_of(spec)
    if network.mode == "bridge":
        raise CannotDo("networks.0: only podman has mode bridge; expected none, host or namespace")
    if not spec.command:
        raise HypervisorFault("a directory says nothing of what runs in it: expected a command")
    root = Path(spec.image)
    if not root.is_dir():
        raise HypervisorFault(
            f"image: expected a directory that holds a file system, found none at {spec.image}"
        )
    namespaces: list[dict[str, str]] = [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")]
    if network.mode != "host":
        namespaces.append({"type": "network", **({"path": network.path} if network.path else {})})
    return {
        "ociVersion": "1.0.2",
        "process": _process(spec, options, root),
        "root": {"path": str(root.absolute()), "readonly": not options.writable},
        "hostname": spec.name[:_HOSTNAME_LENGTH],
        "mounts": _mounts(spec, options, host_network=network.mode == "host"),
        "annotations": {"org.isotherm.title": spec.title},
        "linux": {
            "namespaces": namespaces,
            "cgroupsPath": cgroup,
            "resources": {
                "devices": [{"allow": False, "access": "rwm"}, *_block_devices(spec)],
                "memory": memory_limit(spec.memory_mib, limit_swap=limit_swap),
                "cpu": {"quota": cpu_quota(spec.vcpus), "period": CPU_PERIOD_MICROSECONDS},
                "pids": {"limit": options.processes},
            },
            "maskedPaths": _MASKED,
            "readonlyPaths": _READONLY,
        },
    }


def memory_limit(memory_mib: int, *, limit_swap: bool) -> dict[str, int]:
    """Return the limit of memory, swap included where it counts."""
    limit = memory_mib * BYTES_PER_MIB
    return {"limit": limit, "swap": limit} if limit_swap else {"limit": limit}


def cpu_quota(vcpus: int) -> int:
    """Return the microseconds of processor time per period."""
    return vcpus * CPU_PERIOD_MICROSECONDS


def _process(spec: InstanceSpec, options: ContainerOptions, root: Path) -> dict[str, Any]:
    files = {"type": "RLIMIT_NOFILE", "soft": options.granted_open_files, "hard": options.granted_open_files}
    held = dict.fromkeys(("bounding", "effective", "permitted"), _CAPABILITIES)
    return {
        "terminal": False,
        "user": user_in(root, spec.user),
        "args": list(spec.command),
        "env": [f"{name}={value}" for name, value in {"PATH": _PATH, **spec.env}.items()],
        "cwd": spec.cwd or "/",
        "capabilities": held,
        "rlimits": [files],
        "noNewPrivileges": True,
    }


def user_in(root: Path, user: str) -> dict[str, int]:
    """Return the ids of ``user`` or ``user:group`` in a root file system; empty: its root.

    Raises:
        HypervisorFault: it has no such user or group.
    """
    name, _, group = user.partition(":")
    if not name or name == "root":
        entry = ["0", "0"]
    elif name.isdecimal():
        entry = [name, next((gid for _, uid, gid in _entries(root, "passwd") if uid == name), "0")]
    else:
        entry = next(([uid, gid] for found, uid, gid in _entries(root, "passwd") if found == name), [])
    if group and entry:
        entry[1] = group if group.isdecimal() else _group_in(root, group)
    if not entry or not entry[1]:
        raise HypervisorFault(f"user: the image knows no {user!r}")
    return {"uid": int(entry[0]), "gid": int(entry[1])}


def _group_in(root: Path, group: str) -> str:
    return next((gid for found, gid, _ in _entries(root, "group") if found == group), "")


def _entries(root: Path, table: str) -> list[tuple[str, str, str]]:
    """Return name, first and second number of each line of a table of accounts inside the image."""
    path = root / "etc" / table
    # A link may lead out of the image, to the machine's own accounts.
    if not path.resolve().is_relative_to(root.resolve()) or not path.is_file():
        return []
    lines = (line.split(":") for line in path.read_text(encoding="utf-8", errors="replace").splitlines())
    return [
        (fields[0], fields[2], fields[3])
        for fields in lines
        if len(fields) > 3 and fields[2].isdecimal() and (table == "group" or fields[3].isdecimal())
    ]


def _mounts(spec: InstanceSpec, options: ContainerOptions, *, host_network: bool) -> list[dict[str, Any]]:
    quiet = ["nosuid", "noexec", "nodev"]
    terminals = ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"]
    mounts: list[dict[str, Any]] = [
        _mount("/proc", "proc", []),
        _mount("/dev", "tmpfs", ["nosuid", "strictatime", "mode=755", "size=65536k"]),
        _mount("/dev/pts", "devpts", terminals),
        _mount("/dev/shm", "tmpfs", [*quiet, "mode=1777", "size=65536k"]),  # noqa: S108 -- inside the container
        _mount("/dev/mqueue", "mqueue", quiet),
        # A container without a network of its own may not mount /sys anew, it gets the machine's.
        _mount("/sys", "none", ["rbind", *quiet, "ro"], source="/sys")
        if host_network
        else _mount("/sys", "sysfs", [*quiet, "ro"]),
    ]
    if not options.writable:
        mounts += [_mount(path, "tmpfs", ["nosuid", "nodev", "mode=1777"]) for path in _IN_MEMORY]
    for number, disk in enumerate(spec.disks):
        check_disk(disk, number)
        ways = ["rbind", "nosuid", "ro" if disk.readonly else "rw"]
        mounts.append(_mount(options.place_of(number), "bind", ways, source=disk.path))
    return mounts


def _mount(destination: str, kind: str, ways: list[str], *, source: str = "") -> dict[str, Any]:
    return {"destination": destination, "type": kind, "source": source or kind, "options": ways}


def _block_devices(spec: InstanceSpec) -> list[Mapping[str, Any]]:
    allowed: list[Mapping[str, Any]] = []
    for disk in spec.disks:
        found = Path(disk.path).stat() if Path(disk.path).exists() else None
        if found is not None and stat.S_ISBLK(found.st_mode):
            numbers = {"major": os.major(found.st_rdev), "minor": os.minor(found.st_rdev)}
            access = "r" if disk.readonly else "rw"
            allowed.append({"allow": True, "type": "b", **numbers, "access": access})
    return allowed
