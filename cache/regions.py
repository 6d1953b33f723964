"""Make cache regions from settings: a name, a lifetime, and a store that may fail.

A region belongs to the process that made it: make it after a fork, not before.
"""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from dogpile.cache import CacheRegion, register_backend
from dogpile.cache import exception as dogpile_errors
from dogpile.cache import make_region as make_dogpile_region

from cache.codec import pack
from cache.fail_open import PAUSE_SECONDS, FailOpen

#: A store that does not answer within this time is taken for one that is down.
TIMEOUT_SECONDS = 0.5
#: A region in memory drops its oldest entries beyond this many.
MEMORY_ENTRIES = 10_000

#: Our names for dogpile's stores; others go by dogpile's names.
BACKENDS = {
    "memory": "dogpile.cache.memory",
    "redis": "isotherm.redis",
    "memcached": "isotherm.memcached",
}
#: Those that need a URL, and what one looks like.
SERVERS = {"redis": "redis://localhost:6379/0", "memcached": "localhost:11211"}

#: Scheme, user with password, host (with port and path) and query of whatever was meant to be a URL.
_URL = re.compile(r"\A([\w+.-]*://)?(.*@)?([^?]*)(\?.*)?", re.DOTALL)

register_backend(BACKENDS["redis"], "cache.redis_store", "RedisStore")  # type: ignore[no-untyped-call]
register_backend(BACKENDS["memcached"], "cache.memcached_store", "MemcachedStore")  # type: ignore[no-untyped-call]


class CacheMisconfigured(ValueError):
    """A cache cannot be made from its settings; the sentence says which setting is wrong."""


def make_region(
    backend: str,
    url: str,
    *,
    name: str,
    expiration_seconds: int,
    pause_seconds: float = PAUSE_SECONDS,
) -> CacheRegion:
    """Return a region whose values are what msgpack can pack, and whose store may fail (:mod:`cache.fail_open`).

    Args:
        backend: memory, redis, memcached, or the name of any dogpile.cache backend.
        url: Where the store is; not used by memory.
        name: Sets the region's keys apart from those of others in the same store; printable ASCII without spaces.
        expiration_seconds: How old a value may be.
        pause_seconds: How long a store is left alone after it failed.

    Raises:
        CacheMisconfigured: there is no such backend, it needs a URL, or its client library is not installed.
    """
    if backend in SERVERS and not url:
        raise CacheMisconfigured(f"cache backend {backend!r} needs a cache URL, such as {SERVERS[backend]}")
    proxy = FailOpen(name, pause_seconds=pause_seconds)
    region = make_dogpile_region(
        name=name, key_mangler=_mangler(name), serializer=pack, deserializer=proxy.deserialize
    )
    try:
        return region.configure(
            BACKENDS.get(backend, backend),
            expiration_time=expiration_seconds,
            arguments=_arguments(backend, url, expiration_seconds),
            wrap=[proxy],
        )
    except dogpile_errors.PluginNotFound as error:
        raise CacheMisconfigured(f"there is no cache backend {backend!r}{_nearest(backend)}") from error
    except ImportError as error:
        package = "'isotherm[memcached]'" if backend == "memcached" else error.name
        raise CacheMisconfigured(
            f"cache backend {backend!r} needs {error.name}: pip install {package}"
        ) from error
    except ValueError as error:
        raise _not_a_url(url, backend, error) from None


def _not_a_url(url: str, backend: str, error: ValueError) -> CacheMisconfigured:
    masked = _masked(url)
    # The client library's own words may quote a piece of the password.
    reason = f": {error}" if masked == url else ""
    return CacheMisconfigured(f"cache URL {masked!r} is not one for {backend!r}{reason}")


def _masked(url: str) -> str:
    """Return ``url`` without what may be a password: all before its last @, and its query."""
    scheme, user, host, query = _URL.findall(url)[0]
    return f"{scheme}{user and '***@'}{host}{query and '?***'}"


def _arguments(backend: str, url: str, expiration_seconds: int) -> dict[str, Any]:
    if backend == "memory":
        return {"cache_dict": _Newest(MEMORY_ENTRIES)}
    if backend in SERVERS:
        # The region goes by its own clock; the server must not forget earlier.
        return {"url": url, "timeout_seconds": TIMEOUT_SECONDS, "expire_seconds": 2 * expiration_seconds}
    return {"url": url} if url else {}


def _mangler(name: str) -> Callable[[str], str]:
    # memcached takes 250 printable ASCII characters; a readable key is kept where it can be.
    safe = re.compile(r"[!-~]{1,180}")

    def mangle(key: str) -> str:
        readable = key if safe.fullmatch(key) else f"sha256:{hashlib.sha256(key.encode()).hexdigest()}"
        return f"isotherm:{name}:{readable}"

    return mangle


def _nearest(backend: str) -> str:
    near = get_close_matches(backend, BACKENDS, 1)
    return (
        f"; did you mean {near[0]!r}?"
        if near
        else f"; there are {', '.join(BACKENDS)}, and dogpile.cache's own"
    )


class _Newest(OrderedDict[str, Any]):
    """A dict that drops its oldest entries beyond a number of them."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: str, value: Any) -> None:
        # Without this a key that is written again would keep the age of its first value.
        self.pop(key, None)
        super().__setitem__(key, value)
        # Each of these steps is whole by itself, so threads need no lock.
        if len(self) > self._limit:
            self.popitem(last=False)
