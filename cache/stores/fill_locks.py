"""Who asks now, and may store the answer: one at a time for each key, over all processes that share a store.

A *claim* is a mark in the store with a life of its own, so that a process that dies holds up the others no longer than
that. It is also what makes a late answer harmless: only who still holds the claim can store, and whoever learns a *no*
takes the entry and the claim away together, so that a *yes* that was asked for earlier cannot come after it.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from dogpile.cache.api import CacheBackend, CacheMutex, SerializedReturnType

#: How long a store's lock is waited for where it is no matter of correctness.
BEGINNING_SECONDS = 1.0
NAP_SECONDS = 0.01


class Seen(NamedTuple):
    """What is in a store; None for what is not."""

    lasting: bytes | None
    entry: bytes | None
    #: The token of who asks now.
    holder: bytes | None


class Claims(ABC):
    """What a store can do beyond what dogpile.cache asks of it. Each method is one step for all who share the store."""

    #: Told how many entries had to go for want of room; None: nobody wants to know.
    on_evicted: Callable[[int], None] | None = None

    @abstractmethod
    def look(self, lasting_key: str, key: str) -> "Seen":
        """Return a lasting entry, an entry, and who has the claim on that."""

    @abstractmethod
    def claim(self, key: str, token: bytes, life_seconds: float) -> bool:
        """Mark that whoever goes by ``token`` asks now; False while another does. Repeating it is harmless."""

    @abstractmethod
    def keep(self, key: str, entry: bytes, token: bytes) -> bool:
        """Store an entry and end the claim; False, and nothing is stored, if the claim is not ``token``'s any more."""

    @abstractmethod
    def release(self, key: str, token: bytes) -> None:
        """End the claim if it is still ``token``'s."""

    @abstractmethod
    def forget(self, key: str, token: bytes) -> None:
        """Remove the entry, and the claim whosever it is; ``token`` is that of who does so."""

    @abstractmethod
    def begin(self, key: str, entry: bytes) -> bytes:
        """Store an entry that no time and no size takes away, unless there is one; return the one that is there."""

    @abstractmethod
    def renew(self, key: str, entry: bytes) -> None:
        """Store an entry that no time and no size takes away; the region's other entries may be removed."""

    @abstractmethod
    def count(self) -> int | None:
        """Return how many entries the region has; None where the store cannot tell."""

    def _say_evicted(self, number: int) -> None:
        if number > 0 and self.on_evicted is not None:
            self.on_evicted(number)


class BorrowedClaims(Claims):
    """Claims in a store that knows none: dogpile's own back ends, and those of others.

    Between processes a claim is the store's own lock, if it has one; its life is the store's affair, and a no that
    another process learns does not break it. Size, and what becomes of old entries, are the store's affair too.
    """

    def __init__(self, backend: CacheBackend) -> None:
        self._backend = backend
        self._lock = threading.Lock()
        #: Held while an entry is written: a no must not come between the look at a claim and the writing.
        self._writing = threading.Lock()
        #: Who has a claim in this process: token, and until when.
        self._holders: dict[str, tuple[bytes, float]] = {}
        #: The store's locks, by token: who has lost a claim has to give its lock back all the same.
        self._mutexes: dict[bytes, CacheMutex] = {}

    def look(self, lasting_key: str, key: str) -> Seen:
        """Return the entries, and who asks in this process."""
        # Looked for first: what is kept meanwhile is found.
        holder = self._holders.get(key, (None, 0.0))[0]
        lasting, entry = self._backend.get_serialized_multi([lasting_key, key])
        return Seen(found(lasting), found(entry), holder)

    def claim(self, key: str, token: bytes, life_seconds: float) -> bool:
        """Take this process's claim, and the store's lock."""
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
        """Store and give the lock back."""
        try:
            with self._writing:
                mine = self._end(key, token)
                if mine:
                    self._backend.set_serialized(key, entry)
        finally:
            self._unlock(token)
        return mine

    def release(self, key: str, token: bytes) -> None:
        """Give the lock back."""
        self._end(key, token)
        self._unlock(token)

    def forget(self, key: str, token: bytes) -> None:
        """Delete, let nobody in this process store what it asks for just now, and give the lock back."""
        try:
            with self._writing:
                with self._lock:
                    self._holders.pop(key, None)
                self._backend.delete(key)
        finally:
            self._unlock(token)

    def begin(self, key: str, entry: bytes) -> bytes:
        """Store unless there is one; of two processes at once the store's lock lets one do so, if it has one."""
        mutex = self._backend.get_mutex(key)
        deadline = time.monotonic() + BEGINNING_SECONDS
        while (there := found(self._backend.get_serialized(key))) is None:
            mine = mutex is None or bool(mutex.acquire(False))
            if not mine and time.monotonic() < deadline:
                time.sleep(NAP_SECONDS)
                continue
            try:
                there = found(self._backend.get_serialized(key))
                if there is None:
                    self._backend.set_serialized(key, entry)
                    return entry
            finally:
                if mine and mutex is not None:
                    mutex.release()
        return there

    def renew(self, key: str, entry: bytes) -> None:
        """Store."""
        self._backend.set_serialized(key, entry)

    def count(self) -> None:
        """Return None: dogpile's stores cannot tell."""

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
    """Return an entry, or None for what says that there is none."""
    return entry if isinstance(entry, bytes) else None


def is_free(holder: tuple[bytes, float] | None, token: bytes) -> bool:
    """Return whether ``token`` may have a claim that ``holder`` had until a time on the monotonic clock."""
    return holder is None or holder[0] == token or holder[1] <= time.monotonic()
