"""Records: frozen values of which most fields come from another object, such as a row."""

from dataclasses import fields
from typing import Any, Self


class Record:
    """Base of dataclasses that take fields over from other objects."""

    __slots__ = ()

    @classmethod
    def of(cls, source: object, **others: Any) -> Self:
        """Return a value with ``others``, and with the attributes of ``source`` that are called as its fields.

        A field that neither has gets its default.
        """
        names = (each.name for each in fields(cls) if each.name not in others)  # type: ignore[arg-type]  # it is one
        return cls(**{name: getattr(source, name) for name in names if hasattr(source, name)}, **others)
