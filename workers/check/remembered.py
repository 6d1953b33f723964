"""What a worker process keeps of values that never change, such as contexts of traversals, bounded by their size."""

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from orchestrator.definition import StackSource

T = TypeVar("T")


class Remembered:
    """A cache of loaded values, least recently used first to go; thread-safe.

    A value that is larger than all may be together is kept until the next one comes: to load it for every check would
    cost more than the memory.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._values: OrderedDict[tuple[Callable[[str], Any], str], tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, load: Callable[[str], T], key: str) -> T:
        """Return what ``load`` returns for a key; threads that need it at once may each load it."""
        name = (load, key)
        with self._lock:
            if found := self._values.get(name):
                self._values.move_to_end(name)
                known: T = found[0]
                return known
        value = load(key)
        weight = weight_of(value)
        with self._lock:
            self._bytes += weight - self._values.pop(name, (None, 0))[1]
            self._values[name] = value, weight
            while self._bytes > self._most_bytes and len(self._values) > 1:
                _, (_, lost) = self._values.popitem(last=False)
                self._bytes -= lost
        return value

    def clear(self) -> None:
        """Keep nothing of what was loaded so far."""
        with self._lock:
            self._values.clear()
            self._bytes = 0


def weight_of(value: object) -> int:
    """Return about how many bytes a value takes in memory, with its parts."""
    parts: Collection[object] = ()
    if isinstance(value, Mapping):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        parts = value
    elif isinstance(value, StackSource):
        parts = value.template, value.environment
    return sys.getsizeof(value) + sum(map(weight_of, parts))
