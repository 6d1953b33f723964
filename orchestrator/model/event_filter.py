"""Which of a stack's events are wanted."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """What an event must be like; of each field that is not empty, one of its values must fit.

    In names and types ``*`` stands for any characters and ``?`` for one.
    """

    #: Names of resources; an event of the stack itself has the empty name.
    resources: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    #: At this time or later; seconds since the epoch.
    since: float | None = None
    traversal_id: str | None = None


ALL_EVENTS: Final = EventFilter()
