"""Rate limits: how many requests of one project are answered in a minute.

They are counted in the server of the shared caches, for all processes of the API, or else in each process's memory. A
server that does not answer refuses nobody.
"""

import hashlib
import math
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, Self

import redis
from limits import RateLimitItemPerMinute
from limits.errors import ConfigurationError
from limits.storage import MemoryStorage, Storage, storage_from_string
from limits.strategies import FixedWindowRateLimiter
from redis.backoff import NoBackoff
from redis.retry import Retry

from orchestrator.api.faults import Refused
from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, Problem

log = get_logger()

#: How long a server that failed is not asked again, and how often that is logged at most.
PAUSE_SECONDS: Final = 2.0
LOG_SECONDS: Final = 60.0
#: How long a server may take for an answer, unless ``timeout_seconds`` of the constraint cache says otherwise.
_TIMEOUT_SECONDS: Final = 1.0
_PREFIX: Final = "isotherm-api-requests"


class RequestLimit:
    """The limit of each project; a minute begins with the first request after the last one. Safe for threads."""

    def __init__(
        self, storage: Storage, per_minute: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._strategy = FixedWindowRateLimiter(storage)
        self._item = RateLimitItemPerMinute(per_minute, namespace=_PREFIX)
        self._clock = clock
        self._silent_until = self._unlogged_until = float("-inf")

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the limit of the settings; connects to nothing.

        Raises:
            InvalidInput: the address of the cache server is wrong.
        """
        return cls(storage_of(settings), settings.api_requests_per_minute)

    def require(self, project: str) -> None:
        """Count a request of a project.

        Raises:
            Refused: the project has had as many as it may; ``Retry-After`` says how many seconds are left.
        """
        # Whatever a project is called, its key is no other's, and one that memcached takes.
        key = hashlib.sha256(project.encode()).hexdigest()
        if self._clock() < self._silent_until:
            return
        try:
            if self._strategy.hit(self._item, key):
                return
            left = self._strategy.get_window_stats(self._item, key).reset_time - time.time()
        except Exception as error:  # noqa: BLE001  # each server's client has errors of its own
            self._leave_out(error)
            return
        raise Refused(
            HTTPStatus.TOO_MANY_REQUESTS,
            f"the project {project!r} has sent more than {self._item.amount} requests within a minute",
            headers={"Retry-After": str(max(1, math.ceil(left)))},
        )

    def _leave_out(self, error: Exception) -> None:
        now = self._clock()
        self._silent_until = now + PAUSE_SECONDS
        if now >= self._unlogged_until:
            self._unlogged_until = now + LOG_SECONDS
            log.warning("requests are not limited: they cannot be counted", reason=type(error).__name__)


def storage_of(settings: Settings) -> Storage:
    """Return where requests are counted: the server of the shared caches, or this process's memory for other backends.

    Raises:
        InvalidInput: the address of the server is wrong.
    """
    place = settings.cache_place
    given = settings.constraint_cache.arguments
    seconds = float(given.get("timeout_seconds", _TIMEOUT_SECONDS))
    options: dict[str, Any]
    if place.backend == "redis":
        uri = f"redis+{place.url}" if place.url.startswith("unix://") else place.url
        options = _redis_options(seconds, given.get("connection_kwargs", {}))
    elif place.backend == "memcached":
        uri = f"memcached://{place.url}"
        options = {"connect_timeout": seconds, "timeout": seconds, "no_delay": True}
    else:
        return MemoryStorage()
    try:
        return storage_from_string(uri, **options)  # type: ignore[return-value]  # none is asynchronous
    except (ValueError, ConfigurationError) as error:
        # The message may quote a password.
        message = f"requests cannot be counted there: {type(error).__name__}"
        hint = "correct the address, or set api_requests_per_minute to 0"
        raise InvalidInput([Problem(path=f"settings.{place.setting}", message=message, hint=hint)]) from None


def _redis_options(seconds: float, given: Mapping[str, Any]) -> dict[str, Any]:
    # A restarted server has closed its connections, which shows only at the next use.
    retry = Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,))
    return {"socket_timeout": seconds, "socket_connect_timeout": seconds, "retry": retry, **given}
