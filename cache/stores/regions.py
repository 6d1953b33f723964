"""Cache regions made from settings: a name, a lifetime, and a store that may fail.

A region belongs to the process that made it: make it after a fork, not before.
"""

import hashlib
import math
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from dogpile.cache import exception as dogpile_errors
from dogpile.cache import make_region as make_dogpile_region
from dogpile.cache.api import CacheBackend

from cache.stores.fail_open import PAUSE_SECONDS, SLOW_SECONDS, FailOpen
from cache.stores.suggestion import suggestion

#: A store that does not reply within this time is taken for one that is down.
TIMEOUT_SECONDS = 1.0
#: A region drops its oldest entries beyond this many, where its store can.
MAX_ENTRIES = 10_000
#: The key of a region's lasting entry, which neither expires nor is evicted.
LASTING = "lasting"

#: Isotherm's own stores: module and class; others go by dogpile's names.
BACKENDS = {
    "memory": ("cache.stores.memory_store", "MemoryStore"),
    "redis": ("cache.stores.redis_store", "RedisStore"),
    "memcached": ("cache.stores.memcached_store", "MemcachedStore"),
    "file": ("cache.stores.file_store", "FileStore"),
}
#: The stores that need a URL, and an example of one.
URLS = {
    "redis": "redis://localhost:6379/0",
    "memcached": "localhost:11211",
    "file": "/var/cache/isotherm/cache",
}
#: The arguments that Isotherm's own stores accept beside the URL; for dogpile's see its documentation.
ARGUMENTS = {
    "memory": (),
    "redis": ("timeout_seconds", "connection_kwargs"),
    "memcached": ("timeout_seconds",),
    "file": ("timeout_seconds",),
}

#: Scheme, user with password, host (with port and path) and query of a text that was meant to be a URL.
_URL = re.compile(r"\A([\w+.-]*://)?(.*@)?([^?]*)(\?.*)?", re.DOTALL)
_READABLE = re.compile(r"[!-~]{1,180}")


class CacheMisconfigured(ValueError):
    """A cache cannot be made from its settings; the message names the reason."""

    def __init__(self, sentence: str, argument: str = "backend") -> None:
        super().__init__(sentence)
        #: The setting that is wrong: backend, url or arguments.
        self.argument = argument


def make_region(
    backend: str,
    url: str,
    *,
    name: str,
    expiration_seconds: float,
    max_entries: int = MAX_ENTRIES,
    arguments: Mapping[str, Any] | None = None,
    pause_seconds: float = PAUSE_SECONDS,
    count: Callable[[str, int], None] = lambda *_: None,
) -> FailOpen:
    """Return a region of a store, which may fail.

    ``name`` sets its keys apart from those of others in the same store: printable ASCII without spaces. ``count`` is
    called with each fault and its number; other arguments are those of the constraint cache.

    Raises:
        CacheMisconfigured: there is no such backend, it needs a URL, its arguments are wrong, or its client library
            is not installed.
    """
    if backend in URLS and not url:
        raise CacheMisconfigured(
            f"cache backend {backend!r} needs a cache URL, such as {URLS[backend]}", "url"
        )
    given = dict(arguments or {})
    _check_arguments(backend, given)
    try:
        store = _store(backend, _arguments(backend, url, name, expiration_seconds, max_entries) | given)
        return FailOpen(
            name, store, pause_seconds=pause_seconds, slow_seconds=_slow_seconds(backend, given), count=count
        )
    except dogpile_errors.PluginNotFound as error:
        raise CacheMisconfigured(f"there is no cache backend {backend!r}{_nearest(backend)}") from error
    except ImportError as error:
        package = "'isotherm[memcached]'" if backend == "memcached" else error.name
        raise CacheMisconfigured(
            f"cache backend {backend!r} needs {error.name}: pip install {package}"
        ) from error
    except OSError as error:
        raise CacheMisconfigured(
            f"cache backend {backend!r} cannot use {masked(url)!r}: {error.strerror}", "url"
        ) from error
    except Exception as error:  # noqa: BLE001  # each backend has errors of its own
        if isinstance(error, ValueError) and url:
            raise _not_a_url(url, backend, error) from None
        # Messages of errors may quote a password; that of a KeyError is the name of a missing argument.
        words = f" {error}" if isinstance(error, KeyError) else ""
        names = ", ".join(sorted(given)) or "none"
        raise CacheMisconfigured(
            f"cache backend {backend!r} cannot be made with these arguments ({names}): "
            f"{type(error).__name__}{words}",
            "arguments",
        ) from None


def _store(backend: str, arguments: dict[str, Any]) -> CacheBackend:
    if backend in BACKENDS:
        module, name = BACKENDS[backend]
        store: CacheBackend = getattr(import_module(module), name)(arguments)
    else:
        store = make_dogpile_region().configure(backend, arguments=arguments).actual_backend
    return store


def _check_arguments(backend: str, given: Mapping[str, Any]) -> None:
    known = ARGUMENTS.get(backend)
    if known is None:
        return
    for name in given:
        if name not in known:
            hint = suggestion(name, known, f"there are: {', '.join(known) or 'none'}")
            raise CacheMisconfigured(
                f"cache backend {backend!r} has no argument {name!r}; {hint}", "arguments"
            )
    timeout = given.get("timeout_seconds", TIMEOUT_SECONDS)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise CacheMisconfigured(f"cache backend {backend!r} needs timeout_seconds above 0", "arguments")


def _slow_seconds(backend: str, given: Mapping[str, Any]) -> float:
    """Return which calls of a store are slow: the same part of its time-out, however long that is."""
    timeout: float = given.get("timeout_seconds", TIMEOUT_SECONDS) if backend in BACKENDS else TIMEOUT_SECONDS
    return SLOW_SECONDS * timeout / TIMEOUT_SECONDS


def _not_a_url(url: str, backend: str, error: ValueError) -> CacheMisconfigured:
    shown = masked(url)
    # The client library's message may quote a piece of the password.
    reason = f": {error}" if shown == url else ""
    return CacheMisconfigured(f"cache URL {shown!r} is not one for {backend!r}{reason}", "url")


def masked(url: str) -> str:
    """Return ``url`` without its credentials: all before its last @, and its query, are masked."""
    scheme, user, host, query = _URL.findall(url)[0]
    return f"{scheme}{user and '***@'}{host}{query and '?***'}"


def _arguments(
    backend: str, url: str, name: str, expiration_seconds: float, max_entries: int
) -> dict[str, Any]:
    if backend not in BACKENDS:
        return {"url": url} if url else {}
    return {
        "url": url,
        "timeout_seconds": TIMEOUT_SECONDS,
        # The region expires entries by its own clock; the server must not do so earlier.
        "expire_seconds": math.ceil(2 * expiration_seconds),
        "max_entries": max_entries,
        "index_key": f"isotherm-index:{name}",
        "prefix": _prefix(name),
        "lasting_key": stored_key(name, LASTING),
    }


def stored_key(region: str, key: str) -> str:
    """Return a region's key as its store calls it.

    memcached accepts 250 printable ASCII characters; a readable key is kept where it fits.
    """
    readable = key if _READABLE.fullmatch(key) else f"sha256:{hashlib.sha256(key.encode()).hexdigest()}"
    return f"{_prefix(region)}{readable}"


def _prefix(region: str) -> str:
    return f"isotherm:{region}:"


def _nearest(backend: str) -> str:
    known = f"there are {', '.join(BACKENDS)}, and dogpile.cache's own"
    return f"; {suggestion(backend, BACKENDS, known)}"
