"""``file``: volumes are files or directories of a file system."""

import os
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from cache.stores.private_files import make_private_directory, sync_directory
from workers.agent.fence import check_fence
from workers.agent.names import fault_of_name
from workers.agent.options import read_options
from workers.agent.records import read_record, write_record
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
#: The unit of ``st_blocks``, whatever the file system.
_BLOCK_BYTES: Final = 512
_FULL: Final = frozenset({ENOSPC, EDQUOT, EFBIG})
#: A prefix of unfinished files: no volume's name begins with a dot.
_MAKING: Final = ".making-"
_LEAVING: Final = ".leaving-"


class FileStorageOptions(StorageOptions):
    """The directory of the volumes, and how much of it may be used."""

    directory: Path | None = Field(
        default=None,
        description="The directory of the volumes; it must exist, so that a disk that is not mounted is "
        "detected. Empty: the agent's own directory.",
    )
    limit_mib: int | None = Field(
        default=None, ge=0, description="The total size of all volumes; empty: that of the file system."
    )


class FileVolumeOptions(BaseModel):
    """The options of one volume."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["raw", "dir"] = Field(
        default="raw",
        description="raw (a file as large as the volume) or dir (a directory, whose size is reserved, but not "
        "enforced).",
    )
    preallocate: bool = Field(
        default=False,
        description="Whether the room of a file is allocated at once, instead of on writing.",
    )


class FileStorage(Storage):
    """Volumes are sparse or preallocated files, or directories."""

    kind = "file"
    description = "Volumes are files or directories of a file system."
    Options = FileStorageOptions
    VolumeOptions = FileVolumeOptions

    def __init__(self, name: str, options: FileStorageOptions, directory: Path) -> None:
        super().__init__(name, options, directory)
        self._root = options.directory or directory
        # Checking for free space and taking it are one step.
        self._lock = threading.Lock()

    def probe(self) -> str:
        """Return why the directory cannot be used; empty: it can."""
        if self.options.directory is None:
            return ""
        if not self._root.is_dir():
            return f"there is no directory {self._root}"
        return "" if os.access(self._root, os.W_OK | os.X_OK) else f"{self._root} cannot be written to"

    def info(self, *, exclusive: bool = False) -> StorageData:  # noqa: ARG002 -- a file system is of one piece
        """Return the size of the file system, and its free space for users other than root.

        Space that volumes reserve and have not used yet is not free.
        """
        size, free = self._room()
        return StorageData(type=self.kind, name=self.name, storage_size_mib=size, storage_free_mib=free)

    def volumes(self) -> Sequence[VolumeData]:
        """Return the volumes that exist and are complete."""
        with self._faults():
            names = sorted(path.name for path in self._root.glob("[!.]*")) if self._root.is_dir() else []
            found = [self._find(name) for file in names for name, _, _ in (file.rpartition("."),)]
        return [volume for volume in found if volume is not None]

    def volume(self, name: str) -> VolumeData | None:
        """Return one."""
        with self._faults():
            return None if fault_of_name(name) else self._find(name)

    def create(self, name: str, *, size_mib: int, options: Mapping[str, Any]) -> VolumeData:
        """Make a file or a directory.

        Raises:
            StorageFull: the unit is full.
            StorageFault: the name or an option is invalid, or another volume has this name.
        """
        if fault := fault_of_name(name) or self._fault_of_place() or fault_of_size(size_mib):
            raise StorageFault(fault)
        volume_options = read_options(FileVolumeOptions, options, fault=StorageFault)
        with self._lock, self._faults():
            if (found := self._find(name)) is not None:
                return self._same(found, size_mib=size_mib, form=volume_options.format)
            self._refuse_more_than_is_free(size_mib)
            if volume_options.format == "dir":
                self._make_directory(name, size_mib)
            else:
                self._make_file(name, size_mib, preallocate=volume_options.preallocate)
            return self._get(name)

    def grow(self, name: str, *, size_mib: int) -> VolumeData:
        """Make a file longer, or raise a directory's reserved size.

        Raises:
            StorageFull: the unit is full.
            StorageFault: it does not exist, or is larger.
        """
        with self._lock, self._faults():
            found = self._get(name)
            if found.size_mib > size_mib:
                raise StorageFault(
                    f"volume {name!r} has {found.size_mib} MiB already, and a volume is never made smaller"
                )
            if found.size_mib < size_mib:
                self._refuse_more_than_is_free(size_mib - found.size_mib)
                if found.format == "dir":
                    write_record(self._promise(name), {"size_mib": size_mib})
                else:
                    _lengthen(Path(found.path), size_mib)
            return self._get(name)

    def remove(self, name: str) -> None:
        """Remove a file, or a directory with its content."""
        if fault_of_name(name):
            return
        with self._lock, self._faults():
            check_fence()
            self._file(name).unlink(missing_ok=True)
            # What an agent that died, or was fenced off, has left unfinished.
            (self._root / f"{_MAKING}{name}").unlink(missing_ok=True)
            leaving = self._root / f"{_LEAVING}{name}"
            if self._directory(name).exists():
                # It stops being a volume at once, and is emptied afterwards, however long that takes.
                shutil.rmtree(leaving, ignore_errors=True)
                self._directory(name).rename(leaving)
            if leaving.exists():
                shutil.rmtree(leaving)
            self._promise(name).unlink(missing_ok=True)

    # -- paths -------------------------------------------------------------------------------------------------

    def _file(self, name: str) -> Path:
        return self._root / f"{name}.raw"

    def _directory(self, name: str) -> Path:
        return self._root / f"{name}.dir"

    def _promise(self, name: str) -> Path:
        """The file with the size of a directory."""
        return self._root / f".{name}.size"

    def _find(self, name: str) -> VolumeData | None:
        file, directory = self._file(name), self._directory(name)
        if file.is_file():
            size = file.stat().st_size // _BYTES_PER_MIB
            return VolumeData(name=name, size_mib=size, path=str(file))
        if directory.is_dir() and (promise := read_record(self._promise(name))) is not None:
            return VolumeData(name=name, size_mib=promise["size_mib"], path=str(directory), format="dir")
        return None

    def _get(self, name: str) -> VolumeData:
        found = None if fault_of_name(name) else self._find(name)
        if found is None:
            raise StorageFault(f"there is no volume {name!r} in storage {self.name!r}")
        return found

    def _same(self, found: VolumeData, *, size_mib: int, form: str) -> VolumeData:
        if (found.size_mib, found.format) == (size_mib, form):
            return found
        raise StorageFault(
            f"volume {found.name!r} is there already with {found.size_mib} MiB as {found.format}, "
            f"expected {size_mib} MiB as {form}"
        )

    def _fault_of_place(self) -> str:
        if reason := self.probe():
            return reason
        make_private_directory(self._root)
        return ""

    # -- space -------------------------------------------------------------------------------------------------

    def _room(self) -> tuple[int | None, int | None]:
        """Return size and free space; None where the directory is missing."""
        place = self._root if self.options.directory is not None else _nearest_existing(self._root)
        try:
            system = os.statvfs(place)
        except FileNotFoundError:
            return None, None
        volumes = self.volumes()
        size = system.f_blocks * system.f_frsize // _BYTES_PER_MIB
        free = system.f_bavail * system.f_frsize // _BYTES_PER_MIB - sum(map(_unused_mib, volumes))
        if (limit := self.options.limit_mib) is not None:
            size, free = min(size, limit), min(free, limit - sum(each.size_mib for each in volumes))
        return size, max(0, free)

    def _refuse_more_than_is_free(self, size_mib: int) -> None:
        _, free = self._room()
        if free is None or size_mib > free:
            raise StorageFull(f"storage {self.name!r} has {free or 0} MiB free, {size_mib} MiB are needed")

    # -- creation ----------------------------------------------------------------------------------------------

    def _make_file(self, name: str, size_mib: int, *, preallocate: bool) -> None:
        making = self._root / f"{_MAKING}{name}"
        making.unlink(missing_ok=True)
        descriptor = os.open(making, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.ftruncate(descriptor, size_mib * _BYTES_PER_MIB)
            if preallocate:
                os.posix_fallocate(descriptor, 0, size_mib * _BYTES_PER_MIB)
            os.fsync(descriptor)
        except OSError:
            making.unlink()
            raise
        finally:
            os.close(descriptor)
        check_fence()
        making.rename(self._file(name))
        sync_directory(self._root)

    def _make_directory(self, name: str, size_mib: int) -> None:
        # Without its directory a size is no volume: an interrupted step is repeated.
        write_record(self._promise(name), {"size_mib": size_mib})
        check_fence()
        self._directory(name).mkdir(mode=0o700, exist_ok=True)
        sync_directory(self._root)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            problem = f"storage {self.name!r}: {error.strerror or 'the file system failed'}"
            raise (StorageFull if error.errno in _FULL else StorageFault)(problem) from error
        except (KeyError, ValueError) as error:
            raise StorageFault(f"storage {self.name!r}: the size of a directory is damaged") from error


def _unused_mib(volume: VolumeData) -> int:
    """Return how much a file may still take; of a directory that is unknown without reading all of it."""
    if volume.format == "dir":
        return 0
    try:
        found = Path(volume.path).stat()
    except FileNotFoundError:
        return 0
    return max(0, found.st_size - found.st_blocks * _BLOCK_BYTES) // _BYTES_PER_MIB


def _lengthen(file: Path, size_mib: int) -> None:
    """Make a file longer; a preallocated one is preallocated in full again."""
    check_fence()
    with file.open("r+b") as opened:
        found = os.fstat(opened.fileno())
        length = size_mib * _BYTES_PER_MIB
        if found.st_size and found.st_blocks * _BLOCK_BYTES >= found.st_size:
            os.posix_fallocate(opened.fileno(), 0, length)
        os.ftruncate(opened.fileno(), length)
        os.fsync(opened.fileno())


def _nearest_existing(path: Path) -> Path:
    return next(each for each in (path, *path.absolute().parents) if each.exists())
