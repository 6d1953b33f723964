"""Named locks, over all threads and processes of a machine that share an agent's directory.

All of them are bytes of one file, so that a free lock leaves no trace; the kernel releases those of
a dead process. They belong to the open file and not to the process (``F_OFD_SETLK``): two threads of one process
exclude each other, too.
"""

import errno
import fcntl
import hashlib
import os
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from cache.stores.private_files import make_private_directory, open_private

#: The polling interval for another process's lock: the kernel notifies only callers that block without a time-out.
_TRY_AGAIN_SECONDS: Final = 0.02


class LockTaken(Exception):
    """Another holder did not release the lock in time."""


class Locks:
    """The locks in one file; thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        #: Wakes threads that wait for a lock of another thread of this process.
        self._released = threading.Condition()

    @contextmanager
    def hold(self, name: str, *, wait_seconds: float = 0.0) -> Iterator[None]:
        """Hold the lock called ``name``; not reentrant.

        Raises:
            LockTaken: others hold it for longer than ``wait_seconds``.
        """
        file = self._open()
        try:
            self._take(file, _place(name), time.monotonic() + wait_seconds)
            yield
        finally:
            os.close(file)
            with self._released:
                self._released.notify_all()

    def is_held(self, name: str) -> bool:
        """Return whether a lock is held, by this or another process. It is not touched."""
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            reply = fcntl.fcntl(file, fcntl.F_OFD_GETLK, _wanted(_place(name)))
        finally:
            os.close(file)
        kind: int = struct.unpack_from("@h", reply)[0]
        return kind != fcntl.F_UNLCK

    def _take(self, file: int, place: int, deadline: float) -> None:
        while not _try(file, place):
            if time.monotonic() >= deadline:
                raise LockTaken
            with self._released:
                self._released.wait(_TRY_AGAIN_SECONDS)

    def _open(self) -> int:
        try:
            return open_private(self._path, os.O_RDWR)
        except FileNotFoundError:
            make_private_directory(self._path.parent)
            return open_private(self._path, os.O_RDWR)


def _place(name: str) -> int:
    """Return the byte of a name; should two names share one, calls would merely wait for each other."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") >> 2


def _wanted(place: int) -> bytes:
    # struct flock: type, whence, start, length, and the process, which must be 0 for this kind.
    return struct.pack("@hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0)


def _try(file: int, place: int) -> bool:
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, _wanted(place))
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True
