"""Events for external systems: plain values under documented names."""

from dataclasses import fields
from typing import Final

from hooks.events import Event

#: Incremented when a field changes its meaning or is removed, not when one is added.
VERSION: Final = 1

_FIELDS: Final = tuple(each.name for each in fields(Event))


def document(event: Event) -> dict[str, object]:
    """Return an event's fields in their documented order, after the version of the schema."""
    return {"version": VERSION, **{name: getattr(event, name) for name in _FIELDS}}
