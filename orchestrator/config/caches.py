"""Settings of the constraint cache: for all client plugins, and for single ones."""

import re
from typing import Any, Final, NamedTuple

from orchestrator.config.section import Section, setting

#: The schemes of Redis URLs.
REDIS_SCHEMES: Final = ("redis://", "rediss://")
_SERVER: Final = r"[\w.-]+:\d+"


class CachePlace(NamedTuple):
    """Where the shared caches are, with the defaults filled in."""

    backend: str
    url: str
    #: The setting that names the URL.
    setting: str


def cache_place(backend: str, url: str, broker_url: str) -> CachePlace:
    """Return where the shared caches are: where the settings have them, else on the broker if that is Redis.

    Without a backend, the URL decides on it.
    """
    if (
        not url
        and backend in ("", "redis")
        and broker_url.startswith(REDIS_SCHEMES)
        and ";" not in broker_url
    ):
        return CachePlace("redis", broker_url, "broker_url")
    return CachePlace(backend or _backend_at(url), url, "cache_url")


def _backend_at(url: str) -> str:
    if not url:
        return "memory"
    if url.startswith((*REDIS_SCHEMES, "unix://")):
        return "redis"
    if re.fullmatch(_SERVER, url):
        return "memcached"
    # The scheme of another URL is no backend, and is refused as one.
    return url.partition("://")[0] if "://" in url else "file"


class ClientCacheSettings(Section):
    """The settings of one client plugin's cache; those not given default to the common ones."""

    enabled: bool | None = setting(default=None, description="Whether answers of this client are cached.")
    backend: str | None = setting(
        default=None, description="The cache backend: a name as for `cache_backend`."
    )
    url: str | None = setting(
        default=None,
        repr=False,
        description="The URL of that backend; by default `cache_url`, if the backend is the same.",
    )
    arguments: dict[str, Any] | None = setting(
        default=None, repr=False, description="Further arguments of that backend."
    )
    expiration_seconds: float | None = setting(default=None, gt=0, description="How old an answer may be.")
    max_entries: int | None = setting(default=None, gt=0, description="How many answers are cached.")


class ConstraintCacheSettings(Section):
    """The settings of the caches of all client plugins."""

    enabled: bool = setting(
        default=True,
        description="Whether the existence of objects in outside systems (an image, a network) is cached for all "
        "workers: a name that many resources share is looked up once. That something does not exist is never cached. "
        "The backend is that of `cache_backend`.",
    )
    expiration_seconds: float = setting(
        default=60.0,
        gt=0,
        description="How old an answer may be. An object that is deleted outside counts as existing this much longer.",
    )
    max_entries: int = setting(
        default=10_000,
        gt=0,
        description="How many answers of each client are cached; beyond that the oldest are evicted. "
        "Memcached and dogpile.cache's own backends have limits of their own instead.",
    )
    lock_seconds: float = setting(
        default=20.0,
        gt=0,
        description="One worker looks a value up for all; if it is killed meanwhile, other workers that need "
        "the value wait this long. An answer that takes longer is not cached.",
    )
    arguments: dict[str, Any] = setting(
        default={},
        repr=False,
        description="Further arguments of the backend: `timeout_seconds` (1; memcached, redis, file), "
        "`connection_kwargs` of redis-py (redis), or those of a dogpile.cache backend, as documented there.",
    )
    clients: dict[str, ClientCacheSettings] = setting(
        default={}, description="Settings of single clients, by their names."
    )
