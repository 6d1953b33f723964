"""Times as the API writes them."""

from datetime import UTC, datetime


def time_of(seconds: float | None) -> str | None:
    """Return a time in seconds since the epoch as ``2026-01-02T03:04:05Z``."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
