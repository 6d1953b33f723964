"""The resource usage of a control group, as the kernel counts it; for both versions of the hierarchy."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_NANOSECONDS: Final = 1_000_000_000
_MICROSECONDS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class CgroupUsage:
    """The usage of a control group; None where it is not counted."""

    memory_bytes: int | None
    cpu_seconds: float | None


def cgroup_usage(pid: int, *, proc: Path = Path("/proc")) -> CgroupUsage:
    """Return what the group of a process uses; all None when the process is gone or the kernel does not count."""
    groups = dict(_directories(pid, proc))
    unified = groups.get("")
    memory = _number(groups.get("memory"), "memory.usage_in_bytes")
    spent = _number(groups.get("cpuacct"), "cpuacct.usage")
    return CgroupUsage(
        memory_bytes=memory if memory is not None else _number(unified, "memory.current"),
        cpu_seconds=spent / _NANOSECONDS if spent is not None else _unified_cpu_seconds(unified),
    )


def _directories(pid: int, proc: Path) -> Iterator[tuple[str, Path]]:
    """Return the directory of the process's group for each controller; of the unified hierarchy under ``""``."""
    try:
        groups = (proc / str(pid) / "cgroup").read_text(encoding="utf-8")
        mounts = (proc / "self" / "mountinfo").read_text(encoding="utf-8")
    except OSError:
        return
    roots: dict[str, tuple[str, Path]] = {}
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        root, point = before.split()[3:5]
        kind, _, options = after.split(maxsplit=2)
        if kind == "cgroup2":
            roots[""] = (root, Path(point))
        elif kind == "cgroup":
            roots.update({name: (root, Path(point)) for name in options.split(",")})
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            if controller in roots:
                above, place = roots[controller]
                yield controller, place / path.removeprefix(above).lstrip("/")


def _number(directory: Path | None, name: str) -> int | None:
    if directory is None:
        return None
    try:
        return int((directory / name).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _unified_cpu_seconds(directory: Path | None) -> float | None:
    if directory is None:
        return None
    try:
        lines = (directory / "cpu.stat").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    counted = dict(line.split() for line in lines)
    return int(counted["usage_usec"]) / _MICROSECONDS if "usage_usec" in counted else None
