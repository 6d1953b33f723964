"""Server-sent events as they are written: https://html.spec.whatwg.org/multipage/server-sent-events.html. Pure."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from orchestrator.store.history.observing import ObservedEvent

#: What is said so that nobody in between takes the silence for an end.
PING: Final = b": ping\n\n"
#: After how long a browser comes again whose connection broke.
RETRY: Final = b"retry: 1000\n\n"


def message(event: str, data: str, *, last_id: int | None = None) -> bytes:
    """Return one message; ``data`` is JSON on one line."""
    number = "" if last_id is None else f"id: {last_id}\n"
    return f"event: {event}\n{number}data: {data}\n\n".encode()


def notice(event: str, data: Mapping[str, Any], *, last_id: int | None = None) -> bytes:
    """Return a message of a few words."""
    return message(event, json.dumps(data), last_id=last_id)


def events_message(texts: Iterable[str], *, last_id: int) -> bytes:
    """Return the message of some events, each as JSON, the last of which has this id."""
    return message("events", f"[{','.join(texts)}]", last_id=last_id)


def event_text(row: ObservedEvent) -> str:
    """Return an event as pages are told of it, as JSON on one line."""
    told = {name: getattr(row, name) for name in _TOLD}
    return json.dumps(told, separators=(",", ":"))


_TOLD: Final = (
    *("id", "at", "stack", "stack_id", "traversal_id", "resource", "resource_id", "type"),
    *("action", "status", "reason", "cause", "worker", "physical_id"),
)
