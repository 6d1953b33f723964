"""A memcached store for dogpile.cache that gives up in time; dogpile's own waits for a hanging server for ever."""

import math
from collections.abc import Mapping
from typing import Any

import pymemcache
from dogpile.cache.backends.memcached import GenericMemcachedBackend
from pymemcache.client.retrying import RetryingClient
from pymemcache.exceptions import MemcacheUnexpectedCloseError

from cache.stores.fill_locks import Claims, Seen

#: What memcached takes for a span of time; anything longer it takes for a date.
LONGEST_SPAN_SECONDS = 30 * 24 * 60 * 60
#: An age that memcached takes for over.
OVER = -1
#: Stands where an entry will be: only what is there can be replaced on the condition that nobody else did so.
NOTHING = b""


class MemcachedStore(GenericMemcachedBackend, Claims):
    """One memcached server, a connection for each thread. How many entries there are is the server's affair.

    Arguments: ``url`` as host:port, ``timeout_seconds`` for connecting and for each answer, ``expire_seconds`` after
    which the server forgets an entry.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        super().__init__(arguments)  # type: ignore[no-untyped-call]  # dogpile's own
        #: What this process may replace, by the tokens of its claims.
        self._versions: dict[bytes, bytes | None] = {}
        self.timeout_seconds: float = arguments["timeout_seconds"]
        self.set_arguments = {"expire": min(arguments["expire_seconds"], LONGEST_SPAN_SECONDS)}

    def _imports(self) -> None:
        """Nothing: the module has imported what it needs."""

    def _create_client(self) -> RetryingClient:
        # Answers are waited for: after a deletion nobody may still read the old value.
        client = pymemcache.Client(
            self.url[0],
            connect_timeout=self.timeout_seconds,
            timeout=self.timeout_seconds,
            no_delay=True,
            default_noreply=False,
        )
        # A server that was restarted has closed its connections, which shows only at the next use.
        return RetryingClient(client, attempts=2, retry_for=[MemcacheUnexpectedCloseError, ConnectionError])

    def look(self, lasting_key: str, key: str) -> Seen:
        """Return the entries, and who asks."""
        keys = (lasting_key, key, _claim_key(key))
        lasting, entry, holder = map(self.client.get_many(keys).get, keys)
        return Seen(lasting, entry or None, holder)

    def claim(self, key: str, token: bytes, life_seconds: float) -> bool:
        """Mark that ``token`` asks now, and remember what is to be replaced."""
        # memcached counts whole seconds from one that has begun. The second look is for an addition that was sent
        # again because its answer was lost.
        life = math.ceil(life_seconds) + 1
        if not self.client.add(_claim_key(key), token, life) and self.client.get(_claim_key(key)) != token:
            return False
        _, version = self.client.gets(key)
        if version is None:
            self.client.add(key, NOTHING, life)
            _, version = self.client.gets(key)
        self._versions[token] = version
        return True

    def keep(self, key: str, entry: bytes, token: bytes) -> bool:
        """Replace what was there when ``token`` claimed, if that still is."""
        version = self._versions.pop(token, None)
        kept = version is not None and bool(self.client.cas(key, entry, version, **self.set_arguments))
        self.release(key, token)
        return kept

    def release(self, key: str, token: bytes) -> None:
        """End the claim: let it be over, if it is still the one that was looked at."""
        self._versions.pop(token, None)
        holder, version = self.client.gets(_claim_key(key))
        if holder == token:
            self.client.cas(_claim_key(key), token, version, expire=OVER)

    def forget(self, key: str, token: bytes) -> None:
        """Remove what could be replaced, and then the claim."""
        self._versions.pop(token, None)
        self.client.delete(key)
        self.client.delete(_claim_key(key))

    def begin(self, key: str, entry: bytes) -> bytes:
        """Store for good, unless there is one."""
        if self.client.add(key, entry):
            return entry
        there: bytes | None = self.client.get(key)
        if there is None:
            # Taken away since: whoever comes later wins, and the other's answers are asked for again.
            self.client.set(key, entry)
        return entry if there is None else there

    def renew(self, key: str, entry: bytes) -> None:
        """Store for good. The region's others stay until the server needs their place: it knows of no regions."""
        self.client.set(key, entry)

    def count(self) -> None:
        """Return None: memcached cannot tell whose its entries are."""


def _claim_key(key: str) -> str:
    return f"{key}:claim"
