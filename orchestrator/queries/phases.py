"""What became of one resource when, told as spans that follow each other without gaps.

The history tells when an action began, when a step of it went wrong, when it stood at a hook and when it was over.
That a worker took up again what had failed is written down nowhere, so to be tried again is one span: the pause, and
the work after it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from orchestrator.model.breakpoints import HOOK
from orchestrator.views.facts import EventFact
from orchestrator.views.operations import (
    SPAN_HELD,
    SPAN_QUEUED,
    SPAN_RETRYING,
    SPAN_RUNNING,
    SPAN_WAITING,
    Span,
)

#: Spans before anything is done.
_BEFORE: Final = (SPAN_WAITING, SPAN_QUEUED)


def spans_of(
    events: Sequence[EventFact],
    *,
    begun_at: float,
    released_at: float | None,
    over_at: float | None,
    is_begun: bool = False,
) -> tuple[Span, ...]:
    """Return the spans of one resource, from the beginning of the operation on.

    Args:
        events: What happened at its node.
        begun_at: When the operation began.
        released_at: When all was done that it requires; None if it is not, or nobody knows.
        over_at: When nothing was to come of it any more, if its events do not tell an end; None if it goes on.
        is_begun: Whether its action is under way, also where an earlier operation had begun it and no event tells.
    """
    telling = _Telling(begun_at)
    if events:
        # Nothing happens to it before it is released; if nobody knows when that was, then before the first event.
        released_at = events[0].at if released_at is None else min(released_at, events[0].at)
    if released_at is not None:
        telling.turn(SPAN_QUEUED, released_at)
    for event in events:
        telling.tell(event)
    if is_begun:
        telling.go_on_unseen()
    return telling.spans(over_at)


class _Telling:
    """The spans told so far, and the one that is going on, if any is."""

    def __init__(self, begun_at: float) -> None:
        self._told: list[Span] = []
        self._now: Span | None = Span(kind=SPAN_WAITING, start=begun_at, end=None)
        #: Where the next span begins.
        self._since = begun_at
        self._attempt = 0
        self._is_done = False

    def tell(self, event: EventFact) -> None:
        """Let an event happen."""
        told: Mapping[tuple[bool, str], Callable[[EventFact], None]] = {
            (True, "IN_PROGRESS"): lambda event: self.turn(SPAN_HELD, event.at),
            (True, "COMPLETE"): self._let_on,
            (False, "IN_PROGRESS"): self._begin,
        }
        told.get((event.action == HOOK, event.status), self._finish)(event)

    def turn(self, kind: str, at: float, reason: str = "", worker: str = "") -> None:
        """End the span that is going on, for a reason, and begin another."""
        self._end(at, reason, worker)
        attempt = 0 if kind in _BEFORE else self._attempt
        self._now = Span(kind=kind, start=self._since, end=None, attempt=attempt)

    def spans(self, over_at: float | None) -> tuple[Span, ...]:
        """Return all spans; the last one goes on, unless the resource is done or nothing comes of it any more."""
        if self._now is not None and over_at is not None:
            self._end(over_at)
        return (*self._told, self._now) if self._now is not None else tuple(self._told)

    def _begin(self, event: EventFact) -> None:
        if event.cause:
            self.go_on_unseen()
            self._attempt += 1
            self.turn(SPAN_RETRYING, event.at, event.reason, event.worker)
        elif event.action == "REPLACE":
            self.go_on_unseen()
            self.turn(SPAN_QUEUED, event.at, event.reason, event.worker)
        elif self._now is None or self._now.kind in (*_BEFORE, SPAN_HELD):
            if self._now is None:
                # Another action follows the one that was over.
                self._now = Span(kind=SPAN_QUEUED, start=self._since, end=None)
            self._attempt = max(1, self._attempt)
            self.turn(SPAN_RUNNING, event.at)
        if not event.cause and self._now is not None and event.worker:
            self._now = replace(self._now, worker=event.worker)
        self._is_done = False

    def _finish(self, event: EventFact) -> None:
        self.go_on_unseen()
        self._end(event.at, event.reason, event.worker)
        self._is_done = True

    def _let_on(self, event: EventFact) -> None:
        if self._is_done:
            self._end(event.at)
        else:
            self.turn(SPAN_QUEUED, event.at)

    def go_on_unseen(self) -> None:
        """Take what was queued as under way: an earlier operation had begun it, and nobody wrote it down again."""
        self._attempt = max(1, self._attempt)
        if self._now is None or self._now.kind in _BEFORE:
            self._now = Span(kind=SPAN_RUNNING, start=self._since, end=None, attempt=self._attempt)

    def _end(self, at: float, reason: str = "", worker: str = "") -> None:
        # Clocks may go back.
        at = max(at, self._since)
        if self._now is not None:
            if at > self._since or self._now.kind not in _BEFORE:
                ended = replace(self._now, end=at, reason=reason, worker=worker or self._now.worker)
                self._told.append(ended)
        elif at > self._since:
            self._told.append(Span(kind=SPAN_QUEUED, start=self._since, end=at))
        self._now = None
        self._since = at
