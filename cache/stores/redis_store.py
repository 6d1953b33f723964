"""A Redis store for dogpile.cache with time-outs, fill locks, atomic deletion, and eviction of the oldest entries."""

import math
from collections.abc import Mapping
from typing import Any, cast

import redis
from dogpile.cache.backends.redis import RedisBackend
from redis.backoff import NoBackoff
from redis.retry import Retry

from cache.stores.fill_locks import FillLocks, Seen

# Lua scripts, because Redis runs each one atomically. Sending one again, after a connection broke
# before its reply came, changes nothing. A foreign value under one of our keys, of whatever type, is
# overwritten.

#: Keys: fill lock. Arguments: token, life in milliseconds.
CLAIM = """
local holder = redis.pcall('GET', KEYS[1])
if type(holder) == 'string' and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
#: Keys: entry, fill lock, index. Arguments: token, entry, life in seconds, how many entries there may be.
#: The index is a sorted set of the region's keys by the server's own time in microseconds. Returns 0 if another token
#: holds the fill lock, else 1 and the number of evicted entries.
KEEP = """
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
redis.call('DEL', KEYS[2])
local kind = redis.call('TYPE', KEYS[3])['ok']
if kind ~= 'zset' then redis.call('DEL', KEYS[3]) end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZADD', KEYS[3], string.format('%.0f', now), KEYS[1])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', string.format('%.0f', now - ARGV[3] * 1000000))
local over = redis.call('ZCARD', KEYS[3]) - ARGV[4]
if over > 0 then
  local oldest = redis.call('ZPOPMIN', KEYS[3], over)
  for at = 1, #oldest, 2 do redis.call('UNLINK', oldest[at]) end
end
redis.call('EXPIRE', KEYS[3], ARGV[3])
return 1 + math.max(over, 0)
"""
#: Keys: fill lock. Arguments: token.
RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"
#: Keys: lasting entry, index. Arguments: lasting entry.
RENEW = """
redis.call('SET', KEYS[1], ARGV[1])
if redis.call('TYPE', KEYS[2])['ok'] == 'zset' then
  for _, key in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do redis.call('UNLINK', key) end
end
redis.call('DEL', KEYS[2])
"""


class RedisStore(RedisBackend, FillLocks):
    """One Redis server.

    Arguments: ``url``, ``timeout_seconds`` for connecting and for each answer, ``expire_seconds`` after which the
    server forgets an entry, ``index_key`` under which the keys of kept entries are listed, ``max_entries``,
    ``connection_kwargs`` for redis-py.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        # A restarted server has closed its connections, which shows only at the next use: hence one
        # retry, but none for a server that hangs.
        retry = Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,))
        self.expire_seconds: int = arguments["expire_seconds"]
        self.index_key: str = arguments["index_key"]
        self.max_entries: int = arguments["max_entries"]
        super().__init__(  # type: ignore[no-untyped-call]  # dogpile's own
            {
                "url": arguments["url"],
                "socket_timeout": arguments["timeout_seconds"],
                "socket_connect_timeout": arguments["timeout_seconds"],
                "connection_kwargs": {"retry": retry, **arguments.get("connection_kwargs", {})},
            }
        )
        self._claim = self.writer_client.register_script(CLAIM)
        self._keep = self.writer_client.register_script(KEEP)
        self._release = self.writer_client.register_script(RELEASE)
        self._renew = self.writer_client.register_script(RENEW)

    def look(self, lasting_key: str, key: str) -> Seen:
        """Return the entries, and the holder of the fill lock."""
        keys = [lasting_key, key, _lock_key(key)]
        return Seen(*cast("list[bytes | None]", self.reader_client.mget(keys)))

    def claim(self, key: str, token: bytes, life_seconds: float) -> bool:
        """Acquire the fill lock."""
        return bool(self._claim(keys=[_lock_key(key)], args=[token, math.ceil(1000 * life_seconds)]))

    def keep(self, key: str, entry: bytes, token: bytes) -> bool:
        """Store if ``token`` holds the fill lock; the oldest entries go where there are too many."""
        keys = [key, _lock_key(key), self.index_key]
        kept = int(self._keep(keys=keys, args=[token, entry, self.expire_seconds, self.max_entries]))
        self._count_evicted(kept - 1)
        return kept > 0

    def release(self, key: str, token: bytes) -> None:
        """Release the fill lock."""
        self._release(keys=[_lock_key(key)], args=[token])

    def forget(self, key: str, token: bytes) -> None:  # noqa: ARG002  # whichever token holds the fill lock
        """Remove the entry and its fill lock."""
        # Its place in the index expires.
        self.writer_client.delete(key, _lock_key(key))

    def begin(self, key: str, entry: bytes) -> bytes:
        """Store a lasting entry, unless there is one."""
        if self.writer_client.set(key, entry, nx=True):
            return entry
        # Unlike GET, MGET accepts a key of any type.
        stored = cast("bytes | None", self.writer_client.mget([key])[0])
        if stored is None:
            # Deleted meanwhile: the last writer wins, and the other's answers are looked up again.
            self.writer_client.set(key, entry)
        return entry if stored is None else stored

    def renew(self, key: str, entry: bytes) -> None:
        """Store a lasting entry, and remove the region's others."""
        self._renew(keys=[key, self.index_key], args=[entry])

    def count(self) -> int:
        """Return how many entries the server still has."""
        seconds, microseconds = self.reader_client.time()
        oldest = (seconds - self.expire_seconds) * 1_000_000 + microseconds
        return int(self.reader_client.zcount(self.index_key, oldest, "+inf"))


def _lock_key(key: str) -> str:
    return f"{key}:claim"
