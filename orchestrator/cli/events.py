"""Events of a stack on the command line: all after one, the latest, and one in a line."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from orchestrator.cli.formats import moment, printable
from orchestrator.errors import NotFound
from orchestrator.model.event_filter import ALL_EVENTS, EventFilter

if TYPE_CHECKING:
    from orchestrator.service import Service
    from orchestrator.views.stacks import EventView

#: Events are fetched in pages of this size.
PAGE = 1000


def events_after(
    service: "Service", stack: str, after: int, *, wanted: EventFilter = ALL_EVENTS
) -> Iterator["EventView"]:
    """Yield all events of a stack later than ``after``, oldest first; none if the stack is gone."""
    while True:
        try:
            page = service.events(stack, after=after, limit=PAGE, wanted=wanted)
        except NotFound:
            return
        yield from page
        if len(page) < PAGE:
            return
        after = page[-1].id


def last_event(service: "Service", stack: str) -> int:
    """Return the id of a stack's latest event; 0 if the stack has none or does not exist."""
    try:
        return max((event.id for event in service.events(stack, newest_first=True, limit=1)), default=0)
    except NotFound:
        return 0


def event_line(event: "EventView") -> str:
    """Return an event in one line: time, resource, state, reason."""
    words = (moment(event.at), event.resource or event.stack, event.state, event.reason)
    return printable(" ".join(" ".join(words).split()))
