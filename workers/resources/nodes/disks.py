"""The disks of an instance: volumes of other resources, and disks that live and die with it."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from hooks.values.dataclass import dataclass
from orchestrator.definition import UNKNOWN, is_unknown
from orchestrator.plugins.constraints import Range
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import PropertyError
from workers.resources.nodes.placing import number_or_zero
from workers.resources.nodes.volume import DEFAULT_STORAGE
from workers.resources.schemas import boolean, integer, listing, mapping, text

DISKS_PROPERTY = listing(
    "Its disks, in their order. Other disks need another instance.",
    default=[],
    schema=mapping(
        schema={
            "volume": text(
                "An existing volume: a reference to an `Isotherm::Node::Volume` on the same node."
            ),
            "size": integer(
                "In MiB, instead of `volume`: a disk that is made for the instance, and removed with it.",
                constraints=(Range(min=1),),
            ),
            "storage": text(
                "The storage unit in which a disk of a `size` is made.",
                default=DEFAULT_STORAGE,
                constraints=(Custom("node.storage"),),
            ),
            "readonly": boolean("Whether the instance may only read it.", default=False),
        }
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedDisk:
    """One disk of the property ``disks``."""

    #: The id of a volume; empty: a disk of the instance's own.
    volume: str = ""
    size_mib: int = 0
    storage: str = DEFAULT_STORAGE
    readonly: bool = False

    @classmethod
    def parse(cls, disks: Any) -> tuple[Self, ...]:
        """Return the disks of the property ``disks``, converted or not; unknown values are left empty."""
        if not isinstance(disks, (list, tuple)):
            return ()
        return tuple(cls._of(each) for each in disks if isinstance(each, Mapping))

    @classmethod
    def _of(cls, disk: Mapping[str, Any]) -> Self:
        volume, storage = disk.get("volume"), disk.get("storage")
        return cls(
            volume=volume if isinstance(volume, str) else "",
            size_mib=number_or_zero(disk.get("size")),
            storage=storage if isinstance(storage, str) and storage else DEFAULT_STORAGE,
            readonly=disk.get("readonly") is True,
        )


def refuse_vague_disks(disks: Sequence[Any]) -> None:
    """Refuse disks with neither a volume nor a size, or with both.

    Raises:
        PropertyError: with the path of the disk at fault.
    """
    for index, disk in enumerate(disks):
        if not isinstance(disk, Mapping):
            continue
        keys = [
            name for name in ("volume", "size") if disk.get(name) is not None or disk.get(name) is UNKNOWN
        ]
        if len(keys) != 1 and not is_unknown(disk):
            found = "both" if keys else "neither"
            raise PropertyError(("disks", index), f"expected one of volume and size, found {found}")


def room_asked(disks: object) -> dict[str, int]:
    """Return the MiB of an instance's own disks, by storage unit."""
    room: dict[str, int] = {}
    for disk in RequestedDisk.parse(disks):
        if disk.size_mib:
            room[disk.storage] = room.get(disk.storage, 0) + disk.size_mib
    return room


def node_of_volumes(disks: object) -> str:
    """Return the node in the ids of an instance's volumes, as far as they are known; empty if there is none."""
    return next(
        (disk.volume.partition("/")[0] for disk in RequestedDisk.parse(disks) if "/" in disk.volume), ""
    )
