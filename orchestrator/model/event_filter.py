"""The filter of a stack's events, for reads of the history."""

from typing import Final

from hooks.values.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Conditions on events: for each field that is not empty, one of its values must match.

    In names and types ``*`` stands for any characters and ``?`` for one.
    """

    #: Names of resources; events of the stack itself have the empty name.
    resources: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    #: The earliest time, in seconds since the epoch.
    since: float | None = None
    traversal_id: str | None = None


ALL_EVENTS: Final = EventFilter()
