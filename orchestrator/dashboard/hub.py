"""The hub of a dashboard: the one reader of the event log, which distributes new events to all subscriptions.

It keeps a short ring of events for listeners that reconnect; the history itself stays in the store.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from orchestrator.config.logger import get_logger
from orchestrator.dashboard.plain_errors import plain_sentence
from orchestrator.dashboard.subscription import ROOM, Entry, Subscription, Topic
from orchestrator.errors import IsothermError, Unavailable
from orchestrator.model.project_limits import NO_LIMITS, STREAMS, ProjectLimits, refuse_beyond
from orchestrator.store.history.event_log import EventLog
from orchestrator.store.history.observing import ObservedEvent
from orchestrator.store.retrying import impatient

T = TypeVar("T")

log = get_logger()

#: The number of events in one read, and in one message.
BATCH: Final = 500
#: The greatest number of missed events that a reconnecting listener is sent; beyond, it has to reload.
MOST_MISSED: Final = 5_000
#: The number of events kept in memory.
RING: Final = 2_000
#: The greatest number of concurrent listeners.
MOST_LISTENERS: Final = 1_000

_LATE: Final = (
    "a transaction has been open in the database for some seconds: events since it began are shown when it ends, "
    "or after two minutes"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Intervals of the hub, in seconds."""

    #: Between two reads with listeners, and without. A wake-up causes a read at once.
    listened: float = 0.05
    idle: float = 1.0
    #: The least pause between two reads, however often the hub is woken.
    rest: float = 0.02
    #: Between two status messages to listeners.
    beat: float = 2.0
    #: How long to wait for an answer, or for the end of a transaction, before listeners are warned.
    patience: float = 3.0


class TooManyStreams(Exception):
    """A client has as many streams as one may have."""


class Missed(Exception):
    """The missed events are too many, or have been removed: the listener has to reload."""


def at_once(question: Callable[[], T]) -> T:
    """Return the store's answer without retries: the hub repeats its queries anyway."""
    with impatient(0.0):
        return question()


