"""Read-only maps and lists, in which hooks receive a stack.

They are a ``dict`` and a ``list`` for every reader, so ``json.dumps``, ``yaml.safe_dump`` after
:func:`thawed`, comparisons and ``isinstance`` work as usual. To change one, copy it.
"""

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from hooks.errors import ReadOnly


def refusal(kind: str) -> Callable[..., NoReturn]:
    """Return the method that refuses changes of a map or a list; ``kind`` is the type of a copy that can be changed."""

    def refuse(_self: object, *_: Any, **__: Any) -> NoReturn:
        raise ReadOnly(
            f"what a hook is shown of a stack is only read; make a copy with {kind}(...) to change that"
        )

    return refuse


class FrozenDict(dict[str, Any]):
    """A read-only ``dict``."""

    __slots__ = ()

    _refuse = refusal("dict")

    __setattr__ = __delattr__ = _refuse
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # a dict that may change has none
        return id(self)

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def __deepcopy__(self, _memo: object) -> dict[str, Any]:
        return {name: thawed(value) for name, value in self.items()}


class FrozenList(list[Any]):
    """A read-only ``list``."""

    __slots__ = ()

    _refuse = refusal("list")

    __setattr__ = __delattr__ = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, _memo: object) -> list[Any]:
        return [thawed(value) for value in self]


def frozen(value: Any) -> Any:
    """Return a read-only copy of a value of plain types, at any depth."""
    if isinstance(value, (FrozenDict, FrozenList)):
        return value
    if isinstance(value, Mapping):
        return FrozenDict({name: frozen(each) for name, each in value.items()})
    if isinstance(value, (list, tuple)):
        return FrozenList(frozen(each) for each in value)
    return value


def thawed(value: object) -> Any:
    """Return a changeable copy of a value, at any depth: plain maps and lists."""
    if isinstance(value, Mapping):
        return {name: thawed(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [thawed(each) for each in value]
    return value
