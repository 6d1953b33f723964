"""``lvm-vg``: volumes are logical volumes of a volume group.

The owner of a volume is recorded in LVM's tags alone; foreign logical volumes in the
same group are neither listed nor touched.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from workers.agent.names import fault_of_name
from workers.agent.options import read_options
from workers.agent.storage.lvm_tools import LvmTools
from workers.agent.storage.storage import (
    Storage,
    StorageData,
    StorageFault,
    StorageFull,
    StorageOptions,
    VolumeData,
    fault_of_size,
)

_BYTES_PER_MIB: Final = 1024 * 1024
_OURS: Final = "isotherm"
#: The tag with the requested size, in MiB: LVM rounds up to its extents.
_REQUESTED: Final = "isotherm.asked="


class LvmVgOptions(StorageOptions):
    """The volume group, and its use."""

    volume_group: str = Field(
        default="",
        pattern=r"^[A-Za-z0-9_+.][A-Za-z0-9_+.-]*$|^$",
        description="The name of the volume group; empty: that of the unit.",
    )
    exclusive: bool = Field(
        default=False,
        description="Whether each volume has physical volumes of its own, so that no two volumes share a "
        "disk.",
    )
    without_devices: bool = Field(
        default=False,
        description="Whether volumes are made even if the kernel has no device mapper. Their sizes are real, "
        "but they hold no data: for tests.",
    )


class LvmVolumeOptions(BaseModel):
    """The options of one volume: none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class PhysicalVolume:
    """A disk of a volume group, as far as volumes may be put there; in bytes."""

    name: str
    size: int
    free: int

    @property
    def whole(self) -> bool:
        """Whether it is empty."""
        return self.free == self.size


