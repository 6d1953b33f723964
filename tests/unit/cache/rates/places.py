"""Places with buckets, in tests."""

from collections.abc import Callable
from typing import Any

from cache.rates.bucket import Draw, Limit
from cache.rates.buckets import Buckets, MemoryBuckets
from cache.rates.memcached_buckets import MemcachedBuckets
from cache.rates.redis_buckets import RedisBuckets

TIMEOUT_SECONDS = 30.0


def buckets_at(kind: str, url: str, clock: Callable[[], float]) -> Buckets:
    """Return buckets as a process of its own would have them."""
    if kind == "redis":
        return RedisBuckets(url, timeout_seconds=TIMEOUT_SECONDS, clock=clock)
    if kind == "memcached":
        return MemcachedBuckets(url, timeout_seconds=TIMEOUT_SECONDS, clock=clock)
    return MemoryBuckets(clock)


def of_text(draw: dict[str, Any]) -> Draw:
    return Draw(Limit(**draw.pop("limit")), **draw)
