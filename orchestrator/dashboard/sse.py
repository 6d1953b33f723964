"""Encoding of server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html. Pure functions."""

import json
from collections.abc import Iterable, Mapping
from typing import Final

from orchestrator.store.history.observing import ObservedEvent
from orchestrator.views.times import with_iso_times

#: A comment that keeps proxies from closing an idle connection.
PING: Final = b": ping\n\n"
#: The reconnection time of browsers, in milliseconds.
RETRY: Final = b"retry: 1000\n\n"


def message(event: str, data: str, *, last_id: int | None = None) -> bytes:
    """Return one message; ``data`` is JSON on one line."""
    number = "" if last_id is None else f"id: {last_id}\n"
    return f"event: {event}\n{number}data: {data}\n\n".encode()


def notice(event: str, data: Mapping[str, object], *, last_id: int | None = None) -> bytes:
    """Return a message whose data are encoded as JSON, with times as ISO 8601."""
    return message(event, json.dumps(with_iso_times(data)), last_id=last_id)


def events_message(texts: Iterable[str], *, last_id: int) -> bytes:
    """Return the message of some events, each encoded as JSON; ``last_id`` is the id of the last."""
    return message("events", f"[{','.join(texts)}]", last_id=last_id)


def event_text(row: ObservedEvent) -> str:
    """Return an event as JSON on one line, as pages receive it."""
    fields = with_iso_times({name: getattr(row, name) for name in _FIELDS})
    return json.dumps(fields, separators=(",", ":"))


_FIELDS: Final = (
    *("id", "at", "stack", "stack_id", "traversal_id", "resource", "resource_id", "type"),
    *("action", "status", "reason", "cause", "worker", "physical_id"),
)
