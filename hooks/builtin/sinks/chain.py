"""The order of each stack's events, by which a receiver of single events notices that one is missing."""

from collections.abc import Iterable, Mapping
from typing import Final, Self

import msgpack

from hooks.events import Event

#: The number of stacks, the most recently active ones, whose last event is remembered.
MAX_STACKS: Final = 1000


class Chain:
    """The id of the last event of each stack; immutable, each batch gives a new one."""

    def __init__(self, last: Mapping[str, int] | None = None) -> None:
        self._last = dict(last or {})

    def follow(self, events: Iterable[Event]) -> tuple[list[int | None], Self]:
        """Return, for each event, the id of the event before it of the same stack, and the chain after them all.

        None where the event before is unknown: the stack is new, or was inactive for long.
        """
        # A dict keeps insertion order: active stacks move to its end.
        last = dict(self._last)
        before: list[int | None] = []
        for event in events:
            before.append(last.pop(event.stack_id, None))
            last[event.stack_id] = event.id
        return before, type(self)(dict(list(last.items())[-MAX_STACKS:]))

    def to_bytes(self) -> bytes:
        """Return the packed form that :meth:`from_bytes` reads."""
        packed: bytes = msgpack.packb(list(self._last.items()))
        return packed

    @classmethod
    def from_bytes(cls, packed: bytes) -> Self:
        """Return the chain that was packed; an empty one if another version packed it."""
        try:
            return cls({str(stack_id): int(last) for stack_id, last in msgpack.unpackb(packed)})
        except (ValueError, TypeError):
            return cls()
