"""What control groups count, in both kinds of hierarchy and in both at once."""

import os
from pathlib import Path

import pytest

from workers.agent.hypervisors.cgroup_usage import CgroupUsage, cgroup_usage

_MIB = 1024 * 1024


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A /proc in which process 7 is in the group ``web``."""
    (tmp_path / "proc" / "7").mkdir(parents=True)
    (tmp_path / "proc" / "self").mkdir()
    return tmp_path / "proc"


def mount(proc: Path, kind: str, options: str, *, root: str = "/") -> Path:
    """Mount a hierarchy, and return the directory of the group in it."""
    point = proc.parent / (options or kind)
    line = f"30 20 0:26 {root} {point} rw,nosuid shared:4 - {kind} {kind} rw,{options}\n"
    with (proc / "self" / "mountinfo").open("a") as file:
        file.write(line)
    (point / "web").mkdir(parents=True)
    return point / "web"


def test_of_one_hierarchy_for_all(proc: Path) -> None:
    group = mount(proc, "cgroup2", "nsdelegate")
    (proc / "7" / "cgroup").write_text("0::/web\n")
    (group / "memory.current").write_text(f"{3 * _MIB}\n")
    (group / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1000000\n")
    assert cgroup_usage(7, proc=proc) == CgroupUsage(3 * _MIB, 1.5)


def test_of_one_hierarchy_for_each_controller(proc: Path) -> None:
    memory, spent = mount(proc, "cgroup", "memory"), mount(proc, "cgroup", "cpu,cpuacct")
    mount(proc, "cgroup2", "")
    (proc / "7" / "cgroup").write_text("4:memory:/web\n2:cpu,cpuacct:/web\n0::/web\n")
    (memory / "memory.usage_in_bytes").write_text(f"{5 * _MIB}\n")
    (spent / "cpuacct.usage").write_text("2500000000\n")
    assert cgroup_usage(7, proc=proc) == CgroupUsage(5 * _MIB, 2.5)


def test_of_a_hierarchy_of_which_only_a_part_is_seen(proc: Path) -> None:
    group = mount(proc, "cgroup2", "nsdelegate", root="/outer")
    (proc / "7" / "cgroup").write_text("0::/outer/web\n")
    (group / "memory.current").write_text(f"{_MIB}\n")
    assert cgroup_usage(7, proc=proc) == CgroupUsage(_MIB, None)


def test_of_a_process_that_is_gone_nothing_is_known(proc: Path) -> None:
    assert cgroup_usage(8, proc=proc) == CgroupUsage(None, None)


def test_of_this_process_nothing_is_made_up() -> None:
    usage = cgroup_usage(os.getpid())
    assert usage.memory_bytes is None or usage.memory_bytes >= 0
