"""Factory of the machine-state cache and its store from the settings."""

import threading
from collections.abc import Collection
from typing import Final
from weakref import WeakValueDictionary

from cache.node_state.cache import NodeStateCache
from cache.node_state.file_store import FileNodeStore
from cache.node_state.memory_store import MemoryNodeStore
from cache.node_state.reading import Fetch
from cache.node_state.store import NodeStateStore
from hooks.values.nearest import Nearest
from orchestrator.config.caches import REDIS_SCHEMES
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, Problem
from orchestrator.nodes.rpc.names import read_boot_id
from orchestrator.plugins.machine_requirements import LOCAL_NODE

MEMORY, FILE, REDIS = "memory", "file", "redis"
_BACKENDS: Final = (MEMORY, FILE, REDIS)
#: The cache backends that are Redis.
_REDIS_CACHES: Final = ("redis", "dogpile.cache.redis")
#: The directory of the file store, in the state directory.
DIRECTORY: Final = "node-state"


def make_node_state_cache(settings: Settings, fetch: Fetch) -> NodeStateCache:
    """Return a cache that queries machines with ``fetch``; caches of the same settings share their store.

    Raises:
        InvalidInput: a setting of the store is wrong; the problem names it.
    """
    numbers = settings.node_state_cache
    unleased: Collection[str] = {LOCAL_NODE} if settings.embedded else ()
    return NodeStateCache(
        make_node_state_store(settings),
        fetch,
        ttl_seconds=numbers.ttl_seconds,
        rpc_timeout_seconds=numbers.rpc_timeout_seconds,
        lease_seconds=numbers.lease_seconds,
        dirty_seconds=numbers.dirty_seconds,
        unleased=unleased,
    )


def make_node_state_store(settings: Settings) -> NodeStateStore:
    """Return the machine-state store of the settings.

    Raises:
        InvalidInput: a setting of the store is wrong; the problem names it.
    """
    backend, url = where(settings)
    if backend == MEMORY:
        return _of_this_process(str(settings.state_directory.absolute()))
    if backend == FILE:
        return FileNodeStore(settings.state_directory / DIRECTORY, boot_id=read_boot_id(settings))
    # The Redis client is slow to import, and not needed in embedded mode.
    from cache.node_state.redis_store import RedisNodeStore, StoreMisconfigured

    try:
        return RedisNodeStore(url)
    except StoreMisconfigured as error:
        named = "node_state_cache.url" if settings.node_state_cache.url else _url_setting(settings)
        raise InvalidInput([Problem(message=str(error), path=f"settings.{named}")]) from error


def where(settings: Settings) -> tuple[str, str]:
    """Return the backend, memory, file or redis, and its URL, with the defaults filled in.

    Raises:
        InvalidInput: there is no such backend, its URL is missing, or it takes none.
    """
    configured = settings.node_state_cache
    named = _url_setting(settings)
    url: str = configured.url or (getattr(settings, named) if named else "")
    backend = configured.backend or (REDIS if url else FILE)
    if backend not in _BACKENDS:
        hint = Nearest().hint(backend, _BACKENDS, f"there are: {', '.join(_BACKENDS)}")
        raise _refused("backend", f"there is no node state store {backend!r}", hint)
    if backend == REDIS and not url:
        raise _refused("url", "nothing says where Redis is", "such as redis://localhost:6379/0")
    if backend != REDIS and configured.url:
        raise _refused("url", f"{backend} has no URL", "leave it out, or let backend be redis")
    return backend, url if backend == REDIS else ""


def _url_setting(settings: Settings) -> str:
    """Return the setting, of the cache or the broker, whose value is a Redis URL; "" if neither is."""
    place = settings.cache_place
    if place.backend in _REDIS_CACHES and place.url.startswith(REDIS_SCHEMES):
        return place.setting
    return "broker_url" if settings.broker_url.startswith(REDIS_SCHEMES) else ""


def _refused(setting: str, message: str, hint: str) -> InvalidInput:
    return InvalidInput([Problem(message=message, path=f"settings.node_state_cache.{setting}", hint=hint)])


_lock = threading.Lock()
#: Stores of this process, by state directory: the agent and its clients in one process share theirs.
_in_memory: "WeakValueDictionary[str, MemoryNodeStore]" = WeakValueDictionary()


def _of_this_process(directory: str) -> MemoryNodeStore:
    with _lock:
        store = _in_memory.get(directory) or MemoryNodeStore()
        _in_memory[directory] = store
        return store
