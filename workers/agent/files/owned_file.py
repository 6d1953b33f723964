"""A file owned by one resource: made, changed and removed so that no step can destroy a foreign file.

The order of every change is: record which file is about to appear (by the inode of its temporary copy),
let it appear atomically, record that it did. Whatever is interrupted, the record proves the ownership.
"""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from cache.stores.private_files import sync_directory
from orchestrator.plugins.steps import ResourceFailure, RetryableFailure
from workers.agent.fence import check_fence
from workers.agent.files.directories import MadeDirectories
from workers.agent.files.places import held, opened
from workers.agent.records import read_record, write_record

_RECORD = "file.json"
#: The extended attribute with the row of a file's resource, on file systems that have such: it proves the ownership
#: where the record is lost.
_MARK = "user.isotherm.resource"


@dataclass(frozen=True, slots=True)
class Version:
    """One content of the file: the inode that carries it, and its digest."""

    inode: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord:
    """The record of a file, written before the file is touched."""

    path: Path
    #: The stack's id and the resource's name: two rows with the same are one resource and its replacement.
    stack: str
    resource: str
    #: The contents that are, or are about to be, at the path; the last is the newest.
    versions: tuple[Version, ...] = ()
    #: Whether the file has been at the path: from then on its content proves the ownership too.
    placed: bool = False
    #: The row that took over the path, when this one was replaced.
    heir: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return plain JSON types, the inverse of :meth:`from_wire`."""
        return {
            "path": str(self.path),
            "stack": self.stack,
            "resource": self.resource,
            "versions": [[version.inode, version.sha256] for version in self.versions],
            "placed": self.placed,
            "heir": self.heir,
        }

    @classmethod
    def from_wire(cls, data: dict[str, Any]) -> Self:
        """Rebuild from plain JSON types."""
        versions = tuple(Version(*version) for version in data["versions"])
        return cls(**{**data, "path": Path(data["path"]), "versions": versions})


class OwnedFile:
    """The file of the resource whose row is ``uuid``."""

    def __init__(self, records: Path, *, uuid: str, stack: str, resource: str) -> None:
        self._records = records
        self._uuid = uuid
        self._stack = stack
        self._resource = resource
        self._made = MadeDirectories(records)

    def seen(self) -> Path | None:
        """Return the path of the file if an earlier step has made it; changes nothing."""
        record = self._read()
        return record.path if record is not None and self._is_ours(record) else None

    def find(self) -> Path | None:
        """Return the path of the file if an earlier step has made it, and complete that step."""
        record = self._read()
        if record is None or not self._is_ours(record):
            return None
        self._settle(record)
        return record.path

    def create(self, path: Path, content: bytes, mode: int, *, root: Path) -> None:
        """Make the file, and the directories between it and ``root``; repeating it is harmless.

        Raises:
            ResourceFailure: a foreign file is at the path, or the disk refuses.
        """
        self._recover(path)
        if self.find() == path:
            self.replace(path, content, mode, root=root)
            return
        self.remove()
        record = FileRecord(path=path, stack=self._stack, resource=self._resource)
        with _refusals(path):
            self._write(record)
            self._made.make(path.parent, root=root)
            version = self._prepare(path, content, mode)
            record = replace(record, versions=(version,))
            self._write(record)
            try:
                check_fence()
                # A hard link, unlike a rename, never replaces an existing file.
                with held(path) as place:
                    place.hardlink_to(self._temporary(place))
            except FileExistsError:
                self._inherit(record)
            sync_directory(path.parent)
            self._settle(record)

    def replace(self, path: Path, content: bytes, mode: int, *, root: Path) -> None:
        """Replace the content atomically, even if the file was edited meanwhile.

        Raises:
            ResourceFailure: no regular file is at the path, or that of another resource, or the disk refuses.
        """
        record = self._read()
        if record is None:
            self._refuse_others(path)
            record = FileRecord(path=path, stack=self._stack, resource=self._resource)
        if os.path.lexists(path) and not _is_regular(path):
            raise ResourceFailure(
                f"{path} is no regular file any more; move it away to let it be written again"
            )
        with _refusals(path):
            self._made.make(path.parent, root=root)
            if record.heir:
                self._bequeath(record.heir, self._uuid)
            version = self._prepare(path, content, mode)
            # The old version stays on record until the new one is in place: either may be found on the disk.
            record = replace(record, versions=(*record.versions[-1:], version), heir=None)
            self._write(record)
            self._move_into_place(path)
            sync_directory(path.parent)
            self._write(replace(record, versions=(version,), placed=True))

    def remove(self, *, spares: bool = False) -> None:
        """Remove the file if this resource owns it, directories made for it that are now empty, and the records.

        A foreign file in its place stays, and so does one that it ``spares``, as another's by now. Nothing to remove is
        no error.

        Raises:
            ResourceFailure: the disk refuses.
        """
        record = self._read()
        if record is not None:
            with _refusals(record.path):
                if record.heir is None and not spares and self._is_ours(record):
                    _discard(record.path)
                _discard(self._temporary(record.path))
                self._made.release(record.path.parent)
        check_fence()
        shutil.rmtree(self._records / self._uuid, ignore_errors=True)

    def adopt(self, path: Path, content: bytes) -> None:
        """Restore the record of a file that a row knows and the state directory has lost.

        Not where another row has a record of the same path: that is the replacement, which owns the file. Nor where the
        file bears the mark of another row.
        """
        self._recover(path)
        if self._read() is None and self._marked(path) in ("", self._uuid) and not any(self._others(path)):
            version = Version(0, hashlib.sha256(content).hexdigest())
            record = FileRecord(path=path, stack=self._stack, resource=self._resource)
            self._write(replace(record, versions=(version,), placed=True))

    def take_over(self, path: Path) -> None:
        """Make an existing file belong to this row; its content stays as it is."""
        for uuid, _ in list(self._others(path)):
            self._bequeath(uuid, self._uuid)
        with opened(path) as file:
            self._mark(file.fileno())
        self._own(path)

    def _own(self, path: Path) -> None:
        with opened(path) as file:
            version = Version(os.fstat(file.fileno()).st_ino, hashlib.file_digest(file, "sha256").hexdigest())
        record = FileRecord(path=path, stack=self._stack, resource=self._resource)
        self._write(replace(record, versions=(version,), placed=True))

    def _recover(self, path: Path) -> None:
        """Record the file again if it bears this row's mark and has no record."""
        if self._marked(path) == self._uuid and self._read() is None and not any(self._others(path)):
            with suppress(OSError):
                self._own(path)

    @staticmethod
    def _marked(path: Path) -> str:
        """Return the row whose mark a file bears; empty: none."""
        with suppress(OSError):
            return os.getxattr(path, _MARK, follow_symlinks=False).decode(errors="replace")
        return ""

    def _mark(self, file: int) -> None:
        # Not every file system has extended attributes; without them the record alone proves the ownership.
        with suppress(OSError):
            os.setxattr(file, _MARK, self._uuid.encode())

    def _settle(self, record: FileRecord) -> None:
        """Record that the file is at its path, and belongs to no other row any more.

        A row that this one replaces may have lost its file before: it must not take the new one for its own.
        """
        _discard(self._temporary(record.path))
        if not record.placed:
            for uuid, other in list(self._others(record.path)):
                if (other.stack, other.resource) == (record.stack, record.resource):
                    self._bequeath(uuid, self._uuid)
        self._write(replace(record, placed=True))

    def _is_ours(self, record: FileRecord) -> bool:
        path = record.path
        try:
            # Not by a link put in place of a directory, which would lead to a file of the same name elsewhere.
            with held(path) as place:
                found = place.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        inode = found.st_ino
        if not stat.S_ISREG(found.st_mode):
            return False
        if inode in {version.inode for version in record.versions}:
            return True
        # Before it was placed, an equal content proves nothing; nor where the very file is another resource's.
        if not record.placed or digest(path) not in {version.sha256 for version in record.versions}:
            return False
        return not any(
            self._is_other_resource(other) and inode in {each.inode for each in other.versions}
            for _, other in self._others(path)
        )

    def _prepare(self, path: Path, content: bytes, mode: int) -> Version:
        _discard(self._temporary(path))
        check_fence()
        with held(self._temporary(path)) as temporary:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            self._mark(descriptor)
            os.fchmod(descriptor, mode)
            file.flush()
            os.fsync(descriptor)
            return Version(os.fstat(descriptor).st_ino, hashlib.sha256(content).hexdigest())

    def _inherit(self, record: FileRecord) -> None:
        """Take the path over from the row that this one replaces, or refuse and leave no trace."""
        for uuid, other in self._others(record.path):
            same = (other.stack, other.resource) == (record.stack, record.resource)
            if same and other.placed and _is_regular(record.path):
                self._bequeath(uuid, self._uuid)
                self._move_into_place(record.path)
                return
        owner = next((other for _, other in self._others(record.path)), None)
        self.remove()
        whose = f"belongs to {self._name_of(owner)}" if owner else "is not ours"
        raise ResourceFailure(f"{record.path} exists and {whose}: it was left as it is; move it away first")

    def _move_into_place(self, path: Path) -> None:
        check_fence()
        with held(path) as place:
            self._temporary(place).replace(place)

    def _refuse_others(self, path: Path) -> None:
        """Refuse a file that another resource has made; also one that an agent of an earlier version has put there."""
        if os.path.lexists(path):
            for _, other in self._others(path):
                if self._is_other_resource(other):
                    raise ResourceFailure(f"{path} belongs to {self._name_of(other)}: it was left as it is")

    def _is_other_resource(self, record: FileRecord) -> bool:
        return record.heir is None and (record.stack, record.resource) != (self._stack, self._resource)

    def _name_of(self, owner: FileRecord) -> str:
        # What is in other stacks may be a secret of another project.
        return f"the resource {owner.resource!r}" if owner.stack == self._stack else "another stack"

    def _others(self, path: Path) -> Iterator[tuple[str, FileRecord]]:
        for file in self._records.glob(f"*/{_RECORD}"):
            uuid = file.parent.name
            other = self._read(uuid)
            if other is not None and other.path == path and uuid != self._uuid:
                yield uuid, other

    def _bequeath(self, uuid: str, heir: str) -> None:
        other = self._read(uuid)
        if other is not None:
            self._write(replace(other, heir=heir), uuid)

    def _temporary(self, path: Path) -> Path:
        return path.with_name(f".isotherm-{self._uuid}.tmp")

    def _read(self, uuid: str | None = None) -> FileRecord | None:
        data = read_record(self._records / (uuid or self._uuid) / _RECORD)
        return None if data is None else FileRecord.from_wire(data)

    def _write(self, record: FileRecord, uuid: str | None = None) -> None:
        check_fence()
        write_record(self._records / (uuid or self._uuid) / _RECORD, record.to_wire())


def digest(path: Path) -> str:
    """Return the SHA-256 of the file's content, in hexadecimal digits."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _discard(path: Path) -> None:
    check_fence()
    with suppress(FileNotFoundError, NotADirectoryError), held(path) as place:
        place.unlink()


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    """Convert the disk's errors to a failure that names the file."""
    try:
        yield
    except FileNotFoundError as error:
        # An existing directory vanished: the resource that had made it was deleted at this moment.
        raise RetryableFailure(f"{path}: {error.strerror}") from error
    except OSError as error:
        raise ResourceFailure(f"{path}: {error.strerror or error}") from error
