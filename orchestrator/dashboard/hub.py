"""The one reader of the history in a dashboard: what it finds is handed to all who listen.

It keeps a short ring of events for those who come again after a moment, and never the history: that is in the store.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol, TypeVar

import structlog

from orchestrator.dashboard.subscription import ROOM, Entry, Subscription, Topic
from orchestrator.errors import IsothermError, Unavailable
from orchestrator.store.database import impatient
from orchestrator.store.history.event_log import Extent
from orchestrator.store.history.observing import ObservedEvent

T = TypeVar("T")

log = structlog.get_logger()

#: How many events are read at once, and told in one message.
BATCH: Final = 500
#: So many are told again to whoever comes back; who missed more begins anew.
MOST_MISSED: Final = 5_000
#: How many events are remembered.
RING: Final = 2_000
#: How many may listen at once.
MOST_LISTENERS: Final = 1_000

_LATE: Final = (
    "somebody has kept a transaction open in the database for some seconds: what happened since it began is told when "
    "it is over, or after two minutes"
)


class Log(Protocol):
    """The history as the hub reads it: see :class:`orchestrator.store.history.event_log.EventLog`."""

    def look(self) -> int: ...  # noqa: D102
    def read(self, after: int, *, up_to: int, limit: int) -> list[ObservedEvent]: ...  # noqa: D102
    def extent(self) -> Extent: ...  # noqa: D102
    def oldest(self, stack_id: str | None = None) -> int | None: ...  # noqa: D102
    def lacks(self, after: int, *, up_to: int, limit: int) -> bool: ...  # noqa: D102
    def behind_since(self) -> float | None: ...  # noqa: D102
    def begin_again(self) -> None: ...  # noqa: D102


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often the hub looks, in seconds."""

    #: While somebody listens, and while nobody does. It looks at once when it is woken.
    listened: float = 0.1
    idle: float = 1.0
    #: Between two looks at least, however often it is woken.
    rest: float = 0.02
    #: How often listeners are told that all is well, or that it is not.
    beat: float = 2.0
    #: For how long an answer, or the end of somebody's transaction, may be waited for before listeners are told.
    patience: float = 3.0


class Missed(Exception):
    """Too much was missed, or what was missed is gone: whoever missed it begins anew."""


def at_once(question: Callable[[], T]) -> T:
    """Return what the store answers now: whoever looks again in a moment need not wait for it to come back."""
    with impatient(0.0):
        return question()


