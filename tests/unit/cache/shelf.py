"""Stores as others might write them for dogpile.cache: they know nothing of fill locks.

One has locks and reads several entries at once; the other has the three methods that every store needs, and no more.
"""

import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dogpile.cache import register_backend
from dogpile.cache.api import (
    NO_VALUE,
    BackendFormatted,
    BackendSetType,
    BytesBackend,
    CacheBackend,
    CacheMutex,
    SerializedReturnType,
)

BACKEND = "tests.shelf"
LEAST = "tests.least"

register_backend(BACKEND, __name__, "Shelf")  # type: ignore[no-untyped-call]
register_backend(LEAST, __name__, "Least")  # type: ignore[no-untyped-call]


class Shelf(BytesBackend):
    """A dict that all who name it share.

    Arguments: ``name``.
    """

    shelves: dict[str, dict[str, bytes]] = defaultdict(dict)
    mutexes: dict[str, "Mutex"] = {}

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self.name: str = arguments["name"]
        self.entries = self.shelves[self.name]

    def get_mutex(self, key: str) -> CacheMutex:
        return self.mutexes.setdefault(f"{self.name} {key}", Mutex())

    def get_serialized(self, key: str) -> SerializedReturnType:
        return self.entries.get(key, NO_VALUE)

    def get_serialized_multi(self, keys: Iterable[str]) -> Sequence[SerializedReturnType]:
        return [self.get_serialized(key) for key in keys]

    def set_serialized(self, key: str, value: bytes) -> None:
        self.entries[key] = value

    def set_serialized_multi(self, mapping: Mapping[str, bytes]) -> None:
        self.entries.update(mapping)

    def delete(self, key: str) -> None:
        self.entries.pop(key, None)

    def delete_multi(self, keys: Iterable[str]) -> None:
        for key in keys:
            self.delete(key)


class Least(CacheBackend):
    """A dict that all who name it share: ``get``, ``set`` and ``delete``, and nothing else.

    Arguments: ``name``.
    """

    shelves: dict[str, dict[str, BackendSetType]] = defaultdict(dict)

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self.entries = self.shelves[arguments["name"]]

    def get(self, key: str) -> BackendFormatted:
        return self.entries.get(key, NO_VALUE)

    def set(self, key: str, value: BackendSetType) -> None:
        self.entries[key] = value

    def delete(self, key: str) -> None:
        self.entries.pop(key, None)


class Mutex(CacheMutex):
    """What dogpile.cache expects of a lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def acquire(self, wait: bool = True) -> bool:
        return self._lock.acquire(wait)

    def release(self) -> None:
        self._lock.release()

    def locked(self) -> bool:
        return self._lock.locked()
