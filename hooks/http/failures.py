"""What can be told of a request over HTTP that failed: when to come again, and that the server is not trusted."""

import ssl
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

#: No error has more causes, one behind the other.
_MOST_CAUSES: Final = 10


def retry_after_seconds(headers: Mapping[str, str]) -> float:
    """Return for how long a server wants to be left alone; 0 where it does not say so, or nobody understands it.

    Args:
        headers: Those of its answer; names are in lower case, or compared without it.
    """
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    until = _time(text)
    if until is None:
        return 0.0
    # By its own clock, which may be another than ours.
    return max(0.0, (until - (_time(headers.get("date", "")) or datetime.now(UTC))).total_seconds())


def is_distrust(error: BaseException | None) -> bool:
    """Tell whether an error comes of a certificate that proves nothing to us."""
    for _ in range(_MOST_CAUSES):
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error and (error.__cause__ or error.__context__)
    return False


def _time(text: str) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed
