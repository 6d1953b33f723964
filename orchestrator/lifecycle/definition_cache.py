"""Cache of the resources of definitions that lifecycle plugins were shown, for one process."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from hooks.stack import FrozenResource
from orchestrator.sandbox.budget import TooMuch, weight_of

#: The approximate size limit of the cache in bytes, and the size of a resource without its properties.
MOST_BYTES: Final = 32 * 1024 * 1024
_RESOURCE: Final = 512

#: The stack's id and the stored template's. A template is immutable, so an entry never becomes stale.
Key = tuple[str, str]


class ShownDefinitions:
    """An LRU cache of definitions' resources, without their rows; thread-safe."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        """Make a cache of at most ``most_bytes``; a larger definition is not cached."""
        self._most, self._bytes = most_bytes, 0
        self._known: OrderedDict[Key, tuple[int, Mapping[str, FrozenResource]]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Mapping[str, FrozenResource] | None:
        """Return a definition; None if it is not cached."""
        with self._lock:
            if key not in self._known:
                return None
            self._known.move_to_end(key)
            return self._known[key][1]

    def remember(self, key: Key, resources: Mapping[str, FrozenResource]) -> None:
        """Add a definition, and evict the least recently used ones beyond the limit."""
        try:
            size = sum(weight_of(each.properties) + _RESOURCE for each in resources.values())
        except TooMuch:
            return
        with self._lock:
            self._bytes -= self._known.pop(key, (0, {}))[0]
            if size > self._most:
                return
            self._known[key] = size, resources
            self._bytes += size
            while self._bytes > self._most:
                self._bytes -= self._known.popitem(last=False)[1][0]
