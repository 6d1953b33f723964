"""Times in JSON: ISO 8601 in UTC, to the microsecond. Inside, they are seconds since the epoch."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

#: The fields with times besides those that end with ``_at``.
_OTHERS: Final = frozenset(
    {"at", "since", "as_of", "now", "start", "end", "deadline", "failing_since", "lease_until"}
)


def iso(seconds: float) -> str:
    """Return a time in UTC, such as ``2026-11-22T18:31:01.250000Z``."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def is_time(name: str) -> bool:
    """Whether the field of a view, or a key of JSON that the engine makes, has a time as its value."""
    return name.endswith("_at") or name in _OTHERS


def with_iso_times(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a map that the engine made with its times as text; maps in it are left as they are."""
    return {name: time_or_value(name, value) for name, value in data.items()}


def time_or_value(name: str, value: Any) -> Any:
    """Return the value of a field, as text if it is a time."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return iso(value) if is_number and is_time(name) else value
