"""Locks by name, over all threads and processes of a machine that share an agent's directory.

All of them are bytes of one file, so that nothing is left of a lock that nobody holds; the kernel lets go of those of
a process that died. They belong to the open file and not to the process (``F_OFD_SETLK``): two threads of one process
keep each other out, too.
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

#: How often another process's lock is tried; the kernel tells nobody when it is free, except whoever waits for ever.
_TRY_AGAIN_SECONDS: Final = 0.02


class LockTaken(Exception):
    """Somebody else holds the lock, and did not let go of it in time."""


class Locks:
    """The locks in one file; safe for threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        #: Wakes those who wait for a lock that another thread of this process holds.
        self._released = threading.Condition()

    @contextmanager
    def hold(self, name: str, *, wait_seconds: float = 0.0) -> Iterator[None]:
        """Hold the lock called ``name``; it cannot be taken again within.

        Raises:
            LockTaken: others hold it for longer than may be waited.
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
        """Whether somebody holds a lock at the moment, which may be another process. It is not touched."""
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            told = fcntl.fcntl(file, fcntl.F_OFD_GETLK, _wanted(_place(name)))
        finally:
            os.close(file)
        kind: int = struct.unpack_from("@h", told)[0]
        return kind != fcntl.F_UNLCK

    def _take(self, file: int, place: int, deadline: float) -> None:
        while not _try(file, place):
            if time.monotonic() >= deadline:
                raise LockTaken
            with self._released:
                self._released.wait(_TRY_AGAIN_SECONDS)

    def _open(self) -> int:
        try:
            return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _place(name: str) -> int:
    """Return the byte that stands for a name; two names share one as good as never, which would only make one wait."""
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
