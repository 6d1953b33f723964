"""Event sinks: told what happened to stacks and resources, after it was committed.

A sink that is down or slow to learn misses nothing for good: the history in the store is what counts, and an
event's id tells where to read on.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import structlog

from hooks.hook import Hook, HookFault, load_hooks

#: The entry point group of event sinks.
NAMESPACE = "isotherm.event_sinks"

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One entry of the history."""

    #: Ascending; the same however often the event is handed on.
    id: int
    #: Seconds since the epoch, by the database's clock.
    at: float
    stack_id: str
    stack_name: str
    #: The resource's name; empty for an event of the stack itself.
    resource: str
    #: The resource's type; empty for an event of the stack itself.
    type: str
    #: Action and status in Heat's words: CREATE, COMPLETE.
    action: str
    status: str
    reason: str = ""
    #: What the outside world calls the resource; None while there is none.
    physical_id: str | None = None


class EventSink(Hook):
    """Base of event sinks."""

    def consume(self, events: Sequence[Event]) -> None:
        """Take events in the order of their ids; the same event may come again."""


def load_event_sinks(namespace: str = NAMESPACE) -> tuple[EventSink, ...]:
    """Return the installed sinks, ordered by name.

    Raises:
        HookNotLoaded: one of them cannot be used.
    """
    return load_hooks(namespace, EventSink)


def dispatch(sinks: Iterable[EventSink], events: Sequence[Event]) -> Sequence[HookFault]:
    """Hand events to every sink; return (and log) the errors they raised. No events, no calls.

    One that raises keeps none of the others from getting the events.
    """
    if not events:
        return ()
    faults = []
    for sink in sinks:
        try:
            sink.consume(events)
        except Exception as error:  # noqa: BLE001 (what happened has happened; a sink's bug must not stop the others)
            faults.append(HookFault(sink.name, error))
            _log.error(
                "event sink failed", sink=sink.name, first=events[0].id, last=events[-1].id, exc_info=error
            )
    return faults
