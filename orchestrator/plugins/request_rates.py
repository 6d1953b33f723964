"""Limits of the requests to other systems, shared by all processes of an installation.

A client takes a token before each request that it sends (:meth:`ClientPlugin.request_rate`). The tokens of one system
are in one bucket on the cache server. What waits for a token waits for a moment only: after that, the step or the
observation is put off, and the process is free for others.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from orchestrator.config.settings import Settings
from orchestrator.plugins.constraints import Range
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.steps import RateLimited

if TYPE_CHECKING:
    from cache.rates.buckets import Buckets
    from cache.rates.request_rate import RequestRate

#: The options of a client that limits its requests.
RATE_OPTIONS: Final[Mapping[str, Property]] = {
    "requests_per_second": Property(
        type=PropertyType.NUMBER,
        description="The most requests a second to this system, of all processes together. Where they share no cache "
        "server, each process has the whole limit.",
        default=100,
        constraints=(Range(min=0.01, max=100_000),),
    ),
    "burst": Property(
        type=PropertyType.INTEGER,
        description="How many requests may be sent at once after a pause. Observations leave half of them to "
        "operations.",
        default=200,
        constraints=(Range(min=1, max=1_000_000),),
    ),
}
#: How long a request of an operation waits for a token, and one of an observation.
OPERATION_PATIENCE_SECONDS: Final = 10.0
OBSERVATION_PATIENCE_SECONDS: Final = 1.0
#: The part of the burst that observations leave to operations.
RESERVED_PART: Final = 0.5

_observes: Final[ContextVar[bool]] = ContextVar("observes", default=False)


@contextmanager
def observing() -> Iterator[None]:
    """Make requests of this thread leave the reserved part of each limit to operations."""
    token = _observes.set(True)
    try:
        yield
    finally:
        _observes.reset(token)


class SystemRate:
    """The limit of one system, as a client uses it; thread-safe."""

    def __init__(self, system: str, rate: "RequestRate") -> None:
        self._system, self._rate = system, rate

    def take(self) -> None:
        """Take a token, for one request; wait for it, for a moment only.

        Raises:
            RateLimited: there will be none within that time.
        """
        from cache.rates.request_rate import RateExceeded

        is_observation = _observes.get()
        try:
            self._rate.take(
                reserve_part=RESERVED_PART if is_observation else 0.0,
                patience_seconds=OBSERVATION_PATIENCE_SECONDS
                if is_observation
                else OPERATION_PATIENCE_SECONDS,
            )
        except RateExceeded as error:
            raise RateLimited(f"{self._system}: {error}", error.seconds) from error


class RequestRates:
    """The limits of one process; thread-safe."""

    def __init__(self, settings: Settings | None) -> None:
        """Keep the settings, which say where the buckets are; without them, they are in this process."""
        self._settings = settings
        self._buckets: Buckets | None = None
        self._lock = threading.Lock()

    def of(self, client: str, target: str, options: Mapping[str, Any]) -> SystemRate:
        """Return the limit of a client's system, by its options, which have :data:`RATE_OPTIONS`.

        ``target`` tells the systems of a client apart, such as by their addresses. Limits that differ have buckets of
        their own.
        """
        # Slow to import, as for the constraint cache, and most commands send no requests.
        from cache.rates.bucket import Limit
        from cache.rates.request_rate import RequestRate
        from cache.stores.regions import stored_key

        limit = Limit(float(options["requests_per_second"]), int(options["burst"]))
        name = f"{client}:{limit.requests_per_second:g}:{limit.burst}:{target}"
        return SystemRate(client, RequestRate(self._place(), stored_key("rate", name), limit))

    def _place(self) -> "Buckets":
        with self._lock:
            if self._buckets is None:
                self._buckets = _made(self._settings)
            return self._buckets


def _made(settings: Settings | None) -> "Buckets":
    from cache.rates.buckets import MemoryBuckets
    from cache.rates.request_rate import SafeBuckets
    from cache.stores.regions import TIMEOUT_SECONDS

    place = None if settings is None else settings.cache_place
    if place is not None and place.backend == "redis":
        from cache.rates.redis_buckets import RedisBuckets

        return SafeBuckets(RedisBuckets(place.url, timeout_seconds=TIMEOUT_SECONDS))
    if place is not None and place.backend == "memcached":
        from cache.rates.memcached_buckets import MemcachedBuckets

        return SafeBuckets(MemcachedBuckets(place.url, timeout_seconds=TIMEOUT_SECONDS))
    # Neither a file nor a backend of dogpile.cache counts for several processes.
    return MemoryBuckets()
