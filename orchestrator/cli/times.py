"""Times and durations on the command line: ``90m``, ``12h``, ``2d``, ISO 8601."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import click

from orchestrator.model.durations import span_seconds


def moment_of(text: str, *, clock: Callable[[], float] = time.time) -> float | None:
    """Return a time in seconds since the epoch, from a duration ago or ISO 8601 (UTC by default); None if malformed."""
    span = span_seconds(text)
    if span is not None:
        return clock() - span
    try:
        at = datetime.fromisoformat(text.strip())
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def age_of(text: str) -> float | None:
    """Return the seconds of a duration, in days if it has no unit; None if it is malformed."""
    text = text.strip()
    return span_seconds(text if text[-1:].isalpha() else f"{text}d")


def duration(seconds: float) -> str:
    """Return a duration in words, the same as on the dashboard.

    ``24 ms``, ``4.2 s``, ``12 s``, ``3 min 05 s``, ``2 h 07 min``, ``3 d 4 h``.
    """
    if round(1000 * seconds) < 1000:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
    hours, rest = divmod(round(seconds / 60), 60)
    return (
        f"{hours} h {rest:02} min" if hours < 24 else "{} d {} h".format(*divmod(round(seconds / 3600), 24))
    )


class Time(click.ParamType[float]):
    """Parameter type of a time or a duration, in seconds; a malformed one is a usage error."""

    def __init__(self, name: str, parse: Callable[[str], float | None], expected: str) -> None:
        self.name, self._parse, self._expected = name, parse, expected

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the value in seconds."""
        found = value if isinstance(value, float) else self._parse(str(value))
        if found is None:
            self.fail(f"expected {self._expected}; got {value!r}", param, ctx)
        return found


MOMENT: Final = Time(
    "time", moment_of, "a time such as 2026-03-01T12:00:00Z, or how long ago, such as 90m or 2d"
)
AGE: Final = Time("age", age_of, "a number of days, or a span of time such as 90m or 12h")
