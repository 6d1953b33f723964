"""Constructors of properties by their type, and of attributes that are read anew at every visit.

The first argument is the description; further ones are fields of :class:`orchestrator.plugins.properties.Property`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from orchestrator.plugins.properties import Attribute, CacheMode, Property, PropertyType


def _of(kind: PropertyType) -> Callable[..., Property]:
    def made(description: str = "", **fields: Any) -> Property:
        return Property(type=kind, description=description, **fields)

    return made


text: Final = _of(PropertyType.STRING)
integer: Final = _of(PropertyType.INTEGER)
number: Final = _of(PropertyType.NUMBER)
boolean: Final = _of(PropertyType.BOOLEAN)
listing: Final = _of(PropertyType.LIST)
mapping: Final = _of(PropertyType.MAP)
anything: Final = _of(PropertyType.ANY)

#: An attribute whose value is never cached.
live: Final = partial(Attribute, cache_mode=CacheMode.NONE)