class Hub:
    """Reads the event log and distributes new events to subscriptions. Used in the loop's thread alone.

    ``observe`` receives each batch of new events as well; ``most_of_client`` is how many listeners a client may have.
    """

    def __init__(
        self,
        events: EventLog,
        *,
        pace: Pace | None = None,
        observe: Callable[[Sequence[ObservedEvent]], None] = lambda _rows: None,
        most_of_client: int = MOST_LISTENERS,
    ) -> None:
        self._log = events
        self._pace = pace or Pace()
        self._observe = observe
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="hub")
        # Many listeners may reconnect at once: reading their missed events must not delay the others.
        self._searchers = ThreadPoolExecutor(2, thread_name_prefix="missed")
        self._listeners: set[Subscription] = set()
        #: The number of listeners of each client that has any.
        self._of_client: Counter[str] = Counter()
        self._most_of_client = most_of_client
        self._ring: deque[Entry] = deque(maxlen=RING)
        #: The ring has every event after this id.
        self._ring_begins = 0
        self._woken = asyncio.Event()
        self._beaten_at = float("-inf")
        self._task: asyncio.Task[None] | None = None
        #: Every event up to this id was distributed; None: nothing was read yet.
        self.position: int | None = None
        #: The database's time up to which all events have been distributed.
        self.as_of = 0.0
        #: Why the event log cannot be read; empty if it can.
        self.trouble = ""
        #: Why new events are held back although the event log can be read; empty if they are not.
        self.late = ""
        #: The number of status changes and beats sent to listeners.
        self.beats = 0
        #: The number of times that a listener had to reload.
        self.resyncs = 0

    # -- life cycle --------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start reading; in a running loop."""
        self._task = asyncio.get_running_loop().create_task(self._read_on(), name="hub")

    async def close(self) -> None:
        """Stop reading, and wait for the end of the reading task; in the loop."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        self.stop()

    def stop(self) -> None:
        """Stop reading; whether or not the loop still runs."""
        if self._task is not None and not self._task.get_loop().is_closed():
            self._task.cancel()
        for each in (self._reader, self._searchers):
            each.shutdown(wait=False, cancel_futures=True)

    def wake(self) -> None:
        """Read at once: there may be new events."""
        self._woken.set()

    async def _read_on(self) -> None:
        while True:
            trouble = raw = ""
            try:
                await self._follow()
            except IsothermError as error:
                trouble, raw = plain_sentence(error), str(error)
            except Exception:
                # One error, whatever it is, must not stop the updates of pages for good.
                log.exception("the hub could not read the history; it tries again")
                trouble = "the dashboard could not read the history; see its log"
            self._report(trouble, raw)
            await self._pause()

    async def _pause(self) -> None:
        await asyncio.sleep(self._pace.rest)
        seconds = self._pace.listened if self._listeners else self._pace.idle
        try:
            # Not ``wait_for``: if both happen at once, it returns the result and swallows the cancellation.
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return
        finally:
            self._woken.clear()

    def _is_due(self) -> bool:
        return time.monotonic() - self._beaten_at >= self._pace.beat

    def _report(self, trouble: str, raw: str = "") -> None:
        """Set the status and wake all listeners, if it changed or a beat is due; ``raw`` is for the log alone."""
        if trouble == self.trouble and not self._is_due():
            return
        if trouble != self.trouble and trouble:
            log.warning("the history cannot be read", error=raw or trouble)
        elif trouble != self.trouble:
            log.info("the history can be read again")
        self.trouble = trouble
        self._beaten_at = time.monotonic()
        self.beats += 1
        for each in self._listeners:
            each.nudge()

    # -- reading -----------------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        """Distribute all events up to the newest."""
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
                # The extent was read before the events were.
                self.as_of = extent.now

    def _begin_anew(self) -> None:
        """Reset everything after the database was replaced: positions known so far are of no use."""
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
        """Return the store's answer; listeners are warned when it takes long."""
        answer = asyncio.get_running_loop().run_in_executor(self._reader, at_once, question)
        while True:
            done, _ = await asyncio.wait({answer}, timeout=self._pace.patience)
            if done:
                return answer.result()
            self._report("the database has not answered for some seconds")

    # -- listening ---------------------------------------------------------------------------------------------

    @contextmanager
    def listen(
        self, topic: Topic, *, client: str = "", limits: ProjectLimits = NO_LIMITS, room: int = ROOM
    ) -> Iterator[Subscription]:
        """Return a context with a subscription to new events; ``limits`` are those of its project.

        Raises:
            TooManyStreams: the client has as many as one may have.
            Conflict: the project has as many as it may have.
            Unavailable: there are :data:`MOST_LISTENERS` already.
        """
        if self._of_client[client] >= self._most_of_client:
            who = client or "this client"
            raise TooManyStreams(
                f"{who} has {self._most_of_client} streams open, as many as one client may: close other pages, or "
                "start the dashboard with a larger --max_streams_per_client"
            )
        used = sum(each.topic.project == topic.project for each in self._listeners)
        refuse_beyond(limits, STREAMS, topic.project, used=used, wanted=1)
        if len(self._listeners) >= MOST_LISTENERS:
            raise Unavailable(f"{MOST_LISTENERS} pages listen already, and no more may")
        subscription = Subscription(topic, room=room)
        self._listeners.add(subscription)
        self._of_client[client] += 1
        # Without listeners the pause between reads is long.
        self.wake()
        try:
            yield subscription
        finally:
            self._listeners.discard(subscription)
            self._of_client -= Counter((client,))

    @property
    def listeners(self) -> int:
        """The number of listeners."""
        return len(self._listeners)

    async def missed(self, topic: Topic, since: int, up_to: int) -> AsyncIterator[list[Entry]]:
        """Yield the events after ``since`` up to ``up_to``, where the subscription began, oldest first.

        Raises:
            Missed: they are too many, have been removed, or never existed.
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
        """Whether some of the missed events may have been removed."""
        oldest = self._log.oldest(topic.stack_id)
        if oldest is None or oldest > since + (topic.stack_id is None):
            return True
        return topic.is_wide and self._log.lacks(since, up_to=up_to, limit=MOST_MISSED)

    async def _search(self, question: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._searchers, at_once, question)