class Hub:
    """Reads on in the history and hands out what it finds. Used in the loop's thread alone.

    Args:
        events: Where it reads.
        observe: Called with all that was read, as soon as it was.
    """

    def __init__(
        self,
        events: Log,
        *,
        pace: Pace | None = None,
        observe: Callable[[Sequence[ObservedEvent]], None] = lambda _rows: None,
    ) -> None:
        self._log = events
        self._pace = pace or Pace()
        self._observe = observe
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="hub")
        # Many may come back at once: whoever listens already must not wait for what they missed.
        self._searchers = ThreadPoolExecutor(2, thread_name_prefix="missed")
        self._listeners: set[Subscription] = set()
        self._ring: deque[Entry] = deque(maxlen=RING)
        #: The ring has every event behind this id.
        self._ring_begins = 0
        self._woken = asyncio.Event()
        self._beaten_at = float("-inf")
        self._task: asyncio.Task[None] | None = None
        #: Every event up to this id was handed out; None: nothing was read yet.
        self.position: int | None = None
        #: The database's time when all that was there had been handed out.
        self.as_of = 0.0
        #: Why the history cannot be read; empty if it can.
        self.trouble = ""
        #: Why the history can be read, and yet nothing of it told; empty if it can.
        self.late = ""
        #: How often listeners were told how it stands.
        self.beats = 0
        #: How many times one of them was told to begin anew.
        self.resyncs = 0

    # -- its life ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to read; in a running loop."""
        self._task = asyncio.get_running_loop().create_task(self._read_on(), name="hub")

    async def close(self) -> None:
        """Read no more, and wait until nothing is read any more; in the loop."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        self.stop()

    def stop(self) -> None:
        """Read no more; whether or not the loop still runs."""
        if self._task is not None and not self._task.get_loop().is_closed():
            self._task.cancel()
        for each in (self._reader, self._searchers):
            each.shutdown(wait=False, cancel_futures=True)

    def wake(self) -> None:
        """Look at once: something may have happened."""
        self._woken.set()

    async def _read_on(self) -> None:
        while True:
            trouble = ""
            try:
                await self._follow()
            except IsothermError as error:
                trouble = str(error)
            except Exception:
                # Whatever went wrong once, pages must not go stale for good because of it.
                log.exception("the hub could not read the history; it tries again")
                trouble = "the dashboard failed at reading the history; its log tells why"
            self._say(trouble)
            await self._pause()

    async def _pause(self) -> None:
        await asyncio.sleep(self._pace.rest)
        seconds = self._pace.listened if self._listeners else self._pace.idle
        try:
            # Not ``wait_for``: where both come at once it takes what was waited for, and forgets the cancellation.
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return
        finally:
            self._woken.clear()

    def _is_due(self) -> bool:
        return time.monotonic() - self._beaten_at >= self._pace.beat

    def _say(self, trouble: str) -> None:
        """Tell all who listen how it stands, if that is news or they were told long ago."""
        if trouble == self.trouble and not self._is_due():
            return
        if trouble != self.trouble and trouble:
            log.warning("the history cannot be read", error=trouble)
        elif trouble != self.trouble:
            log.info("the history can be read again")
        self.trouble = trouble
        self._beaten_at = time.monotonic()
        self.beats += 1
        for each in self._listeners:
            each.nudge()

    # -- reading -----------------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        """Hand out everything that is there now."""
        extent = await self._ask(self._log.extent) if self._is_due() or self.trouble else None
        if extent and self.position is not None and extent.newest < self.position:
            self._begin_anew()
        newest = await self._ask(self._log.look)
        if self.position is None:
            self.position = self._ring_begins = newest
        while self.position < newest:
            rows = await self._ask(partial(self._log.read, self.position, up_to=newest, limit=BATCH))
            self._hand_out(rows)
            self.position = rows[-1].id if len(rows) == BATCH else newest
            self._observe(rows)
        if extent:
            since = self._log.behind_since()
            is_late = since is not None and extent.now - since > self._pace.patience
            self.late = _LATE if is_late else ""
            if not is_late:
                # It was taken before the events were read.
                self.as_of = extent.now

    def _begin_anew(self) -> None:
        """The history is another one: nothing that anybody knows of it is of use."""
        log.warning("the history is another one than before: pages begin anew")
        self._log.begin_again()
        self.position = None
        self._ring.clear()
        for each in self._listeners:
            each.known = 0
            each.lose()

    def _hand_out(self, rows: Sequence[ObservedEvent]) -> None:
        for row in rows:
            entry = Entry.of(row)
            if len(self._ring) == RING:
                self._ring_begins = self._ring[0].row.id
            self._ring.append(entry)
            for each in self._listeners:
                each.offer(entry)

    async def _ask(self, question: Callable[[], T]) -> T:
        """Return what the store answers; those who listen are told when it takes long."""
        answer = asyncio.get_running_loop().run_in_executor(self._reader, at_once, question)
        while True:
            done, _ = await asyncio.wait({answer}, timeout=self._pace.patience)
            if done:
                return answer.result()
            self._say("the database has not answered for some seconds")

    # -- listening ---------------------------------------------------------------------------------------------

    @contextmanager
    def listen(self, topic: Topic, *, room: int = ROOM) -> Iterator[Subscription]:
        """Take part in what is handed out, from now on.

        Raises:
            Unavailable: so many do already that nobody else may.
        """
        if len(self._listeners) >= MOST_LISTENERS:
            raise Unavailable(f"{MOST_LISTENERS} pages listen already, and no more may")
        subscription = Subscription(topic, room=room)
        self._listeners.add(subscription)
        # Until now it was looked seldom.
        self.wake()
        try:
            yield subscription
        finally:
            self._listeners.discard(subscription)

    @property
    def listeners(self) -> int:
        """How many listen."""
        return len(self._listeners)

    async def missed(self, topic: Topic, since: int, up_to: int) -> AsyncIterator[list[Entry]]:
        """Yield what happened behind ``since`` up to the position at which somebody began to listen, oldest first.

        Raises:
            Missed: that is too much, or is not there any more, or never was.
            Unavailable: the database does not answer.
        """
        if since >= up_to:
            if since > up_to and since > (await self._search(self._log.extent)).newest:
                raise Missed("there was never an event with this id")
            return
        if since >= self._ring_begins:
            found = [each for each in self._ring if since < each.row.id <= up_to and topic.has(each.row)]
            if any(topic.is_beginning(each.row) for each in found):
                raise Missed("another stack has taken the name")
            yield found
            return
        if await self._search(partial(self._is_removed, topic, since, up_to)):
            raise Missed("what was missed was removed")
        for _ in range(MOST_MISSED // BATCH):
            rows = await self._search(partial(self._log.read, since, up_to=up_to, limit=BATCH))
            yield [Entry.of(row) for row in rows if topic.has(row)]
            if len(rows) < BATCH:
                return
            since = rows[-1].id
        raise Missed("too much was missed")

    def _is_removed(self, topic: Topic, since: int, up_to: int) -> bool:
        """Whether any of what was missed may not be there any more."""
        oldest = self._log.oldest(topic.stack_id)
        if oldest is None or oldest > since + (topic.stack_id is None):
            return True
        return topic.is_wide and self._log.lacks(since, up_to=up_to, limit=MOST_MISSED)

    async def _search(self, question: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._searchers, at_once, question)
