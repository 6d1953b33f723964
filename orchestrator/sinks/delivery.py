"""Delivery of events to one sink, in steps, while this process holds the sink's cursor.

The position is stored after a batch was delivered, so after a takeover at most the last batch is delivered again. A
sink object is used until the process loses the cursor or an error occurs; then it is closed, and a new one continues
from the stored position and state.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any, Final, TypeVar

from hooks.errors import HookError
from hooks.events import Event, EventSink
from hooks.loading.calling import NotCalled, TookTooLong, call_within
from orchestrator.config.logger import get_logger
from orchestrator.config.replacement import NO_REPLACEMENT, Replacement
from orchestrator.errors import IsothermError
from orchestrator.sinks.guarded_sink import GuardedSink
from orchestrator.sinks.pace import first_number, next_number, pause_seconds, words_of
from orchestrator.store.installation.sink_cursors import CursorClaim, SinkCursors

log = get_logger()

#: How often new events are looked for without a wake-up.
POLL_SECONDS: Final = 0.2
#: Events that follow each other within this time are delivered together.
GATHER_SECONDS: Final = 0.05
#: How often a process looks whether another has released a cursor.
LOOK_SECONDS: Final = 2.0
#: How much longer than the sink's time limit a lease is, so that its holder notices a timeout before others take over.
MARGIN_SECONDS: Final = 15.0
#: A lease that is older than this is renewed before the sink is called.
RENEW_SECONDS: Final = 5.0


#: Makes a new sink object for a claim.
MakeSink = Callable[[CursorClaim], EventSink]

T = TypeVar("T")


class Delivery:
    """Delivers events to one sink; not thread-safe.

    A cursor that does not exist is made if it ``registers``. The cursors of processes that are dead according to
    ``is_dead`` are taken over at once. The process is replaced when too many calls of the sink hang in it.
    """

    def __init__(
        self,
        name: str,
        make: MakeSink,
        *,
        cursors: SinkCursors,
        owner: str,
        limit_seconds: float,
        registers: bool = False,
        is_dead: Callable[[str], bool] = lambda _: False,
        call: Callable[..., Any] = call_within,
        chance: random.Random | None = None,
        clock: Callable[[], float] = monotonic,
        replacement: Replacement = NO_REPLACEMENT,
    ) -> None:
        self.name = name
        self._make = make
        self._cursors = cursors
        self._owner = owner
        self._limit_seconds = limit_seconds
        self._registers = registers
        self._is_dead, self._replacement = is_dead, replacement
        # With its kind: a lifecycle plugin may have the same name.
        self._label = f"event sink {name}"
        self._call_within = call
        self._chance = chance or random.Random()
        self._clock = clock
        self._claim: CursorClaim | None = None
        self._served = GuardedSink()
        self._number = 0
        self._renewed_at = 0.0
        self._look_at = 0.0

    @property
    def has_cursor(self) -> bool:
        """Whether this process holds the cursor, as far as it knows."""
        return self._claim is not None

    def step(self) -> float:
        """Claim the cursor if it is free, and deliver the next batch; return the seconds until the next step is due.

        Callers that know of new events may call it earlier.

        Raises:
            Unavailable: the database does not answer; call :meth:`leave`, and try again later.
        """
        claim = self._claim
        if claim is None:
            if (wait := self._look_at - self._clock()) > 0:
                return wait
            self._look_at = self._clock() + LOOK_SECONDS
            claim = self._taken()
            if claim is None:
                return LOOK_SECONDS
        up_to = self._cursors.horizon.look()
        events = self._cursors.read(claim, up_to=up_to, limit=self._number) if up_to > claim.position else []
        if not self._keep(claim):
            return LOOK_SECONDS
        if not events:
            return GATHER_SECONDS if self._cursors.horizon.is_behind else POLL_SECONDS
        return self._deliver(claim, events)

    def look_again(self) -> None:
        """Have the next step try to claim the cursor at once."""
        self._look_at = 0.0

    def is_done(self) -> bool:
        """Return whether this process has nothing left to deliver now."""
        claim = self._claim
        if claim is None:
            return True
        up_to = self._cursors.horizon.look()
        return not self._cursors.horizon.is_behind and not self._cursors.read(claim, up_to=up_to, limit=1)

    def leave(self) -> None:
        """Close the sink, and release the cursor.

        Raises:
            Unavailable: the database does not answer; the lease ends by itself.
        """
        claim = self._claim
        if claim is None:
            return
        self._close()
        self._cursors.release(claim.name, owner=claim.owner, attempt=claim.attempt)

    def _taken(self) -> CursorClaim | None:
        """Claim the cursor and make the sink; None if either is not possible now."""
        self._renewed_at = self._clock()
        claim = self._claimed()
        if claim is None:
            return None
        self._claim = claim
        self._number = first_number(claim.failures)
        self._served = served = GuardedSink()
        try:
            self._call(lambda: self._make_into(served, claim))
        except Exception as error:  # noqa: BLE001  # sinks are plugins
            self._failed(claim, error)
            return None
        return claim

    def _claimed(self) -> CursorClaim | None:
        claim = self._claim_once()
        if claim is not None:
            return claim
        holder = self._cursors.holder(self.name)
        if holder is not None and self._is_dead(holder[0]):
            self._cursors.release(self.name, owner=holder[0], attempt=holder[1])
        elif holder is None and self._registers and not self._cursors.exists(self.name):
            self._cursors.register([self.name])
        else:
            return None
        return self._claim_once()

    def _claim_once(self) -> CursorClaim | None:
        return self._cursors.claim(self.name, owner=self._owner, lease_seconds=self._lease_seconds)

    @property
    def _lease_seconds(self) -> float:
        return self._limit_seconds + MARGIN_SECONDS

    def _keep(self, claim: CursorClaim) -> bool:
        """Renew the lease if it may end during a call of the sink; False if another process holds the cursor."""
        now = self._clock()
        if now - self._renewed_at <= RENEW_SECONDS:
            return True
        if self._cursors.renew(claim, lease_seconds=self._lease_seconds):
            self._renewed_at = now
            return True
        self._lost()
        return False

    def _lost(self) -> None:
        log.warning("another process has taken over an event sink", sink=self.name)
        self._close()

    def _make_into(self, served: GuardedSink, claim: CursorClaim) -> None:
        served.sink = self._make(claim)
        served.sink.restore(claim.state)

    def _call(self, function: Callable[[], T]) -> T:
        """Call the sink within its time limit; a BaseException of it is raised as HookError."""
        served = self._served
        try:
            result: T = self._call_within(
                lambda: served.call(function), seconds=self._limit_seconds, name=self._label
            )
        except Exception:
            raise
        except BaseException as error:
            # Such as CancelledError: it must not end the thread of the delivery.
            raise HookError(f"it raised {type(error).__name__}") from error
        return result

    def _deliver(self, claim: CursorClaim, events: Sequence[Event]) -> float:
        sink = self._served.sink
        assert sink is not None  # noqa: S101  # made with the claim

        def consume() -> bytes:
            sink.consume(events)
            return sink.save()

        began = self._clock()
        try:
            state = self._call(consume)
        except Exception as error:  # noqa: BLE001  # whatever a sink raises
            return self._failed(claim, error)
        now = self._clock()
        last = events[-1].id
        if not self._cursors.advance(claim, last, state=state, lease_seconds=self._lease_seconds):
            self._lost()
            return LOOK_SECONDS
        self._renewed_at = now
        self._claim = claim = replace(claim, position=last, state=state, failures=0)
        try:
            # Skip the call for sinks that do not override it.
            if type(sink).kept is not EventSink.kept:
                self._call(sink.kept)
        except Exception as error:  # noqa: BLE001  # as above
            return self._failed(claim, error)
        full = len(events) == self._number
        self._number = next_number(self._number, took_seconds=now - began, limit_seconds=self._limit_seconds)
        return 0.0 if full else GATHER_SECONDS

    def _failed(self, claim: CursorClaim, error: Exception) -> float:
        """Record a failure of the sink, and close it; return the pause until the next try."""
        if isinstance(error, NotCalled):
            self._replacement.request()
        pause = pause_seconds(claim.failures + 1, self._chance)
        message = _words_of(self._served, error)
        log.warning("an event sink failed", sink=self.name, error=message, again_in_seconds=round(pause, 1))
        self._close(hangs=isinstance(error, TookTooLong))
        self._look_at = self._clock() + pause
        self._cursors.fail(claim, message, pause_seconds=pause)
        return pause

    def _close(self, *, hangs: bool = False) -> None:
        """Close the sink; one with a call that hangs is closed when that ends."""
        served, self._claim = self._served, None
        if hangs:
            served.leave()
            return
        if served.sink is None:
            return
        try:
            self._call(served.sink.close)
        except Exception as error:  # noqa: BLE001  # as above
            log.warning(
                "an event sink failed while it was closed", sink=self.name, error=_words_of(served, error)
            )


def _words_of(served: GuardedSink, error: Exception) -> str:
    """Return an error's message without the secrets among the sink's options."""
    return words_of(error, served.sink.options if served.sink is not None else None)


def complain(sink: str, error: Exception) -> None:
    """Log an error of the delivery itself, not of the sink; the delivery is tried again."""
    if isinstance(error, IsothermError):
        log.warning("events of a sink are delivered later", sink=sink, reason=str(error))
    else:
        log.error("events of a sink are delivered later", sink=sink, exc_info=error)
