"""A Redis store for dogpile.cache that gives up in time, forgets in one step, and lets the oldest entries go."""

import math
from collections.abc import Mapping
from typing import Any, cast

import redis
from dogpile.cache.backends.redis import RedisBackend
from redis.backoff import NoBackoff
from redis.retry import Retry

from cache.stores.fill_locks import Claims, Seen

# Scripts, because Redis runs one whole before it does anything else. Sending one again, after a connection broke
# before its answer came, changes nothing. What another program has put where ours belongs, of whatever type, is
# written over.

#: Keys: claim. Arguments: token, life in milliseconds.
CLAIM = """
local holder = redis.pcall('GET', KEYS[1])
if type(holder) == 'string' and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
#: Keys: entry, claim, index. Arguments: token, entry, life in seconds, how many entries there may be.
#: The index is a sorted set of the region's keys by the server's own time in microseconds. Returns 0 if the claim is
#: another's, else 1 and how many entries had to go.
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
#: Keys: claim. Arguments: token.
RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"
#: Keys: lasting entry, index. Arguments: lasting entry.
RENEW = """
redis.call('SET', KEYS[1], ARGV[1])
if redis.call('TYPE', KEYS[2])['ok'] == 'zset' then
  for _, key in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do redis.call('UNLINK', key) end
end
redis.call('DEL', KEYS[2])
"""


class RedisStore(RedisBackend, Claims):
    """One Redis server.

    Arguments: ``url``, ``timeout_seconds`` for connecting and for each answer, ``expire_seconds`` after which the
    server forgets an entry, ``index_key`` under which the keys of kept entries are listed, ``max_entries``,
    ``connection_kwargs`` for redis-py.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        # A server that was restarted has closed its connections, which shows only at the next use: hence one
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

    def set_serialized(self, key: str, value: bytes) -> None:
        """Keep an entry."""
        self.writer_client.set(key, value, ex=self.expire_seconds)

    def set_serialized_multi(self, mapping: Mapping[str, bytes]) -> None:
        """Keep entries, sent at once."""
        with self.writer_client.pipeline(transaction=False) as pipe:
            for key, value in mapping.items():
                pipe.set(key, value, ex=self.expire_seconds)
            pipe.execute()

    def look(self, lasting_key: str, key: str) -> Seen:
        """Return the entries, and who asks."""
        keys = [lasting_key, key, _claim_key(key)]
        return Seen(*cast("list[bytes | None]", self.reader_client.mget(keys)))

    def claim(self, key: str, token: bytes, life_seconds: float) -> bool:
        """Mark that ``token`` asks now."""
        return bool(self._claim(keys=[_claim_key(key)], args=[token, math.ceil(1000 * life_seconds)]))

    def keep(self, key: str, entry: bytes, token: bytes) -> bool:
        """Store if the claim is ``token``'s; the oldest entries go where there are too many."""
        keys = [key, _claim_key(key), self.index_key]
        kept = int(self._keep(keys=keys, args=[token, entry, self.expire_seconds, self.max_entries]))
        self._say_evicted(kept - 1)
        return kept > 0

    def release(self, key: str, token: bytes) -> None:
        """End the claim."""
        self._release(keys=[_claim_key(key)], args=[token])

    def forget(self, key: str, token: bytes) -> None:  # noqa: ARG002  # a claim goes whosever it is
        """Remove entry and claim."""
        # Its place in the index goes with the time.
        self.writer_client.delete(key, _claim_key(key))

    def begin(self, key: str, entry: bytes) -> bytes:
        """Store for good, unless there is one."""
        if self.writer_client.set(key, entry, nx=True):
            return entry
        # Unlike GET, this does not mind what type it is.
        there = cast("bytes | None", self.writer_client.mget([key])[0])
        if there is None:
            # Taken away since: whoever comes later wins, and the other's answers are asked for again.
            self.writer_client.set(key, entry)
        return entry if there is None else there

    def renew(self, key: str, entry: bytes) -> None:
        """Store for good, and remove the region's others."""
        self._renew(keys=[key, self.index_key], args=[entry])

    def count(self) -> int:
        """Return how many kept entries the server has not forgotten."""
        seconds, microseconds = self.reader_client.time()
        oldest = (seconds - self.expire_seconds) * 1_000_000 + microseconds
        return int(self.reader_client.zcount(self.index_key, oldest, "+inf"))


def _claim_key(key: str) -> str:
    return f"{key}:claim"
