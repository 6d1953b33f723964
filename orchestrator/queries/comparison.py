"""Two operations side by side: what took longer in one than in the other, and why."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from orchestrator.views.comparisons import ComparedRow, ComparedSide, Comparison
from orchestrator.views.operations import Bar, Timeline
from orchestrator.views.vertex_states import FAILED, SPAN_BLOCKED, SPANS

#: The most resources of a comparison.
MOST_ROWS: Final = 500
#: Shorter differences count as none: the clocks of workers differ by more.
_LEAST_SECONDS: Final = 0.001


def comparison_of(a: Timeline, b: Timeline, *, most: int = MOST_ROWS) -> Comparison:
    """Return two operations side by side, by their timelines; resources with the largest differences come first."""
    sides = _sides(a), _sides(b)
    types = {bar.name: bar.type for timeline in (a, b) for bar in timeline.bars}
    names = sides[0].keys() | sides[1].keys()
    rows = [_row(name, types[name], sides[0].get(name), sides[1].get(name)) for name in names]
    rows.sort(key=_rank)
    return Comparison(
        a=a.operation,
        b=b.operation,
        seconds=(round(_until(a) - a.operation.begun_at, 6), round(_until(b) - b.operation.begun_at, 6)),
        critical=(a.critical_seconds, b.critical_seconds),
        rows=tuple(rows[:most]),
        omitted=max(0, len(rows) - most),
        trimmed=(a.trimmed, b.trimmed),
    )


def _until(timeline: Timeline) -> float:
    ended_at = timeline.operation.ended_at
    return timeline.as_of if ended_at is None else ended_at


def _sides(timeline: Timeline) -> dict[str, ComparedSide]:
    """Return the side of each resource with work in an operation."""
    bars: dict[str, list[Bar]] = defaultdict(list)
    for bar in timeline.bars:
        bars[bar.name].append(bar)
    # What has not begun took no time yet, and is compared as soon as it has.
    return {
        name: _side(several, timeline.as_of)
        for name, several in bars.items()
        if any(span.kind != SPAN_BLOCKED for bar in several for span in bar.spans)
    }


def _side(bars: Sequence[Bar], now: float) -> ComparedSide:
    seconds = dict.fromkeys(SPANS[1:], 0.0)
    for span in (span for bar in bars for span in bar.spans):
        if span.kind in seconds:
            seconds[span.kind] += max(0.0, (now if span.end is None else span.end) - span.start)
    # What is deleted comes last.
    in_order = sorted(bars, key=lambda bar: (bar.phase == "cleanup", bar.no))
    states = [bar.state for bar in in_order]
    return ComparedSide(
        actions=tuple(bar.action for bar in in_order),
        state=FAILED if FAILED in states else states[0],
        attempts=max(bar.attempts for bar in bars),
        seconds={kind: round(took, 6) for kind, took in seconds.items()},
        total=round(sum(seconds.values()), 6),
    )


def _row(name: str, type_: str, a: ComparedSide | None, b: ComparedSide | None) -> ComparedRow:
    if a is None or b is None:
        return ComparedRow(name=name, type=type_, a=a, b=b, difference=0.0)
    difference = round(b.total - a.total, 6)
    by_kind = {kind: b.seconds[kind] - a.seconds[kind] for kind in a.seconds}
    # Of the kinds that differ in the same direction as the whole.
    share = {kind: each for kind, each in by_kind.items() if each * difference > 0}
    is_any = abs(difference) >= _LEAST_SECONDS and bool(share)
    mainly = max(share, key=lambda kind: abs(share[kind])) if is_any else ""
    return ComparedRow(name=name, type=type_, a=a, b=b, difference=difference, mainly=mainly)


def _rank(row: ComparedRow) -> tuple[float, float, str]:
    # Those in one operation alone come behind those in both, the longest first.
    alone = row.a or row.b
    return -abs(row.difference), -(alone.total if alone else 0.0), row.name
