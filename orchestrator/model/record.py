"""Records: frozen values of which most fields come from another object, such as a row."""

import functools
from dataclasses import fields
from typing import Any, Final, Self

_ABSENT: Final = object()


class Record:
    """Base of dataclasses that take fields over from other objects."""

    __slots__ = ()

    @classmethod
    def of(cls, source: object, **others: Any) -> Self:
        """Return a value with ``others``, and with the attributes of ``source`` that are called as its fields.

        A field that neither has gets its default.
        """
        for name in _names(cls):  # type: ignore[arg-type]  # a class is hashable
            if name not in others and (value := getattr(source, name, _ABSENT)) is not _ABSENT:
                others[name] = value
        return cls(**others)


@functools.cache
def _names(record: type[Record]) -> tuple[str, ...]:
    return tuple(each.name for each in fields(record))  # type: ignore[arg-type]  # it is a dataclass
