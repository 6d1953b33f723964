"""Which event of a stack came before which: by that, whoever gets events one by one sees that one is missing."""

from collections.abc import Iterable, Mapping
from typing import Final, Self

import msgpack

from hooks.events import Event

#: Of so many stacks, those of which something was heard last, the last event is known.
MAX_STACKS: Final = 1000


class Chain:
    """The id of the last event of each stack; it does not change, but is followed by others."""

    def __init__(self, last: Mapping[str, int] | None = None) -> None:
        self._last = dict(last or {})

    def follow(self, events: Iterable[Event]) -> tuple[list[int | None], Self]:
        """Return, for each event, the id of the event before it of the same stack, and the chain behind them all.

        None stands where the event before is not known: the stack is new, or nothing was heard of it for long.
        """
        # A dict keeps the order in which keys came: what is heard of goes to its end.
        last = dict(self._last)
        before: list[int | None] = []
        for event in events:
            before.append(last.pop(event.stack_id, None))
            last[event.stack_id] = event.id
        return before, type(self)(dict(list(last.items())[-MAX_STACKS:]))

    def to_bytes(self) -> bytes:
        """Return it packed, the inverse of :meth:`from_bytes`."""
        packed: bytes = msgpack.packb(list(self._last.items()))
        return packed

    @classmethod
    def from_bytes(cls, packed: bytes) -> Self:
        """Rebuild it; what another version packed is an empty chain."""
        try:
            return cls({str(stack_id): int(last) for stack_id, last in msgpack.unpackb(packed)})
        except (ValueError, TypeError):
            return cls()
