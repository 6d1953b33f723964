"""A store of machine states in files, for the processes of one machine.

A record is one file that is replaced whole: readers need no lock and see a record of one moment. The common record
is read first, so that an entry whose two tokens match was valid at the moment in between.
"""

import fcntl
import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote, unquote

import msgpack

from cache.node_state.errors import StateStoreFailed
from cache.node_state.records import CommonRecord, NodeRecord, RecordStore
from cache.node_state.store import TIMEOUT_SECONDS
from cache.stores.private_files import make_private_directory, open_private

#: The pause before another look whether the lock is free.
_NAP_SECONDS: Final = 0.001
_COMMON: Final = "common"
_SUFFIX: Final = ".node"

_Record = TypeVar("_Record", CommonRecord, NodeRecord)


class FileNodeStore(RecordStore):
    """A directory with a file for each node.

    Args:
        directory: Created if missing, with access for this user alone: machine states are not public.
        boot_id: Of this machine: records of an earlier boot are invalid, as all its nodes are on it.
        clock: Seconds, the same for all processes of the machine.
        timeout_seconds: How long to wait while others write.
    """

    def __init__(
        self,
        directory: Path,
        clock: Callable[[], float] = time.time,
        *,
        boot_id: str = "",
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        super().__init__(clock)
        self._directory = directory
        self._boot_id = boot_id
        self._timeout_seconds = timeout_seconds

    def names(self) -> frozenset[str]:
        """Return the names of the known nodes."""
        with _store_errors(self._directory):
            if not self._directory.is_dir():
                return frozenset()
            names = [unquote(file.stem) for file in self._directory.iterdir() if file.suffix == _SUFFIX]
        return frozenset(name for name in names if self._node(name).known)

    def forget(self, node: str) -> None:
        """Delete everything about a node."""
        with self._locked():
            self._file(node).unlink(missing_ok=True)

    def _read(self, node: str) -> tuple[CommonRecord, NodeRecord]:
        return self._of_all(), self._node(node)

    @contextmanager
    def _changing(
        self, nodes: Collection[str] = (), *, common: bool = False
    ) -> Iterator[tuple[CommonRecord, dict[str, NodeRecord]]]:
        with self._locked():
            of_all = self._of_all()
            before = _packed(of_all)
            records = {node: self._node(node) for node in nodes}
            yield of_all, records
            if common and _packed(of_all) != before:
                self._save(self._directory / _COMMON, _packed(of_all))
            for node, record in records.items():
                self._save(self._file(node), _packed(record))

    def _of_all(self) -> CommonRecord:
        record = self._load(self._directory / _COMMON, CommonRecord)
        return record if record.boot_id == self._boot_id else CommonRecord(boot_id=self._boot_id)

    def _node(self, node: str) -> NodeRecord:
        return self._load(self._file(node), NodeRecord)

    def _file(self, node: str) -> Path:
        return self._directory / f"{quote(node, safe='')}{_SUFFIX}"

    def _load(self, path: Path, kind: type[_Record]) -> _Record:
        """Return a record; an empty one where none is stored, or where another program has written."""
        with _store_errors(path):
            try:
                packed = path.read_bytes()
            except FileNotFoundError:
                return kind()
        try:
            return kind(**msgpack.unpackb(packed, use_list=False))
        except (ValueError, TypeError, msgpack.UnpackException):
            return kind()

    def _save(self, path: Path, packed: bytes) -> None:
        # Only the holder of the lock writes, so that one name will do for unfinished files.
        unfinished = path.with_name(f"{path.name}.new")
        with _store_errors(path):
            with os.fdopen(open_private(unfinished, os.O_WRONLY | os.O_TRUNC), "wb") as file:
                file.write(packed)
            unfinished.replace(path)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with _store_errors(self._directory):
            make_private_directory(self._directory)
            lock = open_private(self._directory / "lock", os.O_RDWR)
        try:
            deadline = time.monotonic() + self._timeout_seconds
            while not _taken(lock):
                if time.monotonic() > deadline:
                    raise StateStoreFailed(
                        f"{self._directory} has been in use for {self._timeout_seconds:g} s"
                    )
                time.sleep(_NAP_SECONDS)
            yield
        finally:
            # Closing releases the lock too.
            with suppress(OSError):
                os.close(lock)


def _taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _packed(record: CommonRecord | NodeRecord) -> bytes:
    values: dict[str, Any] = {each.name: getattr(record, each.name) for each in fields(record)}
    packed: bytes = msgpack.packb(values)
    return packed


@contextmanager
def _store_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StateStoreFailed(f"{path} cannot be used: {error.strerror}") from error
