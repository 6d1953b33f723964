"""The spans of one resource in an operation, which follow each other without gaps.

Events record when an action began, when a step failed, when the node stood at a hook, and when the action was over. The
beginning of a retry is not recorded, so one span covers the pause before a retry and the work after it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from orchestrator.model.breakpoints import HOOK
from orchestrator.views.facts import EventFact
from orchestrator.views.operations import Span
from orchestrator.views.vertex_states import SPAN_BLOCKED, SPAN_HELD, SPAN_QUEUED, SPAN_RETRYING, SPAN_RUNNING

#: The kinds of spans before an action begins.
_BEFORE: Final = (SPAN_BLOCKED, SPAN_QUEUED)


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
        events: The events of its node.
        begun_at: When the operation began.
        released_at: When its requirements were done; None if they are not, or it is unknown.
        over_at: When its last span ends, if no event ends it; None if it lasts.
        is_begun: Whether its action is under way, even if an earlier operation had begun it without an event here.
    """
    builder = _SpanBuilder(begun_at)
    if events:
        # A node has no events before its release.
        released_at = events[0].at if released_at is None else min(released_at, events[0].at)
    if released_at is not None:
        builder.turn(SPAN_QUEUED, released_at)
    for event in events:
        builder.add(event)
    if is_begun:
        builder.assume_begun()
    return builder.spans(over_at)


class _SpanBuilder:
    def __init__(self, begun_at: float) -> None:
        self._finished: list[Span] = []
        self._now: Span | None = Span(kind=SPAN_BLOCKED, start=begun_at, end=None)
        #: The start of the next span.
        self._since = begun_at
        self._attempt = 0
        self._is_done = False

    def add(self, event: EventFact) -> None:
        """Add an event."""
        handlers: Mapping[tuple[bool, str], Callable[[EventFact], None]] = {
            (True, "IN_PROGRESS"): lambda event: self.turn(SPAN_HELD, event.at),
            (True, "COMPLETE"): self._let_on,
            (False, "IN_PROGRESS"): self._begin,
        }
        handlers.get((event.action == HOOK, event.status), self._finish)(event)

    def turn(self, kind: str, at: float, reason: str = "", worker: str = "") -> None:
        """End the present span, for a reason, and begin another."""
        self._end(at, reason, worker)
        attempt = 0 if kind in _BEFORE else self._attempt
        self._now = Span(kind=kind, start=self._since, end=None, attempt=attempt)

    def spans(self, over_at: float | None) -> tuple[Span, ...]:
        """Return all spans; the present one lasts, unless ``over_at`` ends it."""
        if self._now is not None and over_at is not None:
            self._end(over_at)
        return (*self._finished, self._now) if self._now is not None else tuple(self._finished)

    def _begin(self, event: EventFact) -> None:
        if event.cause:
            self.assume_begun()
            self._attempt += 1
            self.turn(SPAN_RETRYING, event.at, event.reason, event.worker)
        elif event.action == "REPLACE":
            self.assume_begun()
            self.turn(SPAN_QUEUED, event.at, event.reason, event.worker)
        elif self._now is None or self._now.kind in (*_BEFORE, SPAN_HELD):
            if self._now is None:
                # Another action follows the finished one.
                self._now = Span(kind=SPAN_QUEUED, start=self._since, end=None)
            self._attempt = max(1, self._attempt)
            self.turn(SPAN_RUNNING, event.at)
        if not event.cause and self._now is not None and event.worker:
            self._now = replace(self._now, worker=event.worker)
        self._is_done = False

    def _finish(self, event: EventFact) -> None:
        self.assume_begun()
        self._end(event.at, event.reason, event.worker)
        self._is_done = True

    def _let_on(self, event: EventFact) -> None:
        if self._is_done:
            self._end(event.at)
        else:
            self.turn(SPAN_QUEUED, event.at)

    def assume_begun(self) -> None:
        """Turn a queued span into a running one: an earlier operation had begun the action."""
        self._attempt = max(1, self._attempt)
        if self._now is None or self._now.kind in _BEFORE:
            self._now = Span(kind=SPAN_RUNNING, start=self._since, end=None, attempt=self._attempt)

    def _end(self, at: float, reason: str = "", worker: str = "") -> None:
        # The clock may go back.
        at = max(at, self._since)
        if self._now is not None:
            if at > self._since or self._now.kind not in _BEFORE:
                ended = replace(self._now, end=at, reason=reason, worker=worker or self._now.worker)
                self._finished.append(ended)
        elif at > self._since:
            self._finished.append(Span(kind=SPAN_QUEUED, start=self._since, end=at))
        self._now = None
        self._since = at
