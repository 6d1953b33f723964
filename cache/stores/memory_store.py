"""A store in the memory of this process, which evicts the least recently used entry first."""

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from dogpile.cache.api import NO_VALUE, BytesBackend, SerializedReturnType

from cache.stores.fill_locks import FillLocks, Seen, found, is_free


class MemoryStore(BytesBackend, FillLocks):
    """A bounded dict; thread-safe.

    Arguments: ``max_entries``.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._max_entries: int = arguments["max_entries"]
        self._entries: OrderedDict[str, bytes] = OrderedDict()
        #: Entries that are never evicted.
        self._lasting: dict[str, bytes] = {}
        #: The fill locks: token, and until when. A thread can be stopped anywhere, also just before the release.
        self._fill_locks: dict[str, tuple[bytes, float]] = {}
        self._lock = threading.Lock()

    def get_serialized(self, key: str) -> SerializedReturnType:
        """Return an entry, and make it the most recently used."""
        with self._lock:
            return self._get(key)

    def look(self, lasting_key: str, key: str) -> Seen:
        """Return the entries, and the holder of the fill lock."""
        with self._lock:
            holder, _ = self._fill_locks.get(key, (None, 0.0))
            return Seen(self._lasting.get(lasting_key), found(self._get(key)), holder)

    def claim(self, key: str, token: bytes, life_seconds: float) -> bool:
        """Acquire the fill lock."""
        with self._lock:
            free = is_free(self._fill_locks.get(key), token)
            if free:
                self._fill_locks[key] = (token, time.monotonic() + life_seconds)
            return free

    def keep(self, key: str, entry: bytes, token: bytes) -> bool:
        """Store if ``token`` holds the fill lock."""
        with self._lock:
            mine = self._end_lock(key, token)
            if mine:
                self._set(key, entry)
            return mine

    def release(self, key: str, token: bytes) -> None:
        """Release the fill lock."""
        with self._lock:
            self._end_lock(key, token)

    def forget(self, key: str, token: bytes) -> None:  # noqa: ARG002  # whichever token holds the fill lock
        """Remove the entry and its fill lock."""
        with self._lock:
            self._entries.pop(key, None)
            self._fill_locks.pop(key, None)

    def begin(self, key: str, entry: bytes) -> bytes:
        """Store a lasting entry, unless there is one."""
        with self._lock:
            return self._lasting.setdefault(key, entry)

    def renew(self, key: str, entry: bytes) -> None:
        """Store a lasting entry, and remove all others."""
        with self._lock:
            self._lasting[key] = entry
            self._entries.clear()

    def count(self) -> int:
        """Return how many entries there are."""
        return len(self._entries)

    def _end_lock(self, key: str, token: bytes) -> bool:
        mine = self._fill_locks.get(key, (b"", 0.0))[0] == token
        if mine:
            del self._fill_locks[key]
        return mine

    def _get(self, key: str) -> SerializedReturnType:
        lasting = self._lasting.get(key)
        if lasting is not None:
            return lasting
        if key not in self._entries:
            return NO_VALUE
        self._entries.move_to_end(key)
        return self._entries[key]

    def _set(self, key: str, value: bytes) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        over = len(self._entries) - self._max_entries
        for _ in range(over):
            self._entries.popitem(last=False)
        self._count_evicted(over)
