"""Subscription of one listener: a bounded queue of events, so that a slow listener does not affect others."""

import asyncio
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from orchestrator.dashboard.sse import event_text
from orchestrator.store.history.event_log import MAKING
from orchestrator.store.history.observing import ObservedEvent

#: The greatest number of events that wait for one listener.
ROOM: Final = 2_000


@dataclass(frozen=True, slots=True)
class Entry:
    """An event and its text, which is encoded once for all listeners."""

    row: ObservedEvent
    text: str

    @classmethod
    def of(cls, row: ObservedEvent) -> "Entry":
        """Return the entry of an event."""
        return cls(row, event_text(row))


class Topic:
    """The events of a subscription: those of a project, of one stack, or of a stack and its nested stacks.

    Args:
        project: The project; events of others never match.
        stack_id: The stack; None: all stacks.
        name: The stack's name, if it is followed by name: a stack that takes the name later matches as well.
        inside: The nested stacks known so far; None: nested stacks do not match.
    """

    def __init__(
        self,
        project: str,
        stack_id: str | None = None,
        *,
        name: str = "",
        inside: Collection[str] | None = None,
    ) -> None:
        self.project = project
        self._name = name
        self.stack_id = stack_id
        self._nested = inside is not None
        self._family = {stack_id, *(inside or ())}

    @property
    def is_wide(self) -> bool:
        """Whether it covers more than one stack."""
        return self.stack_id is None or self._nested

    def has(self, row: ObservedEvent) -> bool:
        """Whether an event matches; new nested stacks are recognised if events come in their order."""
        if row.project != self.project:
            return False
        if self.stack_id is None or row.stack_id in self._family:
            return True
        if self._nested and row.parent_id in self._family:
            self._family.add(row.stack_id)
            return True
        return False

    def is_beginning(self, row: ObservedEvent) -> bool:
        """Whether an event is the first of a stack that is followed by its name.

        A listener that missed it may still show an earlier stack of that name.
        """
        is_own = bool(self._name) and row.stack_id == self.stack_id and not row.resource
        return is_own and row.action in MAKING and row.status == "IN_PROGRESS"

    def is_successor(self, row: ObservedEvent) -> bool:
        """Whether an event is the first of another stack that has taken the name."""
        if not self._name or row.stack != self._name or row.project != self.project:
            return False
        if row.stack_id in self._family:
            return False
        self._family.add(row.stack_id)
        return True


class Subscription:
    """The queue of one listener. Used in the loop's thread alone."""

    def __init__(self, topic: Topic, *, room: int = ROOM) -> None:
        self.topic = topic
        #: Events up to this id are skipped: the listener has them.
        self.known = 0
        #: Whether events were dropped since the last call of ``was_lost``.
        self._lost = False
        self._waiting: deque[Entry] = deque()
        self._room = room
        self._news = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def offer(self, entry: Entry) -> None:
        """Queue an event if it matches; if the queue is full, all waiting events are dropped."""
        if entry.row.id <= self.known:
            return
        if self.topic.is_successor(entry.row):
            self.lose()
            return
        if not self.topic.has(entry.row):
            return
        if len(self._waiting) >= self._room:
            self.lose()
            return
        self._waiting.append(entry)
        self._news.set()

    def lose(self) -> None:
        """Drop all waiting events: the listener has to reload."""
        self._waiting.clear()
        self._lost = True
        self._news.set()

    def was_lost(self) -> bool:
        """Return whether events were dropped since the last call."""
        lost, self._lost = self._lost, False
        return lost

    def take(self, most: int) -> list[Entry]:
        """Remove and return at most ``most`` events, oldest first."""
        count = min(most, len(self._waiting))
        return [self._waiting.popleft() for _ in range(count)]

    def nudge(self) -> None:
        """Wake the listener without an event."""
        self._news.set()

    async def news(self, seconds: float) -> bool:
        """Wait for an event or a nudge, at most ``seconds``; return whether there was one."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        self._news.clear()
        return True
