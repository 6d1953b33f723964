"""An event as the world outside reads it: plain values under documented names."""

from dataclasses import fields
from typing import Any, Final

from hooks.events import Event

#: Goes up when a field changes its meaning or goes away, not when one is added.
VERSION: Final = 1

_FIELDS: Final = tuple(each.name for each in fields(Event))


def document(event: Event) -> dict[str, Any]:
    """Return an event's fields in the order in which they are documented, after the version of the schema."""
    return {"version": VERSION, **{name: getattr(event, name) for name in _FIELDS}}
