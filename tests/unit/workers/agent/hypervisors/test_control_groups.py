"""Where limits are set, in both versions of control groups; a directory stands for the kernel's."""

import os
from pathlib import Path

import pytest

from workers.agent.hypervisors import control_groups
from workers.agent.hypervisors.control_groups import CPU, MEMORY, ControlGroups, Tree, trees_of
from workers.agent.hypervisors.hypervisor import HypervisorFault

FIRST = """\
tmpfs /sys/fs/cgroup tmpfs rw 0 0
cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0
cgroup /sys/fs/cgroup/my\\040memory cgroup rw,relatime,memory 0 0
cgroup2 /no/such/place cgroup2 rw,relatime 0 0
"""


def test_in_the_first_version_each_controller_has_a_tree() -> None:
    assert trees_of(FIRST) == {
        CPU: Tree(Path("/sys/fs/cgroup/cpu,cpuacct"), 1),
        MEMORY: Tree(Path("/sys/fs/cgroup/my memory"), 1),
    }


@pytest.fixture
def second(tmp_path: Path) -> Path:
    """A tree of the second version, in which nothing was handed on yet."""
    root = tmp_path / "cgroup"
    for group in (root, root / "isotherm", root / "isotherm" / "instances"):
        group.mkdir()
        (group / "cgroup.subtree_control").write_text("io\n")
    (root / "cgroup.controllers").write_text("io memory cpu\n")
    return root


def test_in_the_second_version_all_share_one(second: Path) -> None:
    mounts = f"cgroup2 {second} cgroup2 rw,nosuid 0 0\n"
    assert trees_of(mounts) == {CPU: Tree(second, 2), MEMORY: Tree(second, 2)}
    (second / "cgroup.controllers").write_text("io memory\n")
    assert trees_of(mounts) == {MEMORY: Tree(second, 2)}


def test_in_the_second_version_limits_are_handed_down_to_the_instance(
    second: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[str, str]] = []

    def write(file: Path, value: int | str) -> None:
        written.append((str(file.relative_to(second)), str(value)))

    monkeypatch.setattr(control_groups, "_write", write)
    groups = ControlGroups("isotherm/instances", {MEMORY: Tree(second, 2), CPU: Tree(second, 2)})
    assert groups.fault() == ""
    joined = groups.make("web", memory_mib=64, vcpus=2)
    assert joined == [second / "isotherm" / "instances" / "web" / "cgroup.procs"]
    handing = [
        "cgroup.subtree_control",
        "isotherm/cgroup.subtree_control",
        "isotherm/instances/cgroup.subtree_control",
    ]
    assert written == [
        *((file, "+memory") for file in handing),
        *((file, "+cpu") for file in handing),
        ("isotherm/instances/web/memory.max", str(64 << 20)),
        ("isotherm/instances/web/cpu.max", "200000 100000"),
    ]
    (second / "isotherm/instances/web/memory.events").write_text("low 0\noom 3\noom_kill 2\n")
    assert groups.killed_for_memory("web") == 2
    assert groups.killed_for_memory("other") == 0


def test_a_controller_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "memory" in ControlGroups("isotherm", {}).fault()
    assert "cpu" in ControlGroups("isotherm", {MEMORY: Tree(tmp_path, 1)}).fault()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_groups_that_cannot_be_made_are_found_before_anything_is_tried(second: Path) -> None:
    second.chmod(0o500)
    assert "cannot be made" in ControlGroups("other", {MEMORY: Tree(second, 2), CPU: Tree(second, 2)}).fault()


def test_what_the_kernel_refuses_is_told_by_its_file(tmp_path: Path) -> None:
    groups = ControlGroups("isotherm", {MEMORY: Tree(tmp_path, 2), CPU: Tree(tmp_path, 2)})
    with pytest.raises(HypervisorFault, match=r"subtree_control: No such file"):
        groups.make("web", memory_mib=64, vcpus=1)
