"""What the events of a stack prove."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from orchestrator.views.stacks import EventView


def assert_made_once_and_in_order(events: Sequence[EventView], requires: Mapping[str, Iterable[str]]) -> None:
    """Check that every resource was begun and completed once, after all that it requires was complete.

    An event is written in the transaction that it tells of, and ids are given out in the order of writing.
    """
    begun = _ids(events, "CREATE_IN_PROGRESS")
    complete = _ids(events, "CREATE_COMPLETE")
    once = dict.fromkeys(requires, 1)
    assert {name: len(ids) for name, ids in begun.items()} == once
    assert {name: len(ids) for name, ids in complete.items()} == once
    too_early = [
        (name, other)
        for name, others in requires.items()
        for other in others
        if begun[name][0] < complete[other][0]
    ]
    assert too_early == []


def _ids(events: Iterable[EventView], state: str) -> dict[str, list[int]]:
    found = defaultdict(list)
    for event in events:
        # What has a cause tells of another attempt at what was begun before.
        if event.resource and event.state == state and not event.cause:
            found[event.resource].append(event.id)
    return found
