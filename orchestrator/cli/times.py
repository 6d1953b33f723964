"""Times and spans of time as people type them."""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import click

_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_SPAN = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?([smhdw])")
#: Longer ago than any computer.
_LONGEST_SECONDS: Final = 100 * 366 * 86400


def span_seconds(text: str) -> float | None:
    """Return the seconds of a span: ``90s``, ``90m``, ``12h``, ``30d``, ``2w``; None if it is none."""
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        return None
    seconds = float(match[1]) * _SECONDS[match[2]]
    return seconds if seconds <= _LONGEST_SECONDS else None


def moment_of(text: str, *, clock: Callable[[], float] = time.time) -> float | None:
    """Return a time, in seconds since the epoch: a span ago, or in ISO 8601 (UTC unless it says otherwise).

    None if it is neither.
    """
    span = span_seconds(text)
    if span is not None:
        return clock() - span
    try:
        at = datetime.fromisoformat(text.strip())
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


class Moment(click.ParamType[float]):
    """A time on the command line; gives seconds since the epoch."""

    name = "time"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the time that the text says."""
        found = value if isinstance(value, float) else moment_of(str(value))
        if found is None:
            self.fail(
                f"expected a time such as 2026-03-01T12:00:00Z, or how long ago, such as 90m or 2d; got {value!r}",
                param,
                ctx,
            )
        return found


class Age(click.ParamType[float]):
    """A span of time on the command line, in days if it has no unit; gives seconds."""

    name = "age"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the span that the text says."""
        if isinstance(value, float):
            return value
        text = str(value)
        found = span_seconds(text) if text.strip()[-1:].isalpha() else span_seconds(f"{text.strip()}d")
        if found is None:
            self.fail(
                f"expected a number of days, or a span of time such as 90m or 12h; got {value!r}", param, ctx
            )
        return found