class LvmVg(Storage):
    """Logical volumes of one volume group."""

    kind = "lvm-vg"
    description = "Volumes are logical volumes of an LVM volume group."
    Options = LvmVgOptions

    def __init__(self, name: str, options: LvmVgOptions, directory: Path) -> None:
        super().__init__(name, options, directory)
        self._group = options.volume_group or name
        self._tools = LvmTools()
        # Checking for free space and taking it are one step.
        self._lock = threading.Lock()

    def probe(self) -> str:
        """Return why LVM or its volumes cannot be used; empty: they can."""
        if fault := self._tools.fault():
            return fault
        if not self._tools.devices and not self.options.without_devices:
            return "the kernel has no device mapper, so that volumes would have no devices (option without_devices)"
        return ""

    def info(self, *, exclusive: bool = False) -> StorageData:
        """Return the group's size and free space; exclusive: only empty physical volumes count."""
        found = self._find_group()
        size = free = None
        if found is not None:
            whole = exclusive or self.options.exclusive
            room = sum(each.free for each in self._disks() if each.whole) if whole else int(found["vg_free"])
            size, free = int(found["vg_size"]) // _BYTES_PER_MIB, room // _BYTES_PER_MIB
        return StorageData(type=self.kind, name=self.name, storage_size_mib=size, storage_free_mib=free)

    def volumes(self) -> Sequence[VolumeData]:
        """Return the volumes that were made here."""
        return [_volume(row) for row in self._logical_volumes() if _OURS in _tags(row)]

    def create(self, name: str, *, size_mib: int, options: Mapping[str, Any]) -> VolumeData:
        """Make a logical volume.

        Raises:
            StorageFull: the unit is full.
            StorageFault: the name or an option is invalid, or another volume has this name.
        """
        if fault := fault_of_name(name) or fault_of_size(size_mib):
            raise StorageFault(fault)
        read_options(LvmVolumeOptions, options, fault=StorageFault)
        with self._lock:
            if (row := self._find(name)) is not None:
                return self._same(row, size_mib)
            size = _rounded(size_mib, self._extent())
            disks = self._disks_for(size)
            tags = ["--addtag", _OURS, "--addtag", f"{_REQUESTED}{size_mib}"]
            quiet = [] if self._tools.devices else ["-an", "-Zn", "-Wn"]
            self._tools.change("lvcreate", *quiet, *tags, "-n", name, "-L", f"{size}b", self._group, *disks)
            return _volume(self._row(name))

    def grow(self, name: str, *, size_mib: int) -> VolumeData:
        """Make a logical volume larger.

        Raises:
            StorageFull: the unit is full.
            StorageFault: it does not exist, or is larger.
        """
        with self._lock:
            row = self._row(name)
            found, size = _volume(row), int(row["lv_size"])
            wanted = _rounded(size_mib, int(row["vg_extent_size"]))
            if size > wanted or (size == wanted and found.size_mib > size_mib):
                raise StorageFault(
                    f"volume {name!r} has {found.size_mib} MiB already, and a volume is never made smaller"
                )
            if size < wanted:
                disks = self._disks_for(wanted - size, beside=name)
                self._tools.change("lvextend", "-L", f"{wanted}b", f"{self._group}/{name}", *disks)
            old = [each for tag in _tags(row) if tag.startswith(_REQUESTED) for each in ("--deltag", tag)]
            if found.size_mib != size_mib:
                self._tools.change(
                    "lvchange", *old, "--addtag", f"{_REQUESTED}{size_mib}", f"{self._group}/{name}"
                )
            return _volume(self._row(name))

    def remove(self, name: str) -> None:
        """Remove a logical volume that was made here.

        Raises:
            StorageFault: the logical volume is foreign.
        """
        if fault_of_name(name):
            return
        with self._lock:
            if (row := self._find(name)) is None:
                return
            if _OURS not in _tags(row):
                raise self._strange(name)
            self._tools.change("lvremove", f"{self._group}/{name}")

    def _find_group(self) -> Mapping[str, str] | None:
        """Return the group, unless it is missing or must not be written to."""
        fields = ("vg_name", "vg_size", "vg_free", "vg_attr", "vg_extent_size")
        rows = self._tools.report("vgs", fields, "--select", f"vg_name={self._group}")
        return next((row for row in rows if not row["vg_attr"].startswith("r")), None)

    def _extent(self) -> int:
        """Return the extent size in bytes, of which all sizes are multiples."""
        if (group := self._find_group()) is None:
            raise StorageFault(f"there is no volume group {self._group!r} that can be written to")
        return int(group["vg_extent_size"])

    def _logical_volumes(self) -> list[Mapping[str, str]]:
        fields = ("lv_name", "lv_size", "lv_path", "lv_tags", "vg_extent_size")
        return self._tools.report("lvs", fields, "--select", f"vg_name={self._group}")

    def _find(self, name: str) -> Mapping[str, str] | None:
        return next((row for row in self._logical_volumes() if row["lv_name"] == name), None)

    def _row(self, name: str) -> Mapping[str, str]:
        row = None if fault_of_name(name) else self._find(name)
        if row is None:
            raise StorageFault(f"there is no volume {name!r} in storage {self.name!r}")
        if _OURS not in _tags(row):
            raise self._strange(name)
        return row

    def _same(self, row: Mapping[str, str], size_mib: int) -> VolumeData:
        if _OURS not in _tags(row):
            raise self._strange(row["lv_name"])
        found = _volume(row)
        if found.size_mib == size_mib:
            return found
        raise StorageFault(
            f"volume {found.name!r} is there already with {found.size_mib} MiB, expected {size_mib} MiB"
        )

    def _strange(self, name: str) -> StorageFault:
        return StorageFault(
            f"logical volume {self._group}/{name} was not made by an agent, and is not touched"
        )

    def _disks(self) -> list[PhysicalVolume]:
        fields = ("pv_name", "pv_size", "pv_free", "pv_attr")
        rows = self._tools.report("pvs", fields, "--select", f"vg_name={self._group}")
        usable = (row for row in rows if row["pv_attr"].startswith("a"))
        return [PhysicalVolume(row["pv_name"], int(row["pv_size"]), int(row["pv_free"])) for row in usable]

    def _disks_for(self, size: int, *, beside: str = "") -> list[str]:
        """Return the physical volumes to which an enlargement is restricted; none: LVM's choice."""
        disks = self._disks()
        if not self.options.exclusive:
            self._refuse_more_than(sum(each.free for each in disks), size)
            return []
        own = self._disks_of(beside) if beside else set()
        mine = [each for each in disks if each.name in own and each.free]
        chosen = whole_disks(disks, size - sum(each.free for each in mine))
        self._refuse_more_than(sum(each.free for each in (*mine, *chosen)), size)
        return [each.name for each in (*mine, *chosen)]

    def _disks_of(self, name: str) -> set[str]:
        rows = self._tools.report(
            "pvs", ("pv_name", "lv_name"), "--segments", "--select", f"vg_name={self._group}"
        )
        return {row["pv_name"] for row in rows if row["lv_name"] == name}

    def _refuse_more_than(self, free: int, size: int) -> None:
        if size > free:
            raise StorageFull(
                f"storage {self.name!r} has {free // _BYTES_PER_MIB} MiB free for it, "
                f"{size // _BYTES_PER_MIB} MiB are needed"
            )


def whole_disks(disks: Sequence[PhysicalVolume], size: int) -> list[PhysicalVolume]:
    """Return empty physical volumes that hold so many bytes together.

    The smallest single one that suffices, or else as few as possible; all, if they do not suffice.
    """
    if size <= 0:
        return []
    whole = sorted((each for each in disks if each.whole), key=lambda each: (each.free, each.name))
    if (fitting := next((each for each in whole if each.free >= size), None)) is not None:
        return [fitting]
    chosen: list[PhysicalVolume] = []
    for each in reversed(whole):
        if sum(other.free for other in chosen) >= size:
            break
        chosen.append(each)
    return chosen


def _tags(row: Mapping[str, str]) -> list[str]:
    return row["lv_tags"].split(",")


def _rounded(size_mib: int, extent: int) -> int:
    return -(-size_mib * _BYTES_PER_MIB // extent) * extent


def _volume(row: Mapping[str, str]) -> VolumeData:
    size, extent = int(row["lv_size"]), int(row["vg_extent_size"])
    requested = next(
        (int(tag.removeprefix(_REQUESTED)) for tag in _tags(row) if tag.startswith(_REQUESTED)), 0
    )
    # It may have been enlarged outside since; then its real size counts.
    size_mib = requested if _rounded(requested, extent) == size else size // _BYTES_PER_MIB
    return VolumeData(name=row["lv_name"], size_mib=size_mib, path=row["lv_path"])
