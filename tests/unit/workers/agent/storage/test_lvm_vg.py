"""Volumes in a volume group on two loop devices; skipped where that cannot be had."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.workers.agent.storage.contract import StorageContract, room
from workers.agent.storage import lvm_tools
from workers.agent.storage.lvm_tools import LvmTools, has_device_mapper, reason_of
from workers.agent.storage.lvm_vg import LvmVg, LvmVgOptions, PhysicalVolume, whole_disks
from workers.agent.storage.storage import StorageFault, StorageFull

GROUP = f"isotherm-test-{os.getpid()}"
#: Of a disk's 48 MiB LVM keeps one extent for itself.
DISK_MIB = 44
EXTENT_MIB = 4


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A volume group of two disks."""
    if reason := LvmTools().fault():
        pytest.skip(reason)
    if shutil.which("losetup") is None:
        pytest.skip("losetup was not found")
    disks: list[str] = []
    try:
        for name in ("one", "two"):
            image = tmp_path_factory.mktemp("disks") / name
            with image.open("wb") as file:
                file.truncate(48 << 20)
            attached = run("losetup", "--find", "--show", str(image))
            if attached.returncode:
                pytest.skip(f"no loop device can be had: {attached.stderr.strip()}")
            disks.append(attached.stdout.strip())
        made = run("vgcreate", GROUP, *disks)
        assert made.returncode == 0, made.stderr
        yield GROUP
        run("vgremove", "--yes", GROUP)
    finally:
        for disk in disks:
            run("pvremove", "--yes", disk)
            run("losetup", "--detach", disk)


