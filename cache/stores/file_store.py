"""A store in a file, for processes of one machine: dogpile's own on dbm, which gives up in time.

How fast it is, and how small it stays, is the affair of whatever Python's dbm finds installed: what is always there
reads an index of the whole file at each look. A broken file is replaced; it is only a cache.
"""

import dbm
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import msgpack
from dogpile.cache.api import NO_VALUE, SerializedReturnType
from dogpile.cache.backends.file import DBMBackend, FileLock

from cache.stores.codec import created_at
from cache.stores.fill_locks import Claims, Seen

#: Stands for an entry that was taken away: a dbm file may never give back the place of what is deleted.
GONE = b""
#: How long to wait before looking again whether the file is free.
NAP_SECONDS = 0.001


class FileStore(DBMBackend, Claims):
    """One file, with a lock beside it.

    Arguments: ``url`` is the file's name, ``timeout_seconds`` how long to wait while others write, ``prefix`` of all
    keys of the region, ``lasting_key`` of what no size takes away, ``max_entries``.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self.prefix: str = arguments["prefix"]
        self.lasting_key: str = arguments["lasting_key"]
        self.max_entries: int = arguments["max_entries"]
        self._claims_key = f"{self.prefix}claims"
        timeout_seconds: float = arguments["timeout_seconds"]
        super().__init__(  # type: ignore[no-untyped-call]  # dogpile's own
            {
                "filename": arguments["url"],
                "dogpile_lockfile": False,
                "lock_factory": lambda name: _PatientLock(name, timeout_seconds),
            }
        )

    def get_serialized(self, key: str) -> SerializedReturnType:
        """Return an entry."""
        return self.get_serialized_multi([key])[0]

    def get_serialized_multi(self, keys: Iterable[str]) -> Sequence[SerializedReturnType]:
        """Return the entries, opening the file once."""
        with self._dbm_file(False) as file:
            return [_read(file, key) or NO_VALUE for key in keys]

    def look(self, lasting_key: str, key: str) -> Seen:
        """Return the entries, and who asks."""
        with self._dbm_file(False) as file:
            holder, _ = self._claims_in(file).get(key, (None, 0.0))
            return Seen(_read(file, lasting_key), _read(file, key) or None, holder)

    def claim(self, key: str, token: bytes, life_seconds: float) -> bool:
        """Mark that ``token`` asks now."""
        with self._dbm_file(True) as file:
            claims = self._claims_in(file)
            if claims.get(key, (token,))[0] != token:
                return False
            claims[key] = (token, time.time() + life_seconds)
            file[self._claims_key] = msgpack.packb(claims)
            return True

    def keep(self, key: str, entry: bytes, token: bytes) -> bool:
        """Store if the claim is ``token``'s; the oldest entries go where there are too many."""
        with self._dbm_file(True) as file:
            if not self._end_claim(file, key, token):
                return False
            file[key] = entry
            self._trim(file)
            return True

    def release(self, key: str, token: bytes) -> None:
        """End the claim."""
        with self._dbm_file(True) as file:
            self._end_claim(file, key, token)

    def forget(self, key: str, token: bytes) -> None:  # noqa: ARG002  # a claim goes whosever it is
        """Remove entry and claim."""
        with self._dbm_file(True) as file:
            self._end_claim(file, key)
            if key in file:
                file[key] = GONE

    def begin(self, key: str, entry: bytes) -> bytes:
        """Store for good, unless there is one."""
        with self._dbm_file(True) as file:
            there = _read(file, key)
            if not there:
                file[key] = entry
            return there or entry

    def renew(self, key: str, entry: bytes) -> None:
        """Store for good, and remove the region's others."""
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
        with self._use_rw_lock(True), self._opened("w") or dbm.open(self.filename, "n") as mended:
            yield mended

    def _opened(self, mode: Literal["r", "w"]) -> Any:
        """Return the open file, or None if it is broken: each kind of dbm has errors of its own for that."""
        try:
            return dbm.open(self.filename, mode)
        except SystemError:
            # Python's own fault: two threads that read literals at once, as the plainest dbm does, disturb each other.
            raise
        except Exception:  # noqa: BLE001
            return None

    def _claims_in(self, file: Any) -> dict[str, tuple[bytes, float]]:
        """Return the claims that are not over; none where somebody else has written there."""
        try:
            claims = msgpack.unpackb(_read(file, self._claims_key) or msgpack.packb({}))
            return {key: (token, until) for key, (token, until) in claims.items() if time.time() < until}
        except (ValueError, TypeError, AttributeError, msgpack.UnpackException):
            return {}

    def _end_claim(self, file: Any, key: str, token: bytes | None = None) -> bool:
        """End a claim; False if there is none, or it is not ``token``'s. None ends it whosever it is."""
        claims = self._claims_in(file)
        if key not in claims or token not in (None, claims[key][0]):
            return False
        del claims[key]
        file[self._claims_key] = msgpack.packb(claims)
        return True

    def _trim(self, file: Any) -> None:
        keys = self._entries_in(file)
        if len(keys) > self.max_entries:
            # A tenth more than needed, so that this is not done at each new entry.
            kept = max(1, self.max_entries - self.max_entries // 10)
            for key in sorted(keys, key=lambda key: created_at(file[key]), reverse=True)[kept:]:
                del file[key]
            self._say_evicted(len(keys) - kept)

    def _entries_in(self, file: Any) -> list[bytes]:
        prefix, others = self.prefix.encode(), (self.lasting_key.encode(), self._claims_key.encode())
        return [key for key in file.keys() if key.startswith(prefix) and key not in others]  # noqa: SIM118


class _PatientLock(FileLock):
    """dogpile's lock on a file, waited for no longer than a time: whoever has it may have been stopped.

    Readers too have it for themselves: as long as there are always some of them, no writer would ever get it. The
    threads of this process queue for it among themselves, which is fairer.
    """

    def __init__(self, filename: str, timeout_seconds: float) -> None:
        super().__init__(filename)  # type: ignore[no-untyped-call]  # dogpile's own
        self._timeout_seconds = timeout_seconds
        self._turn = threading.Lock()

    def acquire_read_lock(self, wait: bool) -> bool:
        """Take it."""
        return self.acquire_write_lock(wait)

    def acquire_write_lock(self, wait: bool) -> bool:  # noqa: ARG002  # nobody asks without wanting to wait
        """Take it.

        Raises:
            TimeoutError: others have it all the time.
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
        """Give it back."""
        self.release_write_lock()

    def release_write_lock(self) -> None:
        """Give it back."""
        super().release_write_lock()  # type: ignore[no-untyped-call]
        self._turn.release()


def _read(file: Any, key: str) -> bytes | None:
    try:
        entry: bytes = file[key]
    except KeyError:
        return None
    return entry
