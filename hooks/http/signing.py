"""Signatures of HTTP messages: made by senders, verified by receivers.

The header ``X-Isotherm-Signature: t=1767225600,v1=5257a8...`` holds the time of sending in seconds since the epoch,
and for each secret an HMAC-SHA256 in hexadecimal over the time as written there, a full stop, and the body's bytes.
So only an owner of a secret can make or change a message, and an old one is refused once the tolerance is over.

While a secret is being replaced, either side may have both: a sender signs with each of its secrets, a receiver
accepts a message if one signature matches one of its own.
"""

import hashlib
import hmac
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from hooks.errors import HookError

#: The header that carries the signature.
HEADER: Final = "X-Isotherm-Signature"
#: The default tolerance between a message's time and the receiver's, either way.
TOLERANCE_SECONDS: Final = 300.0
#: The version of the scheme; others in the header are ignored.
_VERSION: Final = "v1"
#: The length limit of the header.
_MOST_CHARACTERS: Final = 4096


class BadSignature(HookError):
    """A message has no valid, recent signature; the message of the error is for the receiver's log."""


def signature(secrets: Sequence[str], body: bytes, at: int) -> str:
    """Return the header's value for a body.

    Args:
        secrets: At least one; the newest first.
        body: Exactly as it is sent.
        at: The time of sending in seconds since the epoch.

    Raises:
        ValueError: there is no secret, or an empty one.
    """
    if not secrets or not all(secrets):
        raise ValueError("a signature needs a secret, and none may be empty")
    return ",".join((f"t={at}", *(f"{_VERSION}={_digest(secret, str(at), body)}" for secret in secrets)))


def verify(
    secrets: Iterable[str],
    body: bytes,
    header: str | None,
    *,
    tolerance_seconds: float = TOLERANCE_SECONDS,
    now: float | None = None,
) -> int:
    """Verify that a message was signed recently with one of ``secrets``; return when.

    Every signature is compared with every secret, each in constant time, so that the duration reveals nothing.

    Args:
        secrets: The secrets of this receiver, in any order.
        body: The received bytes, before any parsing.
        header: The value of ``X-Isotherm-Signature``; None if there was none.
        tolerance_seconds: The largest difference of the message's time from ``now``, either way.
        now: Seconds since the epoch; the clock's if None.

    Raises:
        BadSignature: the message must be rejected; answer 401.
        ValueError: there is no secret, or an empty one.
    """
    known = tuple(secrets)
    if not known or not all(known):
        raise ValueError("checking a signature needs a secret, and none may be empty")
    at, given = _parsed(header)
    matches = [
        hmac.compare_digest(_digest(secret, at, body).encode(), each.encode())
        for secret in known
        for each in given
    ]
    if not any(matches):
        raise BadSignature("no signature is by a secret that is known here, over this body and time")
    # Checked last: the time of a forged message means nothing.
    apart = abs((time.time() if now is None else now) - int(at))
    if apart > tolerance_seconds:
        raise BadSignature(
            f"the message is {apart:.0f} seconds away from the clock; {tolerance_seconds:.0f} are tolerated"
        )
    return int(at)


def header_of(headers: Mapping[str, str]) -> str | None:
    """Return the signature among a request's headers, whatever the case of their names; None if there is none."""
    return next((value for name, value in headers.items() if name.lower() == HEADER.lower()), None)


def _digest(secret: str, at: str, body: bytes) -> str:
    return hmac.new(secret.encode(), at.encode() + b"." + body, hashlib.sha256).hexdigest()


def _parsed(header: str | None) -> tuple[str, list[str]]:
    """Return the time as written, and the signatures of this version."""
    if not header:
        raise BadSignature(f"the message has no header {HEADER}")
    parts = [part.strip().partition("=") for part in header[:_MOST_CHARACTERS].split(",")]
    times = [value for name, _, value in parts if name == "t"]
    given = [value for name, _, value in parts if name == _VERSION and value.isascii()]
    if (
        len(times) != 1
        or not (times[0].isascii() and times[0].isdigit() and len(times[0]) <= 15)
        or not given
    ):
        raise BadSignature(
            f"the header {HEADER} is not of the form t=SECONDS,{_VERSION}=HEXADECIMAL[,{_VERSION}=...]"
        )
    return times[0], given
