"""A store in a file, for processes of one machine: dogpile's DBM backend with time-outs and fill locks.

Speed and size depend on the dbm that Python finds installed: the one that is always available
reads an index of the whole file at each access. A broken file is replaced; it is only a cache.
"""

import dbm
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal

import msgpack
from dogpile.cache.api import NO_VALUE, SerializedReturnType
from dogpile.cache.backends.file import DBMBackend, FileLock

from cache.stores.codec import created_at
from cache.stores.fill_locks import FillLocks, Seen
from cache.stores.private_files import FILE, narrow, open_private

#: Marks a removed entry: a dbm file may never give back the space of a deleted key.
GONE = b""
#: The pause before another look whether the file is free.
NAP_SECONDS = 0.001
#: What the kinds of dbm append to the name; most of them nothing.
_SUFFIXES: Final = ("", ".db", ".dat", ".pag", ".dir", ".bak")

# Python looks for the kinds of dbm when the first file is opened. Of two threads that did so at once, one could be left
# with a kind that is not installed, for as long as the process lives; an import is done by one thread alone.
with suppress(*dbm.error), dbm.open(f"{os.devnull}/none", "r"):
    pass


class FileStore(DBMBackend, FillLocks):
    """One file, with a lock beside it; both for this user alone, as far as the dbm in use makes files with a mode.

    Arguments: ``url`` is the file's name, ``timeout_seconds`` how long to wait while others write, ``prefix`` of all
    keys of the region, ``lasting_key`` of the entry that is never evicted, ``max_entries``.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self.prefix: str = arguments["prefix"]
        self.lasting_key: str = arguments["lasting_key"]
        self.max_entries: int = arguments["max_entries"]
        self._locks_key = f"{self.prefix}claims"
        timeout_seconds: float = arguments["timeout_seconds"]
        super().__init__(  # type: ignore[no-untyped-call]  # dogpile's own
            {
                "filename": arguments["url"],
                "dogpile_lockfile": False,
                "lock_factory": lambda name: _PatientLock(name, timeout_seconds),
            }
        )

    def _init_dbm_file(self) -> None:
        files = [Path(f"{self.filename}{suffix}") for suffix in _SUFFIXES]
        # Some kinds of dbm make a file first and narrow it a moment later: who holds the lock may be between the two.
        # If others hold it for too long, the first access finds what is to be done.
        with suppress(TimeoutError), self._use_rw_lock(True):
            for each in files:
                narrow(each)
            if not any(each.exists() for each in files):
                dbm.open(self.filename, "c", FILE).close()

    def get_serialized(self, key: str) -> SerializedReturnType:
        """Return an entry."""
        with self._dbm_file(False) as file:
            return _read(file, key) or NO_VALUE

    def look(self, lasting_key: str, key: str) -> Seen:
        """Return the entries, and the holder of the fill lock."""
        with self._dbm_file(False) as file:
            holder, _ = self._locks_in(file).get(key, (None, 0.0))
            return Seen(_read(file, lasting_key), _read(file, key) or None, holder)

    def claim(self, key: str, token: bytes, life_seconds: float) -> bool:
        """Acquire the fill lock."""
        with self._dbm_file(True) as file:
            locks = self._locks_in(file)
            if locks.get(key, (token,))[0] != token:
                return False
            locks[key] = (token, time.time() + life_seconds)
            file[self._locks_key] = msgpack.packb(locks)
            return True

    def keep(self, key: str, entry: bytes, token: bytes) -> bool:
        """Store if ``token`` holds the fill lock; the oldest entries go where there are too many."""
        with self._dbm_file(True) as file:
            if not self._end_lock(file, key, token):
                return False
            file[key] = entry
            self._trim(file)
            return True

    def release(self, key: str, token: bytes) -> None:
        """Release the fill lock."""
        with self._dbm_file(True) as file:
            self._end_lock(file, key, token)

    def forget(self, key: str, token: bytes) -> None:  # noqa: ARG002  # whichever token holds the fill lock
        """Remove the entry and its fill lock."""
        with self._dbm_file(True) as file:
            self._end_lock(file, key)
            if key in file:
                file[key] = GONE

    def begin(self, key: str, entry: bytes) -> bytes:
        """Store a lasting entry, unless there is one."""
        with self._dbm_file(True) as file:
            stored = _read(file, key)
            if not stored:
                file[key] = entry
            return stored or entry

    def renew(self, key: str, entry: bytes) -> None:
        """Store a lasting entry, and remove the region's others."""
        with self._dbm_file(True) as file:
            for other in self._entries_in(file):
                del file[other]
            file[key] = entry

    def count(self) -> int:
        """Return how many entries there are."""
        with self._dbm_file(False) as file:
            return sum(file[key] != GONE for key in self._entries_in(file))

    @contextmanager
    def _dbm_file(self, write: bool) -> Iterator[Any]:
        with self._use_rw_lock(write):
            file = self._opened("w" if write else "r")
            if file is not None:
                with file:
                    yield file
                return
        with self._use_rw_lock(True), self._opened("w") or dbm.open(self.filename, "n", FILE) as mended:
            yield mended

    def _opened(self, mode: Literal["r", "w"]) -> Any:
        """Return the open file, or None if it is broken: each kind of dbm has errors of its own for that."""
        try:
            return dbm.open(self.filename, mode, FILE)
        except SystemError:
            # A fault of Python: two threads that parse literals at once, as dbm.dumb does, disturb each other.
            raise
        except Exception:  # noqa: BLE001
            return None

    def _locks_in(self, file: object) -> dict[str, tuple[bytes, float]]:
        """Return the fill locks that have not expired; none where another program has written."""
        try:
            locks = msgpack.unpackb(_read(file, self._locks_key) or msgpack.packb({}))
            return {key: (token, until) for key, (token, until) in locks.items() if time.time() < until}
        except (ValueError, TypeError, AttributeError, msgpack.UnpackException):
            return {}

    def _end_lock(self, file: Any, key: str, token: bytes | None = None) -> bool:
        """Release a fill lock; False if ``token`` does not hold it. None releases it in any case."""
        locks = self._locks_in(file)
        if key not in locks or token not in (None, locks[key][0]):
            return False
        del locks[key]
        file[self._locks_key] = msgpack.packb(locks)
        return True

    def _trim(self, file: Any) -> None:
        keys = self._entries_in(file)
        if len(keys) > self.max_entries:
            # A tenth more than needed, so that not every new entry pays for this.
            kept = max(1, self.max_entries - self.max_entries // 10)
            for key in sorted(keys, key=lambda key: created_at(file[key]), reverse=True)[kept:]:
                del file[key]
            self._count_evicted(len(keys) - kept)

    def _entries_in(self, file: Any) -> list[bytes]:
        prefix, others = self.prefix.encode(), (self.lasting_key.encode(), self._locks_key.encode())
        return [key for key in file.keys() if key.startswith(prefix) and key not in others]  # noqa: SIM118


class _PatientLock(FileLock):
    """dogpile's file lock with a bounded wait: its holder may have been stopped.

    Readers lock exclusively too: with shared locks and a steady stream of readers, a writer would never get it. The
    threads of this process queue for it among themselves, which is fairer.
    """

    def __init__(self, filename: str, timeout_seconds: float) -> None:
        super().__init__(filename)  # type: ignore[no-untyped-call]  # dogpile's own
        # dogpile would make it with whatever mode the process has.
        os.close(open_private(Path(filename), os.O_WRONLY))
        self._timeout_seconds = timeout_seconds
        self._turn = threading.Lock()

    def acquire_read_lock(self, wait: bool) -> bool:
        """Acquire the lock, exclusively."""
        return self.acquire_write_lock(wait)

    def acquire_write_lock(self, wait: bool) -> bool:  # noqa: ARG002  # dogpile never calls it without waiting
        """Acquire the lock, exclusively.

        Raises:
            TimeoutError: others held it for the whole time.
        """
        deadline = time.monotonic() + self._timeout_seconds
        if not self._turn.acquire(timeout=self._timeout_seconds):
            raise TimeoutError(f"{self.filename} is in use")
        try:
            while not super().acquire_write_lock(False):  # type: ignore[no-untyped-call]
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{self.filename} is locked")
                time.sleep(NAP_SECONDS)
        except BaseException:
            self._turn.release()
            raise
        return True

    def release_read_lock(self) -> None:
        """Release the lock."""
        self.release_write_lock()

    def release_write_lock(self) -> None:
        """Release the lock."""
        super().release_write_lock()  # type: ignore[no-untyped-call]
        self._turn.release()


def _read(file: Any, key: str) -> bytes | None:
    try:
        entry: bytes = file[key]
    except KeyError:
        return None
    return entry
