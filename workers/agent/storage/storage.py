"""The contract of storage: sizes in MiB, whatever units its own tools use."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageData:
    """The size and the free space of a storage unit; None: it is missing."""

    type: str
    name: str
    storage_size_mib: int | None
    storage_free_mib: int | None

    def to_wire(self) -> dict[str, Any]:
        """Return plain types."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeData:
    """An existing volume."""

    name: str
    size_mib: int
    #: Its path, for instances.
    path: str
    #: raw, qcow2 or dir.
    format: str = "raw"

    def to_wire(self) -> dict[str, Any]:
        """Return plain types."""
        return asdict(self)


class StorageFault(Exception):
    """Raised by storage when an operation fails; the message is for users and holds no secret."""

    retryable: ClassVar[bool] = False


class StorageFull(StorageFault):
    """The unit is full."""


class StorageOptions(BaseModel):
    """Base of the options of storage: the settings ``[agent.storage.NAME]`` besides ``type``."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def fault_of_size(size_mib: int) -> str:
    """Return the fault of a volume's size; empty: none."""
    return "" if size_mib >= 1 else f"expected a size of at least 1 MiB, found {size_mib}"


class Storage(ABC):
    """Base of storage; one instance is one unit, and serves all threads of an agent.

    Every method that changes something is idempotent.
    """

    #: Such as ``file``: the name of the entry point.
    kind: ClassVar[str]
    #: One sentence, shown to operators.
    description: ClassVar[str] = ""
    Options: ClassVar[type[StorageOptions]] = StorageOptions
    #: The type of ``options`` of a volume; None: not checked.
    VolumeOptions: ClassVar[type[BaseModel] | None] = None

    def __init__(self, name: str, options: Any, directory: Path) -> None:
        """Keep the arguments. ``directory`` is the unit's own, on the machine's disk, if it needs one."""
        self.name, self.options, self.directory = name, options, directory

    @abstractmethod
    def probe(self) -> str:
        """Return why it cannot be used on this machine; empty: it can."""

    @abstractmethod
    def info(self, *, exclusive: bool = False) -> StorageData:
        """Return size and free space."""

    @abstractmethod
    def volumes(self) -> Sequence[VolumeData]:
        """Return all its volumes."""

    def volume(self, name: str) -> VolumeData | None:
        """Return one volume; None: it certainly does not exist."""
        return next((each for each in self.volumes() if each.name == name), None)

    @abstractmethod
    def create(self, name: str, *, size_mib: int, options: Mapping[str, Any]) -> VolumeData:
        """Make a volume, or return the existing one of this name and size.

        Raises:
            StorageFull: the unit is full.
            StorageFault: it cannot be made.
        """

    @abstractmethod
    def grow(self, name: str, *, size_mib: int) -> VolumeData:
        """Make a volume larger; one that is that large already is no error, a larger one is.

        Raises:
            StorageFault: it does not exist, or is larger.
        """

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a volume with its content; a missing one is no error."""
