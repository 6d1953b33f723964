"""Read-only maps that are loaded at the first access, because most hooks never access them.

The loaders are kept in this module, beside the maps: from a map nothing can be reached but its content.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from weakref import WeakKeyDictionary

from hooks.values.frozen import FrozenDict, refusal


class _Key:
    """The identity of one map, in place of its loader."""

    __slots__ = ("__weakref__",)


class _Content:
    """The content of a map, loaded once."""

    def __init__(self, read: Callable[[], Mapping[str, Any]]) -> None:
        self._lock = threading.Lock()
        self._read: Callable[[], Mapping[str, Any]] | None = read
        self._held: FrozenDict = FrozenDict()

    def held(self) -> FrozenDict:
        """Return the content; the first caller loads it, others wait for that."""
        with self._lock:
            if self._read is not None:
                self._held = FrozenDict(self._read())
                self._read = None
            return self._held


_CONTENTS: Final[WeakKeyDictionary[_Key, _Content]] = WeakKeyDictionary()


class LazyMapping(Mapping[str, Any]):
    """A map that is loaded as a whole at the first access, once, in whatever thread.

    An error of the loader reaches the caller; the next access tries again.
    """

    __slots__ = ("_key",)
    _key: _Key

    def __init__(self, read: Callable[[], Mapping[str, Any]]) -> None:
        """Keep the loader; what it returns must not be changed any more, at any depth."""
        object.__setattr__(self, "_key", _Key())
        _CONTENTS[self._key] = _Content(read)

    def __getitem__(self, name: str) -> object:
        return _CONTENTS[self._key].held()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_CONTENTS[self._key].held())

    def __len__(self) -> int:
        return len(_CONTENTS[self._key].held())

    def __repr__(self) -> str:
        return repr(_CONTENTS[self._key].held())

    def __hash__(self) -> int:
        return id(self)

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        return _CONTENTS[self._key].held().__deepcopy__(memo)

    _refuse = refusal("dict")

    __setattr__ = __delattr__ = _refuse
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse
