"""A store in this process: what was not looked at for longest goes first."""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dogpile.cache.api import NO_VALUE, BytesBackend, SerializedReturnType

from cache.stores.fill_locks import Claims, Seen, found, is_free


class MemoryStore(BytesBackend, Claims):
    """A bounded dict for many threads.

    Arguments: ``max_entries``.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._max_entries: int = arguments["max_entries"]
        self._entries: OrderedDict[str, bytes] = OrderedDict()
        #: What stays whatever the size.
        self._lasting: dict[str, bytes] = {}
        #: Who asks: token, and until when. A thread can be stopped anywhere, also just before it lets go.
        self._claims: dict[str, tuple[bytes, float]] = {}
        self._lock = threading.Lock()

    def get_serialized(self, key: str) -> SerializedReturnType:
        """Return an entry, which is thereby the last to go."""
        with self._lock:
            return self._get(key)

    def get_serialized_multi(self, keys: Iterable[str]) -> Sequence[SerializedReturnType]:
        """Return the entries, which are thereby the last to go."""
        with self._lock:
            return [self._get(key) for key in keys]

    def set_serialized(self, key: str, value: bytes) -> None:
        """Keep an entry."""
        with self._lock:
            self._set(key, value)

    def set_serialized_multi(self, mapping: Mapping[str, bytes]) -> None:
        """Keep entries."""
        with self._lock:
            for key, value in mapping.items():
                self._set(key, value)

    def delete(self, key: str) -> None:
        """Forget an entry."""
        with self._lock:
            self._entries.pop(key, None)

    def delete_multi(self, keys: Iterable[str]) -> None:
        """Forget entries."""
        with self._lock:
            for key in keys:
                self._entries.pop(key, None)

    def look(self, lasting_key: str, key: str) -> Seen:
        """Return the entries, and who asks."""
        with self._lock:
            holder, _ = self._claims.get(key, (None, 0.0))
            return Seen(self._lasting.get(lasting_key), found(self._get(key)), holder)

    def claim(self, key: str, token: bytes, life_seconds: float) -> bool:
        """Mark that ``token`` asks now."""
        with self._lock:
            free = is_free(self._claims.get(key), token)
            if free:
                self._claims[key] = (token, time.monotonic() + life_seconds)
            return free

    def keep(self, key: str, entry: bytes, token: bytes) -> bool:
        """Store if the claim is ``token``'s."""
        with self._lock:
            mine = self._end_claim(key, token)
            if mine:
                self._set(key, entry)
            return mine

    def release(self, key: str, token: bytes) -> None:
        """End the claim."""
        with self._lock:
            self._end_claim(key, token)

    def forget(self, key: str, token: bytes) -> None:  # noqa: ARG002  # a claim goes whosever it is
        """Remove entry and claim."""
        with self._lock:
            self._entries.pop(key, None)
            self._claims.pop(key, None)

    def begin(self, key: str, entry: bytes) -> bytes:
        """Store for good, unless there is one."""
        with self._lock:
            return self._lasting.setdefault(key, entry)

    def renew(self, key: str, entry: bytes) -> None:
        """Store for good, and remove all others."""
        with self._lock:
            self._lasting[key] = entry
            self._entries.clear()

    def count(self) -> int:
        """Return how many entries there are."""
        return len(self._entries)

    def _end_claim(self, key: str, token: bytes) -> bool:
        mine = self._claims.get(key, (b"", 0.0))[0] == token
        if mine:
            del self._claims[key]
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
        self._say_evicted(over)
