"""Gantt chart of an operation as lines of text: one resource a line, time to the right. Pure functions."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from hooks.values.dataclass import dataclass
from orchestrator.cli.fitting import columns_of, fitted
from orchestrator.cli.formats import printable
from orchestrator.cli.state_marks import MARKS, SPAN_MARKS, Mark
from orchestrator.cli.times import duration
from orchestrator.views.vertex_states import (
    OVER,
    SPAN_BLOCKED,
    SPAN_HELD,
    SPAN_QUEUED,
    SPAN_RETRYING,
    SPAN_RUNNING,
)

if TYPE_CHECKING:
    from rich.text import Text

    from orchestrator.views.operations import Bar, Span, Timeline

#: The least width of a drawing, and the greatest width of its names.
LEAST_WIDTH: Final = 40
MOST_NAME: Final = 40
#: The width of a duration such as ``12 min 05 s``, and the least width of an axis step, in columns.
_TOOK: Final = 12
_TICK: Final = 10
#: Round steps of the axis, in seconds.
_STEPS: Final = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5),
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400),
)
#: Where two kinds of spans share a column, the one with the higher value is shown.
_URGENCY: Final = {
    SPAN_RETRYING: 4,
    SPAN_HELD: 3,
    SPAN_RUNNING: 2,
    SPAN_QUEUED: 1,
    SPAN_BLOCKED: 0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The mapping of times to columns."""

    start: float
    #: The duration of the whole; more than 0.
    seconds: float
    columns: int

    def column(self, at: float) -> int:
        """Return the column of a time; a time out of range is in the nearest column."""
        return min(max(self._columns_before(at), 0), self.columns - 1)

    def last_column(self, span: "Span", *, until: float) -> int:
        """Return the last column of a span; the column in which the next span begins belongs to that one."""
        if span.end is None:
            return self.column(until)
        return max(self.column(span.start), min(self._columns_before(span.end), self.columns) - 1)

    def _columns_before(self, at: float) -> int:
        # Rounded: an error in the last digits would cost a span that ends where another begins a column.
        return math.floor(round((at - self.start) / self.seconds * self.columns, 6))

    @property
    def step(self) -> float:
        """The seconds between two ticks of the axis, so that each label fits."""
        least = self.seconds / self.columns * _TICK
        return next((float(step) for step in _STEPS if step >= least), math.ceil(least / 86400) * 86400.0)


def end_of(timeline: "Timeline") -> float:
    """Return the time at which an operation ended; while it runs, the time of the data."""
    ended = timeline.operation.ended_at
    last = [span.end for bar in timeline.bars for span in bar.spans if span.end is not None]
    # A step that was running when the operation failed continues after it, and is drawn to its end.
    return max(ended if ended is not None else timeline.as_of, *last, timeline.operation.begun_at)


def scale_of(timeline: "Timeline", columns: int) -> Scale:
    """Return the scale that fits a whole operation into ``columns``."""
    begun = timeline.operation.begun_at
    return Scale(start=begun, seconds=max(end_of(timeline) - begun, 1e-6), columns=max(columns, 1))


def cells_of(spans: Sequence["Span"], scale: Scale, *, until: float) -> "list[Span | None]":
    """Return the span that each column shows; None for none.

    Every span has at least one column, unless a more urgent span needs it.
    """
    cells: list[Span | None] = [None] * scale.columns
    for span in spans:
        for column in range(scale.column(span.start), scale.last_column(span, until=until) + 1):
            present = cells[column]
            if present is None or _URGENCY[span.kind] > _URGENCY[present.kind]:
                cells[column] = span
    return cells


def axis(scale: Scale) -> str:
    """Return the axis: labels of the seconds, minutes or hours since the beginning, each at its column."""
    line = [" "] * scale.columns
    tick = 0
    while tick * scale.step < scale.seconds:
        label = f"|{ago(tick * scale.step)}"
        place = scale.column(scale.start + tick * scale.step)
        if place + len(label) <= scale.columns:
            line[place : place + len(label)] = label
        tick += 1
    return "".join(line).rstrip()


