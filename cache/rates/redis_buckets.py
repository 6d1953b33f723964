"""Token buckets in Redis, by the server's own clock."""

from collections.abc import Callable
from typing import Final

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from cache.rates.bucket import Draw

#: Keys: bucket. Arguments: interval, room and patience of the draw and the life of a state, in seconds; the time,
#: empty for the server's own. The same steps as :func:`cache.rates.bucket.drawn`.
TAKE: Final = """
local interval, room, patience = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now = tonumber(ARGV[5])
if not now then
  local time = redis.call('TIME')
  now = time[1] + time[2] / 1000000
end
local stored = redis.pcall('GET', KEYS[1])
local full_at = type(stored) == 'string' and tonumber(stored) or now
if not (full_at <= now + 3600) then full_at = now end
local after = math.max(full_at, now) + interval
local wait = math.max(0, after - now - room)
if wait <= patience then
  redis.call('SET', KEYS[1], string.format('%.17g', after), 'EX', ARGV[4])
end
return string.format('%.17g', wait)
"""


class RedisBuckets:
    """Buckets on one Redis server."""

    def __init__(self, url: str, *, timeout_seconds: float, clock: Callable[[], float] | None = None) -> None:
        """Prepare the connection; nothing is sent yet. Without a ``clock``, the time is the server's.

        Raises:
            ValueError: the URL is not one of Redis.
        """
        self._clock = clock
        # A restarted server has closed its connections, which shows only at the next use. A token taken twice is lost.
        retry = Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,))
        self._client = redis.Redis.from_url(
            url, socket_timeout=timeout_seconds, socket_connect_timeout=timeout_seconds, retry=retry
        )
        self._take = self._client.register_script(TAKE)

    def take(self, key: str, draw: Draw) -> float:
        """Take a token, see :class:`cache.rates.buckets.Buckets`."""
        now = "" if self._clock is None else repr(self._clock())
        spans = (draw.interval_seconds, draw.room_seconds, draw.patience_seconds, draw.life_seconds)
        return float(self._take(keys=[key], args=[*map(repr, spans), now]))
