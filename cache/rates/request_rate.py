"""The rate of requests to one system: each request takes a token from a bucket, and waits for it if need be."""

import threading
import time
from collections.abc import Callable
from typing import Final

import structlog

from cache.rates.bucket import Draw, Limit
from cache.rates.buckets import Buckets, MemoryBuckets

log = structlog.get_logger()

#: How long a cache server that does not answer is left out.
PAUSE_SECONDS: Final = 2.0
#: The part of a limit that a process has for itself while the cache server is away.
LOCAL_PART: Final = 0.1


class RateExceeded(Exception):
    """No token will be there in time; nothing was sent."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the limit of requests is reached: the next is possible in {seconds:.1f} seconds")
        #: When there will be one, if nobody else takes it.
        self.seconds = seconds


class SafeBuckets:
    """Shared buckets, and in their place a tenth of each limit for this process while they are away; thread-safe."""

    def __init__(self, shared: Buckets, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._shared, self._own, self._clock = shared, MemoryBuckets(clock), clock
        self._away_until: float | None = None
        self._lock = threading.Lock()

    def take(self, key: str, draw: Draw) -> float:
        """Take a token, see :class:`cache.rates.buckets.Buckets`; never raises."""
        if self._may_try():
            try:
                wait = self._shared.take(key, draw)
            except Exception as error:  # noqa: BLE001  # every client library has errors of its own
                if self._away_until is None:
                    log.warning("limits of requests are not shared", error=f"{type(error).__name__}: {error}")
                self._away_until = self._clock() + PAUSE_SECONDS
            else:
                if self._away_until is not None:
                    log.info("limits of requests are shared again")
                self._away_until = None
                return wait
        limit = draw.limit.share(LOCAL_PART)
        reserve = min(int(draw.reserve * LOCAL_PART), limit.burst - 1)
        return self._own.take(key, Draw(limit, reserve, draw.patience_seconds))

    def _may_try(self) -> bool:
        with self._lock:
            now = self._clock()
            if self._away_until is not None and now < self._away_until:
                return False
            if self._away_until is not None:
                # The others do without until this one has its result.
                self._away_until = now + PAUSE_SECONDS
            return True


class RequestRate:
    """The limit of one system; thread-safe."""

    def __init__(
        self, buckets: Buckets, key: str, limit: Limit, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._buckets, self._key, self._limit, self._sleep = buckets, key, limit, sleep

    def take(self, *, reserve_part: float = 0.0, patience_seconds: float) -> None:
        """Wait until a request may be sent, for at most ``patience_seconds``.

        ``reserve_part`` (0 to less than 1) of the burst is left to others.

        Raises:
            RateExceeded: that would take longer.
        """
        reserve = int(self._limit.burst * reserve_part)
        draw = Draw(self._limit, reserve, patience_seconds)
        wait = self._buckets.take(self._key, draw)
        if wait > patience_seconds:
            raise RateExceeded(wait)
        if wait > 0:
            self._sleep(wait)
