"""A memcached store for dogpile.cache with fill locks and time-outs; dogpile's own may wait forever."""

import math
from collections.abc import Mapping
from typing import Any

import pymemcache
from dogpile.cache.backends.memcached import GenericMemcachedBackend
from pymemcache.client.retrying import RetryingClient
from pymemcache.exceptions import MemcacheUnexpectedCloseError

from cache.stores.fill_locks import FillLocks, Seen

#: The longest lifetime that memcached takes for a duration; anything longer it takes for a date.
LONGEST_SPAN_SECONDS = 30 * 24 * 60 * 60
#: A lifetime that memcached takes for expired.
OVER = -1
#: Placeholder for a future entry: only an existing key can be replaced with compare-and-swap.
NOTHING = b""


class MemcachedStore(GenericMemcachedBackend, FillLocks):
    """One memcached server, a connection for each thread. The server limits the number of entries.

    Arguments: ``url`` as host:port, ``timeout_seconds`` for connecting and for each answer, ``expire_seconds`` after
    which the server forgets an entry.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        super().__init__(arguments)  # type: ignore[no-untyped-call]  # dogpile's own
        #: The compare-and-swap ids that this process may replace, by the tokens of its fill locks.
        self._versions: dict[bytes, bytes | None] = {}
        self.timeout_seconds: float = arguments["timeout_seconds"]
        self.set_arguments = {"expire": min(arguments["expire_seconds"], LONGEST_SPAN_SECONDS)}

    def _imports(self) -> None:
        """Do nothing: the module has imported what it needs."""

    def _create_client(self) -> RetryingClient:
        # Replies are awaited: after a deletion no client may still read the old value.
        client = pymemcache.Client(
            self.url[0],
            connect_timeout=self.timeout_seconds,
            timeout=self.timeout_seconds,
            no_delay=True,
            default_noreply=False,
        )
        # A restarted server has closed its connections, which shows only at the next use.
        return RetryingClient(client, attempts=2, retry_for=[MemcacheUnexpectedCloseError, ConnectionError])

    def look(self, lasting_key: str, key: str) -> Seen:
        """Return the entries, and the holder of the fill lock."""
        keys = (lasting_key, key, _lock_key(key))
        lasting, entry, holder = map(self.client.get_many(keys).get, keys)
        return Seen(lasting, entry or None, holder)

    def claim(self, key: str, token: bytes, life_seconds: float) -> bool:
        """Acquire the fill lock, and remember the entry's compare-and-swap id."""
        # memcached counts whole seconds from one that has begun. The second look is for an addition that was resent
        # because its reply was lost.
        life = math.ceil(life_seconds) + 1
        if not self.client.add(_lock_key(key), token, life) and self.client.get(_lock_key(key)) != token:
            return False
        _, version = self.client.gets(key)
        if version is None:
            self.client.add(key, NOTHING, life)
            _, version = self.client.gets(key)
        self._versions[token] = version
        return True

    def keep(self, key: str, entry: bytes, token: bytes) -> bool:
        """Replace the entry that was there when ``token`` got the fill lock, if it is unchanged."""
        version = self._versions.pop(token, None)
        kept = version is not None and bool(self.client.cas(key, entry, version, **self.set_arguments))
        self.release(key, token)
        return kept

    def release(self, key: str, token: bytes) -> None:
        """Release the fill lock: let it expire, if it is unchanged since it was read."""
        self._versions.pop(token, None)
        holder, version = self.client.gets(_lock_key(key))
        if holder == token:
            self.client.cas(_lock_key(key), token, version, expire=OVER)

    def forget(self, key: str, token: bytes) -> None:
        """Remove the entry, and then its fill lock."""
        self._versions.pop(token, None)
        self.client.delete(key)
        self.client.delete(_lock_key(key))

    def begin(self, key: str, entry: bytes) -> bytes:
        """Store a lasting entry, unless there is one."""
        if self.client.add(key, entry):
            return entry
        stored: bytes | None = self.client.get(key)
        if stored is None:
            # Deleted meanwhile: the last writer wins, and the other's answers are looked up again.
            self.client.set(key, entry)
        return entry if stored is None else stored

    def renew(self, key: str, entry: bytes) -> None:
        """Store a lasting entry. The region's others stay until the server evicts them: it knows no regions."""
        self.client.set(key, entry)

    def count(self) -> None:
        """Return None: memcached cannot count the entries of one region."""


def _lock_key(key: str) -> str:
    return f"{key}:claim"
