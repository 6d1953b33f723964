"""When what was done in an operation, and which chain of resources decided how long it took."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

from orchestrator.model.messages import JOIN
from orchestrator.queries.graph import Seen
from orchestrator.queries.phases import spans_of
from orchestrator.views.facts import Facts, NodeFact
from orchestrator.views.operations import (
    BEGUN,
    BLOCKED,
    DONE,
    FAILED,
    OVER,
    SPAN_QUEUED,
    SPAN_WAITING,
    SPANS,
    Bar,
    Span,
    Timeline,
)
from orchestrator.views.states import is_spare
from orchestrator.views.wiring import is_counter


@dataclass(frozen=True)
class Moments:
    """When each node of an operation was released, and when it was done."""

    seen: Seen

    @cached_property
    def spans(self) -> Mapping[int, Sequence[Span]]:
        """The spans of each resource with which anything was done, or is to be; by number."""
        return self._walked[0]

    @cached_property
    def done_at(self) -> Mapping[int, float]:
        """When each node that is done was; those that failed, and were passed on, among them."""
        return self._walked[1]

    @cached_property
    def _walked(self) -> tuple[dict[int, Sequence[Span]], dict[int, float]]:
        spans: dict[int, Sequence[Span]] = {}
        done_at: dict[int, float] = {}
        for no in self.seen.wiring.in_order:
            node = self.seen.wiring.nodes[no]
            released_at = self._released_at(node, done_at)
            if not self.is_bar(node):
                if node.state == DONE and released_at is not None:
                    done_at[no] = released_at
                continue
            spans[no] = self._spans(node, released_at)
            end = spans[no][-1].end if spans[no] else released_at
            if self.seen.states[no] in (DONE, FAILED) and end is not None:
                done_at[no] = end
        return spans, done_at

    def is_bar(self, node: NodeFact) -> bool:
        """Whether a node is a resource with which anything was done, or is to be whatever happens."""
        return not is_counter(node) and not is_spare(node)

    def _released_at(self, node: NodeFact, done_at: Mapping[int, float]) -> float | None:
        if node.state == BLOCKED or (node.phase == JOIN and node.resource_id is not None):
            return None
        required = [done_at.get(other) for other in self.seen.wiring.requirements[node.no]]
        moments = [each for each in required if each is not None]
        if len(moments) < len(required):
            return None
        return max(moments, default=self.seen.facts.operation.begun_at)

    def _spans(self, node: NodeFact, released_at: float | None) -> tuple[Span, ...]:
        facts = self.seen.facts
        events = self.seen.events.get(node.no, ())
        if not events and node.attempt and facts.trimmed:
            # Something happened, and nobody knows what.
            return ()
        over_at = None
        if self.seen.states[node.no] in OVER:
            ended_at = facts.operation.ended_at
            over_at = facts.as_of if ended_at is None else ended_at
        return spans_of(
            events,
            begun_at=facts.operation.begun_at,
            released_at=released_at,
            over_at=over_at,
            is_begun=bool(node.attempt) and self.seen.states[node.no] in BEGUN,
        )

    def before(self, no: int) -> int | None:
        """Return the resource that a resource waited for longest; None if it waited for none.

        Points where edges meet, and what there was nothing to do about, are passed by.
        """
        while True:
            done = [other for other in self.seen.wiring.requirements[no] if other in self.done_at]
            if not done:
                return None
            no = min(done, key=lambda other: (-self.done_at[other], other))
            if self.spans.get(no):
                return no


def timeline_of(facts: Facts) -> Timeline:
    """Return when what was done in an operation.

    What there was nothing to do about has no bar, nor has a cleanup that only a replacement would call for.
    """
    seen = Seen(facts)
    moments = Moments(seen)
    critical = critical_path(moments)
    bars = [_bar(seen, no, spans, is_critical=no in critical) for no, spans in moments.spans.items()]
    return Timeline(
        operation=facts.operation,
        cursor=facts.cursor,
        as_of=facts.as_of,
        bars=tuple(sorted(bars, key=_place)),
        critical=critical,
        critical_seconds=_seconds([moments.spans[no] for no in critical], _until(facts)),
        trimmed=facts.trimmed,
    )


def critical_path(moments: Moments) -> tuple[int, ...]:
    """Return the chain of resources that decided how long an operation took, first to last.

    Its last is that which ended last before the operation was over; what goes on after a failure decided nothing. While
    any are under way, it is of these the one that was begun first.
    """
    begun = {no: spans for no, spans in moments.spans.items() if _begun_at(spans) is not None}
    until = _until(moments.seen.facts)
    in_time = {no: spans for no, spans in begun.items() if _end(spans) <= until}
    # An operation that failed, and at nothing that failed, ran out of time, or was told to end: what was under way then
    # is what it waited for.
    states, operation = moments.seen.states, moments.seen.facts.operation
    if operation.status == "COMPLETE" or any(states[no] == FAILED for no in in_time):
        begun = in_time
    if not begun:
        return ()

    def rank(no: int) -> tuple[float, float, int]:
        end, begun_at = min(_end(begun[no]), until), _begun_at(begun[no]) or 0.0
        # Of those that ended at the same time, it is that which may have waited for the others.
        return (-end, begun_at, no) if _end(begun[no]) > until else (-end, -begun_at, -no)

    no: int | None = min(begun, key=rank)
    chain: list[int] = []
    while no is not None:
        chain.insert(0, no)
        no = moments.before(no)
    return tuple(chain)


def _until(facts: Facts) -> float:
    """Return when an operation was over; now, if it is not."""
    ended_at = facts.operation.ended_at
    return facts.as_of if ended_at is None else ended_at


def _begun_at(spans: Sequence[Span]) -> float | None:
    """Return when anything was done first; None if nothing was yet."""
    return next((span.start for span in spans if span.kind not in (SPAN_WAITING, SPAN_QUEUED)), None)


def _end(spans: Sequence[Span]) -> float:
    end = spans[-1].end
    return inf if end is None else end


def _seconds(chain: Sequence[Sequence[Span]], until: float) -> dict[str, float]:
    """Return how long a chain took, by kind of span. Each waited for the one before: that is told of that one."""
    seconds = dict.fromkeys(SPANS[1:], 0.0)
    for spans in chain:
        for span in spans:
            if span.kind in seconds:
                end = until if span.end is None else min(span.end, until)
                seconds[span.kind] += max(0.0, end - span.start)
    return {kind: round(took, 6) for kind, took in seconds.items()}


def _bar(seen: Seen, no: int, spans: Sequence[Span], *, is_critical: bool) -> Bar:
    vertex = seen.vertices[no]
    return Bar(
        no=no,
        name=vertex.name,
        type=vertex.type,
        phase=vertex.phase,
        action=vertex.action,
        state=vertex.state,
        reason=vertex.reason,
        attempts=vertex.attempt,
        worker=vertex.worker,
        spans=tuple(spans),
        critical=is_critical,
    )


def _place(bar: Bar) -> tuple[bool, float, int]:
    begun_at = _begun_at(bar.spans)
    return begun_at is None, begun_at or 0.0, bar.no
