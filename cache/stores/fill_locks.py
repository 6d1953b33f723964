"""Fill locks: which caller looks up the value of a key and may store it, one at a time over all processes of a store.

A *fill lock* is a mark in the store with a life of its own, so that a process that dies holds up the others no longer
than that. It also makes a late answer harmless: only the holder can store, and a *no* removes the entry and the fill
lock together, so that a *yes* whose look-up began earlier cannot be stored after it.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dogpile.cache.api import CacheBackend, CacheMutex, SerializedReturnType

#: How long a store's lock is waited for where correctness does not depend on it.
BEGINNING_SECONDS = 1.0
NAP_SECONDS = 0.01


class Seen(NamedTuple):
    """What a store holds for one key; None for what is missing."""

    lasting: bytes | None
    entry: bytes | None
    #: The token of the holder of the fill lock.
    holder: bytes | None


class FillLocks(ABC):
    """The contract of a store beyond dogpile.cache's. Each method is one atomic step for all who share the store."""

    #: Called with the number of entries evicted for want of room; None: not counted.
    on_evicted: Callable[[int], None] | None = None

    @abstractmethod
    def look(self, lasting_key: str, key: str) -> "Seen":
        """Return a lasting entry, an entry, and the holder of its fill lock."""

    @abstractmethod
    def claim(self, key: str, token: bytes, life_seconds: float) -> bool:
        """Acquire the fill lock for ``token``; False while another token holds it. Repeating it is harmless."""

    @abstractmethod
    def keep(self, key: str, entry: bytes, token: bytes) -> bool:
        """Store an entry and release its fill lock; False, and no change, if ``token`` holds it no more."""

    @abstractmethod
    def release(self, key: str, token: bytes) -> None:
        """Release the fill lock if ``token`` still holds it."""

    @abstractmethod
    def forget(self, key: str, token: bytes) -> None:
        """Remove the entry, and its fill lock whichever token holds it; ``token`` is the caller's."""

    @abstractmethod
    def begin(self, key: str, entry: bytes) -> bytes:
        """Store a lasting entry (never evicted), unless there is one; return the one that is stored now."""

    @abstractmethod
    def renew(self, key: str, entry: bytes) -> None:
        """Store a lasting entry (never evicted); the region's other entries may be removed."""

    @abstractmethod
    def count(self) -> int | None:
        """Return how many entries the region has; None where the store cannot count them."""

    def _count_evicted(self, number: int) -> None:
        if number > 0 and self.on_evicted is not None:
            self.on_evicted(number)


class BorrowedFillLocks(FillLocks):
    """Fill locks for a store that has none: dogpile's own backends, and third parties'.

    Between processes, the store's own mutex stands in, if it has one, and its life is the store's; a no that another
    process learns does not break it. Size and eviction are the store's affair too.
    """

    def __init__(self, backend: CacheBackend) -> None:
        self._backend = backend
        self._lock = threading.Lock()
        #: Held while an entry is written: a no must not come between the check of the lock and the write.
        self._writing = threading.Lock()
        #: The fill locks of this process: token, and until when.
        self._holders: dict[str, tuple[bytes, float]] = {}
        #: Whether the store reads several entries at once, which dogpile.cache leaves to it.
        self._reads_several = True
        #: The store's mutexes, by token: a caller that lost its fill lock must still release its mutex.
        self._mutexes: dict[bytes, CacheMutex] = {}

    def look(self, lasting_key: str, key: str) -> Seen:
        """Return the entries, and the holder of the fill lock in this process."""
        # Read before the entries: what is stored meanwhile is found.
        holder = self._holders.get(key, (None, 0.0))[0]
        lasting, entry = self._read(lasting_key, key)
        return Seen(found(lasting), found(entry), holder)

    def _read(self, lasting_key: str, key: str) -> Sequence[SerializedReturnType]:
        if self._reads_several:
            try:
                return self._backend.get_serialized_multi([lasting_key, key])
            except NotImplementedError:
                self._reads_several = False
        # The lasting entry first: a flush between the two makes the answer invalid, not valid.
        return self._backend.get_serialized(lasting_key), self._backend.get_serialized(key)

    def claim(self, key: str, token: bytes, life_seconds: float) -> bool:
        """Acquire this process's fill lock, and the store's mutex."""
        with self._lock:
            if not is_free(self._holders.get(key), token):
                return False
            self._holders[key] = (token, time.monotonic() + life_seconds)
        if token in self._mutexes:
            return True
        taken = False
        try:
            mutex = self._backend.get_mutex(key)
            taken = mutex is None or bool(mutex.acquire(False))
            if taken and mutex is not None:
                self._mutexes[token] = mutex
        finally:
            if not taken:
                self._end(key, token)
        return taken

    def keep(self, key: str, entry: bytes, token: bytes) -> bool:
        """Store and release."""
        try:
            with self._writing:
                mine = self._end(key, token)
                if mine:
                    self._backend.set_serialized(key, entry)
        finally:
            self._unlock(token)
        return mine

    def release(self, key: str, token: bytes) -> None:
        """Release this process's fill lock and the store's mutex."""
        self._end(key, token)
        self._unlock(token)

    def forget(self, key: str, token: bytes) -> None:
        """Delete the entry, prevent pending look-ups of this process from storing theirs, and release the mutex."""
        try:
            with self._writing:
                with self._lock:
                    self._holders.pop(key, None)
                self._backend.delete(key)
        finally:
            self._unlock(token)

    def begin(self, key: str, entry: bytes) -> bytes:
        """Store unless there is one; the store's mutex, if it has one, decides between two processes."""
        mutex = self._backend.get_mutex(key)
        deadline = time.monotonic() + BEGINNING_SECONDS
        while (stored := found(self._backend.get_serialized(key))) is None:
            mine = mutex is None or bool(mutex.acquire(False))
            if not mine and time.monotonic() < deadline:
                time.sleep(NAP_SECONDS)
                continue
            try:
                stored = found(self._backend.get_serialized(key))
                if stored is None:
                    self._backend.set_serialized(key, entry)
                    return entry
            finally:
                if mine and mutex is not None:
                    mutex.release()
        return stored

    def renew(self, key: str, entry: bytes) -> None:
        """Store."""
        self._backend.set_serialized(key, entry)

    def count(self) -> None:
        """Return None: dogpile's stores cannot count."""

    def _end(self, key: str, token: bytes) -> bool:
        with self._lock:
            mine = self._holders.get(key, (b"", 0.0))[0] == token
            if mine:
                del self._holders[key]
            return mine

    def _unlock(self, token: bytes) -> None:
        mutex = self._mutexes.pop(token, None)
        if mutex is not None:
            mutex.release()


def found(entry: SerializedReturnType) -> bytes | None:
    """Return an entry, or None for dogpile's marks of a miss."""
    return entry if isinstance(entry, bytes) else None


def is_free(holder: tuple[bytes, float] | None, token: bytes) -> bool:
    """Return whether ``token`` may have a fill lock that ``holder`` holds until a time on the monotonic clock."""
    return holder is None or holder[0] == token or holder[1] <= time.monotonic()
