"""The contract of storage: sizes in MiB, whatever its own tools speak."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageData:
    """How large a storage unit is, and how much of it is free; None: it is missing."""

    type: str
    name: str
    storage_size_mib: int | None
    storage_free_mib: int | None

    def to_wire(self) -> dict[str, Any]:
        """Return plain types."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeData:
    """A volume that was made."""

    name: str
    size_mib: int
    #: Where instances find it.
    path: str
    #: raw, qcow2 or dir.
    format: str = "raw"

    def to_wire(self) -> dict[str, Any]:
        """Return plain types."""
        return asdict(self)


class StorageFault(Exception):
    """What storage raises when something cannot be done; the sentence is for people and holds no secret."""

    retryable: ClassVar[bool] = False


class StorageFull(StorageFault):
    """There is not so much room."""


class StorageOptions(BaseModel):
    """Base of the options of storage: what ``[agent.storage.NAME]`` may say besides ``type``."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def fault_of_size(size_mib: int) -> str:
    """Return what is wrong with the size of a volume; empty: nothing."""
    return "" if size_mib >= 1 else f"expected a size of at least 1 MiB, found {size_mib}"


class Storage(ABC):
    """Base of storage; one instance is one unit, and serves all threads of an agent.

    Every method that changes something does no harm when it is done again.
    """

    #: Such as ``file``: the name of the entry point.
    kind: ClassVar[str]
    #: One sentence for people.
    description: ClassVar[str] = ""
    Options: ClassVar[type[StorageOptions]] = StorageOptions
    #: What templates may say in ``options`` of a volume; None: nothing, or anything.
    VolumeOptions: ClassVar[type[BaseModel] | None] = None

    def __init__(self, name: str, options: Any, directory: Path) -> None:
        """Keep what is needed. ``directory`` is the unit's own, on the node's disk, should it want one."""
        self.name, self.options, self.directory = name, options, directory

    @abstractmethod
    def probe(self) -> str:
        """Return why it cannot be used on this machine; empty: it can."""

    @abstractmethod
    def info(self, *, exclusive: bool = False) -> StorageData:
        """Return size and room."""

    @abstractmethod
    def volumes(self) -> Sequence[VolumeData]:
        """Return all volumes it knows."""

    def volume(self, name: str) -> VolumeData | None:
        """Return one volume; None: there is none, for sure."""
        return next((each for each in self.volumes() if each.name == name), None)

    @abstractmethod
    def create(self, name: str, *, size_mib: int, options: Mapping[str, Any]) -> VolumeData:
        """Make a volume, or return the one of this name and size that is there.

        Raises:
            StorageFull: there is not so much room.
            StorageFault: it cannot be made.
        """

    @abstractmethod
    def grow(self, name: str, *, size_mib: int) -> VolumeData:
        """Make a volume larger; one that is that large already is no error, a larger one is.

        Raises:
            StorageFault: there is none, or it is larger.
        """

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a volume with all that is on it; one that is not there is no error."""
