"""Times: ``cron_expression``, ``timezone``, ``iso_8601``, ``expiration``.

As in Heat, an empty text stands for a missing value, except for ``iso_8601``.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Final

from croniter import CroniterError, croniter
from iso8601 import ParseError, parse_date

from hooks.values.nearest import did_you_mean
from orchestrator.plugins.constraints import shown
from orchestrator.plugins.custom import CustomConstraint

#: The length limit: a longer text is no real expression, and the library takes its time over it.
_LONGEST_EXPRESSION: Final = 1_000
_FIELDS: Final = ("minute", "hour", "day of the month", "month", "day of the week", "second", "year")
_FEWEST_FIELDS: Final = 5
_NAMES: Final = "@hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually"


class CronExpression(CustomConstraint):
    """When something is to happen again and again, as cron understands it, such as ``*/5 * * * *`` or ``@daily``.

    It has five fields: minute, hour, day of the month, month, day of the week; a sixth for seconds and a seventh for
    the year are understood too.
    """

    name = "cron_expression"

    def fault(self, value: object) -> str | None:
        """Return the fault of an expression."""
        reason = _cron_reason(value) if isinstance(value, str) else "it is no text"
        return reason and f"{shown(value)} is no cron expression: {reason}"


class Timezone(CustomConstraint):
    """The name of a time zone in the IANA database, such as ``Europe/Berlin``, written as it is there."""

    name = "timezone"

    def fault(self, value: object) -> str | None:
        """Return the fault of the name."""
        if isinstance(value, str) and (not value or value in _zones()):
            return None
        near = did_you_mean(value, _zones()) if isinstance(value, str) else ""
        return f"{shown(value)} is no time zone of the IANA database{near}"


class Iso8601(CustomConstraint):
    """A date, or a date and a time, in the notation of ISO 8601, such as ``2026-11-21T14:00:00Z``."""

    name = "iso_8601"

    def fault(self, value: object) -> str | None:
        """Return the fault of the time."""
        if isinstance(value, str) and _parsed(value) is not None:
            return None
        return f"{shown(value)} is no time in the notation of ISO 8601, such as 2026-11-21T14:00:00Z"


class Expiration(CustomConstraint):
    """A time as of ``iso_8601`` that is still to come; without an offset it is one of UTC."""

    name = "expiration"

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now

    def fault(self, value: object) -> str | None:
        """Return the fault of the time, by this machine's clock."""
        if value == "":
            return None
        when = _parsed(value.strip()) if isinstance(value, str) else None
        if when is None:
            return f"{shown(value)} is no time in the notation of ISO 8601, such as 2026-11-21T14:00:00Z"
        return None if when > self._now() else f"{shown(value)} is over"


def _cron_reason(text: str) -> str | None:
    if len(text) > _LONGEST_EXPRESSION:
        return f"it has {len(text)} characters, {_LONGEST_EXPRESSION} are allowed"
    if not text or _is_understood(text):
        return None
    if text.strip().startswith("@"):
        return f"such names are {_NAMES}"
    return _field_reason(text.split())


def _field_reason(fields: list[str]) -> str:
    if not _FEWEST_FIELDS <= len(fields) <= len(_FIELDS):
        return f"it has {len(fields)} fields, not five ({', '.join(_FIELDS[:_FEWEST_FIELDS])})"
    for place, field in enumerate(fields):
        # The library's message repeats the whole expression, and does not always name the field.
        alone = ["*"] * len(fields)
        alone[place] = field
        if not _is_understood(" ".join(alone)):
            return f"the {_FIELDS[place]} cannot be {shown(field)}"
    return "its fields do not go together"


def _is_understood(expression: str) -> bool:
    try:
        croniter(expression)
    except CroniterError:
        return False
    return True


@cache
def _zones() -> frozenset[str]:
    # The package's own list and not the machine's: the result must not depend on where a check runs.
    return frozenset(files("tzdata").joinpath("zones").read_text().split())


def _parsed(text: str) -> datetime | None:
    # The library would accept a line's end.
    if text.endswith("\n"):
        return None
    try:
        return parse_date(text)
    except ParseError:
        return None
