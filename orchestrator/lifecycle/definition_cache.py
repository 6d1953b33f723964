"""Definitions as plugins were shown them last, remembered by this process: reading one again may take long."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from hooks.stack import FrozenResource
from orchestrator.sandbox.budget import TooMuch, weight_of

#: How much all that is remembered may take in memory, in bytes and roughly, and a resource besides its properties.
MOST_BYTES: Final = 32 * 1024 * 1024
_RESOURCE: Final = 512

#: What a definition is known by: the stack, and the address of the stored template, which holds all that its resources
#: are made of. Neither ever means anything else.
Key = tuple[str, str]


class ShownDefinitions:
    """The resources of the definitions that were shown last, with nothing of what is there; safe for threads."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        """Remember no more than that together; a definition that is more alone is not remembered."""
        self._most, self._bytes = most_bytes, 0
        self._known: OrderedDict[Key, tuple[int, Mapping[str, FrozenResource]]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Mapping[str, FrozenResource] | None:
        """Return a definition; None if it is not remembered."""
        with self._lock:
            if key not in self._known:
                return None
            self._known.move_to_end(key)
            return self._known[key][1]

    def remember(self, key: Key, resources: Mapping[str, FrozenResource]) -> None:
        """Remember a definition, and forget those that nobody has asked for longest where it gets too much."""
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
