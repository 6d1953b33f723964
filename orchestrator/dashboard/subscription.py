"""One listener's queue of events: bounded, so that a slow one costs nobody else anything."""

import asyncio
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from orchestrator.dashboard.sse import event_text
from orchestrator.store.history.event_log import MAKING
from orchestrator.store.history.observing import ObservedEvent

#: How many events wait for one listener at most.
ROOM: Final = 2_000


@dataclass(frozen=True, slots=True)
class Entry:
    """An event, and its text, which is made once for all listeners."""

    row: ObservedEvent
    text: str

    @classmethod
    def of(cls, row: ObservedEvent) -> "Entry":
        """Write an event down."""
        return cls(row, event_text(row))


class Topic:
    """Which events somebody listens to: those of a project, of one stack, or of a stack and those in it.

    Args:
        project: Nothing of another project is ever told.
        stack_id: The stack; None: all.
        name: What the stack is called, if it is to be followed by that: one that takes the name later is listened to
            as well.
        inside: The stacks in it that are known already; None: those in it are not listened to.
    """

    def __init__(
        self,
        project: str,
        stack_id: str | None = None,
        *,
        name: str = "",
        inside: Collection[str] | None = None,
    ) -> None:
        self._project = project
        self._name = name
        self.stack_id = stack_id
        self._nested = inside is not None
        self._family = {stack_id, *(inside or ())}

    @property
    def is_wide(self) -> bool:
        """Whether it is about more than one stack."""
        return self.stack_id is None or self._nested

    def has(self, row: ObservedEvent) -> bool:
        """Whether an event is among them; stacks are known to be in others from the events in their order."""
        if row.project != self._project:
            return False
        if self.stack_id is None or row.stack_id in self._family:
            return True
        if self._nested and row.parent_id in self._family:
            self._family.add(row.stack_id)
            return True
        return False

    def is_beginning(self, row: ObservedEvent) -> bool:
        """Whether an event is the first of a stack that is followed by its name.

        Whoever knows no event of it knows another stack of that name, if any.
        """
        is_own = bool(self._name) and row.stack_id == self.stack_id and not row.resource
        return is_own and row.action in MAKING and row.status == "IN_PROGRESS"

    def is_successor(self, row: ObservedEvent) -> bool:
        """Whether an event is the first of another stack that has taken the name."""
        if not self._name or row.stack != self._name or row.project != self._project:
            return False
        if row.stack_id in self._family:
            return False
        self._family.add(row.stack_id)
        return True


class Subscription:
    """What waits for one listener. Used in the loop's thread alone."""

    def __init__(self, topic: Topic, *, room: int = ROOM) -> None:
        self.topic = topic
        #: Events up to this id are not told: they are known.
        self.known = 0
        #: Whether some were dropped since that was asked last.
        self._lost = False
        self._waiting: deque[Entry] = deque()
        self._room = room
        self._news = asyncio.Event()

    def __len__(self) -> int:
        """How many events wait."""
        return len(self._waiting)

    def offer(self, entry: Entry) -> None:
        """Put an event into the queue if it is listened to; if there is no room, all that waits is dropped."""
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
        """Drop everything that waits: the listener is to begin anew."""
        self._waiting.clear()
        self._lost = True
        self._news.set()

    def was_lost(self) -> bool:
        """Whether something was dropped since this was asked last."""
        lost, self._lost = self._lost, False
        return lost

    def take(self, most: int) -> list[Entry]:
        """Return the next events, oldest first, and forget them."""
        count = min(most, len(self._waiting))
        return [self._waiting.popleft() for _ in range(count)]

    def nudge(self) -> None:
        """Wake whoever waits for news though no event has come."""
        self._news.set()

    async def news(self, seconds: float) -> bool:
        """Wait for something to tell, at most so long; whether there is."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        self._news.clear()
        return True
