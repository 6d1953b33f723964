"""Control groups: limits of memory and processors for instances, enforced by the kernel.

Both versions are supported. In the first, memory and processors have a tree each; in the second all share one, and a
group delegates only the controllers that its parents allow. Each instance has a group below a common parent.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from workers.agent.hypervisors.hypervisor import HypervisorFault
from workers.agent.hypervisors.kernel import BYTES_PER_MIB

MEMORY: Final = "memory"
CPU: Final = "cpu"
_WANTED: Final = (MEMORY, CPU)
_PERIOD_MICROSECONDS: Final = 100_000
#: A group whose last process has just ended may be busy for a moment.
_LEAVE_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Tree:
    """The root of a controller's groups, and their version."""

    path: Path
    version: int


def trees_of(mounts: str) -> dict[str, Tree]:
    """Return the trees for memory and processors, from the text of ``/proc/mounts``; missing ones are left out."""
    found: dict[str, Tree] = {}
    for line in mounts.splitlines():
        _, where, kind, options, *_ = line.split()
        path = Path(where.encode().decode("unicode_escape"))
        if kind == "cgroup":
            found.update((name, Tree(path, 1)) for name in _WANTED if name in options.split(","))
        elif kind == "cgroup2":
            with suppress(OSError):
                controllers = (path / "cgroup.controllers").read_text(encoding="ascii").split()
                found.update((name, Tree(path, 2)) for name in _WANTED if name in controllers)
    return found


class ControlGroups:
    """The groups below one parent; thread-safe, as long as each instance is used by one thread."""

    def __init__(self, parent: str, trees: Mapping[str, Tree]) -> None:
        self._parent = parent
        self._trees = trees

    def fault(self) -> str:
        """Return why no limits can be set here, without trying; empty: no reason is known."""
        for controller in _WANTED:
            if (tree := self._trees.get(controller)) is None:
                return f"the kernel has no control groups for {controller}"
            place = next(
                each
                for each in (tree.path / self._parent, *(tree.path / self._parent).parents)
                if each.is_dir()
            )
            if not os.access(place, os.W_OK):
                return f"control groups for {controller} cannot be made in {place}"
        return ""

    def make(self, name: str, *, memory_mib: int, vcpus: int) -> list[Path]:
        """Make an instance's groups with these limits; return the files through which a process joins them.

        Raises:
            HypervisorFault: the kernel refuses.
        """
        with _faults():
            for controller, tree in self._trees.items():
                parent = tree.path / self._parent
                parent.mkdir(parents=True, exist_ok=True)
                if tree.version == 2:
                    self._delegate(controller, tree)
                (parent / name).mkdir(exist_ok=True)
        self.limit(name, memory_mib=memory_mib, vcpus=vcpus)
        groups = {tree.path / self._parent / name for tree in self._trees.values()}
        return sorted(group / "cgroup.procs" for group in groups)

    def limit(self, name: str, *, memory_mib: int, vcpus: int) -> None:
        """Set an instance's limits, whether its groups have processes or not.

        Raises:
            HypervisorFault: it uses more than that, or has no groups.
        """
        memory, cpu = self._trees[MEMORY], self._trees[CPU]
        quota = vcpus * _PERIOD_MICROSECONDS
        with _faults():
            group = memory.path / self._parent / name
            if memory.version == 1:
                self._limit_memory(group, memory_mib * BYTES_PER_MIB)
            else:
                _write(group / "memory.max", memory_mib * BYTES_PER_MIB)
            group = cpu.path / self._parent / name
            if cpu.version == 1:
                _write(group / "cpu.cfs_period_us", _PERIOD_MICROSECONDS)
                _write(group / "cpu.cfs_quota_us", quota)
            else:
                _write(group / "cpu.max", f"{quota} {_PERIOD_MICROSECONDS}")

    def killed_for_memory(self, name: str) -> int:
        """Return how many processes of an instance the kernel's OOM killer has ended."""
        tree = self._trees[MEMORY]
        file = "memory.oom_control" if tree.version == 1 else "memory.events"
        try:
            lines = (tree.path / self._parent / name / file).read_text(encoding="ascii").splitlines()
        except OSError:
            return 0
        counts = dict(line.split() for line in lines)
        return int(counts.get("oom_kill", 0))

    def remove(self, name: str) -> None:
        """Remove an instance's groups, which must be empty.

        Raises:
            HypervisorFault: they are not empty.
        """
        deadline = time.monotonic() + _LEAVE_SECONDS
        for group in {tree.path / self._parent / name for tree in self._trees.values()}:
            while True:
                try:
                    group.rmdir()
                except FileNotFoundError:
                    pass
                except OSError as error:
                    if time.monotonic() < deadline:
                        time.sleep(0.01)
                        continue
                    raise HypervisorFault(
                        f"control group {group} cannot be removed: {error.strerror}"
                    ) from error
                break

    def _delegate(self, controller: str, tree: Tree) -> None:
        """Have every group from the root to the instances' parent delegate a controller to its children."""
        group = tree.path
        for step in ("", *Path(self._parent).parts):
            group = group / step
            control = group / "cgroup.subtree_control"
            if controller not in control.read_text(encoding="ascii").split():
                _write(control, f"+{controller}")

    def _limit_memory(self, group: Path, limit: int) -> None:
        """Set both limits of the first version: that of memory and swap must never be the smaller one."""
        memory, with_swap = group / "memory.limit_in_bytes", group / "memory.memsw.limit_in_bytes"
        files = [memory, with_swap] if with_swap.exists() else [memory]
        grows = len(files) == 2 and limit > int(with_swap.read_text(encoding="ascii"))
        for file in reversed(files) if grows else files:
            _write(file, limit)


def _write(file: Path, value: int | str) -> None:
    file.write_text(str(value), encoding="ascii")


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise HypervisorFault(f"control group {error.filename}: {error.strerror}") from error