def ago(seconds: float) -> str:
    """Return seconds since the beginning in short form: ``500ms``, ``90s``, ``15m``, ``2h30``."""
    if seconds < 1 and seconds:
        return f"{seconds * 1000:g}ms"
    if seconds < 120:
        return f"{seconds:g}s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes}m"
    hours, rest = divmod(minutes, 60)
    return f"{hours}h{rest:02}" if rest else f"{hours}h"


def took(bar: "Bar", *, until: float) -> str:
    """Return the duration of a bar without its wait for other resources; empty if no work was begun."""
    worked = [span for span in bar.spans if span.kind != SPAN_BLOCKED]
    if not worked:
        return ""
    end = worked[-1].end if worked[-1].end is not None else until
    return duration(max(end - worked[0].start, 0.0))


def gantt(
    timeline: "Timeline", width: int, *, ascii_only: bool = False, critical_only: bool = False
) -> Iterator["Text"]:
    """Yield the lines of a drawing that is ``width`` columns wide: the axis, then a line for each bar.

    A line has an asterisk if the bar is on the critical path, the state's mark, the name, the bar and its duration.
    """
    from rich.text import Text

    bars = [bar for bar in timeline.bars if bar.critical or not critical_only]
    width = max(width, LEAST_WIDTH)
    names = {bar.no: _label(bar) for bar in bars}
    longest = max((columns_of(name) for name in names.values()), default=0)
    name_width = min(longest, MOST_NAME, width // 3)
    # Two marks with a space after each, the name, and a space on both sides of the time.
    left = 4 + name_width + 1
    scale = scale_of(timeline, width - left - 1 - _TOOK)
    until = timeline.as_of
    yield Text(" " * left + axis(scale), style="dim")
    for bar in bars:
        line = Text(no_wrap=True)
        line.append("* " if bar.critical else "  ", "bold")
        mark = MARKS[bar.state]
        line.append(f"{mark.on(ascii_only=ascii_only)} ", mark.style)
        line.append(fitted(names[bar.no], name_width, ascii_only=ascii_only), "bold" if bar.critical else "")
        line.append(" ")
        line.append_text(_drawn(bar, scale, until=until, ascii_only=ascii_only))
        line.append(f" {took(bar, until=until)}", "bold" if bar.critical else "dim")
        line.rstrip()
        yield line


def legend(timeline: "Timeline", *, ascii_only: bool = False) -> "Text":
    """Return the legend of the marks that a drawing of this timeline has."""
    from rich.text import Text

    kinds = {span.kind for bar in timeline.bars for span in bar.spans}
    states = {bar.state for bar in timeline.bars}
    line = Text()
    known: Iterable[tuple[str, Mark]] = (
        *((word, mark) for word, mark in SPAN_MARKS.items() if word in kinds),
        *((word, mark) for word, mark in MARKS.items() if word in states),
    )
    for word, mark in known:
        line.append(mark.on(ascii_only=ascii_only), mark.style).append(f" {word}  ", "dim")
    if any(bar.critical for bar in timeline.bars):
        line.append("*", "bold").append(" critical path", "dim")
    line.rstrip()
    return line


def _label(bar: "Bar") -> str:
    # A replaced resource has two bars of one name; the action distinguishes them.
    return printable(bar.name if bar.phase != "cleanup" else f"{bar.name} ({bar.action.lower()})")


def _drawn(bar: "Bar", scale: Scale, *, until: float, ascii_only: bool) -> "Text":
    from rich.text import Text

    drawn = Text()
    for span, columns in groupby(cells_of(bar.spans, scale, until=until)):
        width = len(list(columns))
        if span is None:
            drawn.append(" " * width)
            continue
        mark = SPAN_MARKS[span.kind]
        style = mark.style
        if span.kind == SPAN_RUNNING and bar.state in OVER:
            # The last attempt has the colour of its result; earlier ones failed.
            style = MARKS[bar.state].style if span.attempt == bar.attempts else "red"
        drawn.append(mark.on(ascii_only=ascii_only) * width, style)
    return drawn