def run(tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    driver = [] if LvmTools().devices or tool == "losetup" else ["--driverloaded", "n"]
    env = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin", "LVM_SUPPRESS_FD_WARNINGS": "1"}
    return subprocess.run([tool, *driver, *arguments], capture_output=True, text=True, env=env, check=False)


class TestLvmVg(StorageContract):
    step_mib = EXTENT_MIB

    @pytest.fixture(autouse=True)
    def _group(self, group: str) -> None:
        """There is one."""

    def make(self, directory: Path) -> LvmVg:
        return LvmVg("data", LvmVgOptions(volume_group=GROUP, without_devices=True), directory)

    def test_it_is_as_large_as_its_disks_are_together(self, storage: LvmVg) -> None:
        assert room(storage) == (2 * DISK_MIB, 2 * DISK_MIB)

    def test_sizes_are_rounded_up_and_remembered_as_they_were_asked_for(self, storage: LvmVg) -> None:
        assert storage.create("data", size_mib=5, options={}).size_mib == 5
        assert room(storage)[1] == 2 * DISK_MIB - 8
        assert storage.create("data", size_mib=5, options={}).size_mib == 5
        assert storage.grow("data", size_mib=7).size_mib == 7
        assert room(storage)[1] == 2 * DISK_MIB - 8
        with pytest.raises(StorageFault, match="7 MiB"):
            storage.grow("data", size_mib=6)

    def test_a_growth_that_was_interrupted_is_brought_to_its_end(self, storage: LvmVg) -> None:
        storage.create("data", size_mib=5, options={})
        assert run("lvextend", "-L", "16m", f"{GROUP}/data").returncode == 0
        volume = storage.volume("data")
        assert volume is not None
        assert volume.size_mib == 16
        assert storage.grow("data", size_mib=16).size_mib == 16

    def test_what_others_have_made_is_not_touched(self, storage: LvmVg) -> None:
        quiet = [] if LvmTools().devices else ["-an", "-Zn", "-Wn"]
        assert run("lvcreate", "--yes", *quiet, "-n", "theirs", "-L", "4m", GROUP).returncode == 0
        assert list(storage.volumes()) == []
        with pytest.raises(StorageFault, match="not made by an agent"):
            storage.create("theirs", size_mib=4, options={})
        with pytest.raises(StorageFault, match="not made by an agent"):
            storage.grow("theirs", size_mib=8)
        with pytest.raises(StorageFault, match="not made by an agent"):
            storage.remove("theirs")
        assert room(storage)[1] == 2 * DISK_MIB - 4
        assert run("lvremove", "--yes", f"{GROUP}/theirs").returncode == 0

    def test_exclusive_room_is_that_of_untouched_disks(self, storage: LvmVg) -> None:
        assert storage.info(exclusive=True).storage_free_mib == 2 * DISK_MIB
        storage.create("data", size_mib=4, options={})
        assert storage.info(exclusive=True).storage_free_mib == DISK_MIB

    def test_a_name_that_lvm_keeps_for_itself_is_refused_in_its_words(self, storage: LvmVg) -> None:
        with pytest.raises(StorageFault, match="reserved"):
            storage.create("snapshot1", size_mib=4, options={})

    def test_volumes_that_share_no_disk(self, storage: LvmVg, directory: Path) -> None:
        alone = LvmVg(
            "alone", LvmVgOptions(volume_group=GROUP, exclusive=True, without_devices=True), directory
        )
        alone.create("one", size_mib=8, options={})
        assert room(alone) == (2 * DISK_MIB, DISK_MIB)
        alone.create("two", size_mib=8, options={})
        assert room(alone)[1] == 0
        with pytest.raises(StorageFull, match="0 MiB free for it, 4 MiB"):
            alone.create("three", size_mib=4, options={})
        # What is left of its own disk is its own.
        assert alone.grow("one", size_mib=DISK_MIB).size_mib == DISK_MIB
        with pytest.raises(StorageFull, match="0 MiB free for it"):
            alone.grow("one", size_mib=DISK_MIB + EXTENT_MIB)
        alone.remove("two")
        assert alone.grow("one", size_mib=DISK_MIB + EXTENT_MIB).size_mib == DISK_MIB + EXTENT_MIB
        assert room(alone)[1] == 0

    def test_a_group_that_is_missing_has_no_size(self, tmp_path: Path) -> None:
        missing = LvmVg("data", LvmVgOptions(volume_group="no-such-group", without_devices=True), tmp_path)
        info = missing.info()
        assert (info.storage_size_mib, info.storage_free_mib) == (None, None)
        assert list(missing.volumes()) == []
        missing.remove("data")
        with pytest.raises(StorageFault, match="no volume group 'no-such-group'"):
            missing.create("data", size_mib=4, options={})


def test_a_group_that_must_not_be_written_to_is_as_good_as_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = LvmVg("data", LvmVgOptions(), tmp_path)
    group = {"vg_name": "data", "vg_size": "1", "vg_free": "1", "vg_attr": "rz--n-", "vg_extent_size": "1"}
    monkeypatch.setattr(storage._tools, "report", lambda *_: [group])
    assert storage.info().storage_size_mib is None


def test_without_devices_volumes_are_made_only_if_that_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LvmTools, "fault", lambda self: "")
    storage = LvmVg("data", LvmVgOptions(), tmp_path)
    monkeypatch.setattr(storage._tools, "devices", False)
    assert "device mapper" in storage.probe()
    monkeypatch.setattr(storage._tools, "devices", True)
    assert storage.probe() == ""


def test_a_device_file_without_a_driver_is_no_device_mapper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lvm_tools, "_DEVICE_MAPPER", str(tmp_path / "control"))
    assert not has_device_mapper()
    (tmp_path / "control").touch()
    assert has_device_mapper()


def test_of_what_lvm_says_the_reason_is_told() -> None:
    warning, hint = "WARNING: Activation disabled.", "  Run `lvcreate --help' for more."
    said = f'{warning}\n  Names starting "snapshot" are reserved.\n{hint}\n'
    assert reason_of(said) == 'Names starting "snapshot" are reserved.'
    assert reason_of("  WARNING: only this\n") == ""


@pytest.mark.parametrize(
    ("size", "names"),
    [
        (0, []),
        (10, ["small"]),
        (11, ["middle"]),
        (31, ["large", "middle"]),
        (60, ["large", "middle", "small"]),
    ],
)
def test_the_smallest_disk_that_suffices_is_taken_and_never_one_in_use(size: int, names: list[str]) -> None:
    disks = [
        PhysicalVolume("large", 30, 30),
        PhysicalVolume("used", 40, 39),
        PhysicalVolume("small", 10, 10),
        PhysicalVolume("middle", 20, 20),
    ]
    assert [each.name for each in whole_disks(disks, size)] == names
