"""Who asks now, and may store the answer: one at a time for each key, over all processes that share a store.

A *claim* is a mark in the store with a life of its own, so that a process that dies holds up the others no longer than
that. It is also what makes a late answer harmless: only who still holds the claim can store, and whoever learns a *no*
takes the entry and the claim away together, so that a *yes* that was asked for earlier cannot come after it.
"""

import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass

from dogpile.cache.api import CacheBackend, CacheMutex


class Claims(ABC):
    """What a store can do beyond what dogpile.cache asks of it. Each method is one step for all who share the store."""

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
    def forget(self, key: str) -> None:
        """Remove the entry, and the claim whosever it is."""

    @abstractmethod
    def begin(self, key: str, entry: bytes) -> bytes:
        """Store an entry that no time and no size takes away, unless there is one; return the one that is there."""

    @abstractmethod
    def renew(self, key: str, entry: bytes) -> None:
        """Store an entry that no time and no size takes away; the region's other entries may be removed."""

    @abstractmethod
    def count(self) -> int | None:
        """Return how many entries the region has; None where the store cannot tell."""


@dataclass(slots=True)
class _Held:
    """A claim of this process."""

    token: bytes
    mutex: CacheMutex | None
    #: Whether a no was learnt meanwhile.
    broken: bool = False


class BorrowedClaims(Claims):
    """Claims in a store that knows none: dogpile's own back ends, and those of others.

    Between processes a claim is the store's own lock, if it has one; its life is the store's affair, and a no that
    another process learns does not break it. Size, and what becomes of old entries, are the store's affair too.
    """

    def __init__(self, backend: CacheBackend) -> None:
        self._backend = backend
        self._lock = threading.Lock()
        self._held: dict[str, _Held] = {}

    def claim(self, key: str, token: bytes, life_seconds: float) -> bool:  # noqa: ARG002  # the store's affair
        """Take the store's lock, and this process's."""
        with self._lock:
            held = self._held.setdefault(key, _Held(token, None))
        if held.token != token:
            return False
        taken = False
        try:
            held.mutex = self._backend.get_mutex(key)
            taken = held.mutex is None or bool(held.mutex.acquire(False))
        finally:
            if not taken:
                self._drop(key)
        return taken

    def keep(self, key: str, entry: bytes, token: bytes) -> bool:
        """Store and give the locks back."""
        held = self._of(key, token)
        if held is None:
            return False
        try:
            if not held.broken:
                self._backend.set_serialized(key, entry)
        finally:
            self._end(key, held)
        return not held.broken

    def release(self, key: str, token: bytes) -> None:
        """Give the locks back."""
        held = self._of(key, token)
        if held is not None:
            self._end(key, held)

    def forget(self, key: str) -> None:
        """Delete, and let nobody in this process store what it asks for just now."""
        with self._lock:
            if key in self._held:
                self._held[key].broken = True
        self._backend.delete(key)

    def begin(self, key: str, entry: bytes) -> bytes:
        """Store unless there is one; two steps, so that of two processes at once the later one wins."""
        there = self._backend.get_serialized(key)
        if isinstance(there, bytes):
            return there
        self._backend.set_serialized(key, entry)
        return entry

    def renew(self, key: str, entry: bytes) -> None:
        """Store."""
        self._backend.set_serialized(key, entry)

    def count(self) -> None:
        """Return None: dogpile's stores cannot tell."""

    def _of(self, key: str, token: bytes) -> _Held | None:
        with self._lock:
            held = self._held.get(key)
            return held if held and held.token == token else None

    def _end(self, key: str, held: _Held) -> None:
        self._drop(key)
        if held.mutex is not None:
            held.mutex.release()

    def _drop(self, key: str) -> None:
        with self._lock:
            self._held.pop(key, None)
