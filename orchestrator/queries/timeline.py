"""The timeline of an operation, and its critical path."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

from orchestrator.model.messages import JOIN
from orchestrator.queries.graph import ObservedOperation
from orchestrator.queries.phases import spans_of
from orchestrator.views.facts import Facts, NodeFact
from orchestrator.views.operations import Bar, Span, Timeline
from orchestrator.views.states import is_spare
from orchestrator.views.vertex_states import (
    BEGUN,
    BLOCKED,
    DONE,
    FAILED,
    OVER,
    SPAN_BLOCKED,
    SPAN_QUEUED,
    SPANS,
)
from orchestrator.views.wiring import is_counter


@dataclass(frozen=True)
class Moments:
    """The times at which each node of an operation was released and done."""

    seen: ObservedOperation

    @cached_property
    def spans(self) -> Mapping[int, Sequence[Span]]:
        """The spans of each resource with a bar, by number."""
        return self._walked[0]

    @cached_property
    def done_at(self) -> Mapping[int, float]:
        """The time at which each node was done or failed, by number; nodes that were passed on included."""
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
        """Return whether a node has a bar: a resource with work that was done, or will be done in any case."""
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
            # Its events are purged.
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
        """Return the requirement that a resource waited for longest; None if it waited for none.

        Joins, and resources without work, are followed to their requirements.
        """
        while True:
            done = [other for other in self.seen.wiring.requirements[no] if other in self.done_at]
            if not done:
                return None
            no = min(done, key=lambda other: (-self.done_at[other], other))
            if self.spans.get(no):
                return no


def timeline_of(facts: Facts) -> Timeline:
    """Return the timeline of an operation.

    Resources without work have no bar, nor has a cleanup that only a replacement would need.
    """
    seen = ObservedOperation(facts)
    moments = Moments(seen)
    critical = critical_path(moments)
    bars = [_bar(seen, no, spans, is_critical=no in critical) for no, spans in moments.spans.items()]
    return Timeline.of(
        facts,
        bars=tuple(sorted(bars, key=_place)),
        critical=critical,
        critical_seconds=_seconds([moments.spans[no] for no in critical], _until(facts)),
    )


def critical_path(moments: Moments) -> tuple[int, ...]:
    """Return the chain of resources that determined the duration of an operation, first to last.

    The last one is the resource that ended last before the operation was over, or while some are under way, the one of
    these that was begun first. Work that continues after a failure does not count.
    """
    begun = {no: spans for no, spans in moments.spans.items() if _begun_at(spans) is not None}
    until = _until(moments.seen.facts)
    in_time = {no: spans for no, spans in begun.items() if _end(spans) <= until}
    # An operation that failed without a failed resource timed out or was cancelled: it waited for what was under way.
    states, operation = moments.seen.states, moments.seen.facts.operation
    if operation.status == "COMPLETE" or any(states[no] == FAILED for no in in_time):
        begun = in_time
    if not begun:
        return ()

    def rank(no: int) -> tuple[float, float, int]:
        end, begun_at = min(_end(begun[no]), until), _begun_at(begun[no]) or 0.0
        # Among simultaneous ends, the one that began last may have waited for the others.
        return (-end, begun_at, no) if _end(begun[no]) > until else (-end, -begun_at, -no)

    no: int | None = min(begun, key=rank)
    chain: list[int] = []
    while no is not None:
        chain.insert(0, no)
        no = moments.before(no)
    return tuple(chain)


def _until(facts: Facts) -> float:
    ended_at = facts.operation.ended_at
    return facts.as_of if ended_at is None else ended_at


def _begun_at(spans: Sequence[Span]) -> float | None:
    return next((span.start for span in spans if span.kind not in (SPAN_BLOCKED, SPAN_QUEUED)), None)


def _end(spans: Sequence[Span]) -> float:
    end = spans[-1].end
    return inf if end is None else end


def _seconds(chain: Sequence[Sequence[Span]], until: float) -> dict[str, float]:
    """Return the seconds of a chain by kind of span; a blocked span is the time of the resource before."""
    seconds = dict.fromkeys(SPANS[1:], 0.0)
    for spans in chain:
        for span in spans:
            if span.kind in seconds:
                end = until if span.end is None else min(span.end, until)
                seconds[span.kind] += max(0.0, end - span.start)
    return {kind: round(took, 6) for kind, took in seconds.items()}


def _bar(seen: ObservedOperation, no: int, spans: Sequence[Span], *, is_critical: bool) -> Bar:
    vertex = seen.vertices[no]
    return Bar.of(vertex, attempts=vertex.attempt, spans=tuple(spans), critical=is_critical)


def _place(bar: Bar) -> tuple[bool, float, int]:
    begun_at = _begun_at(bar.spans)
    return begun_at is None, begun_at or 0.0, bar.no
