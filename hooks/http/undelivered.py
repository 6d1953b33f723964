"""How sending a message can fail, and the sentences that say so without anything that was sent."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import httpx

from hooks.errors import HookError
from hooks.http.failures import is_distrust, retry_after_seconds

#: What may be over the next time.
_PASSING: Final = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS, *range(500, 600)}
) - {HTTPStatus.NOT_IMPLEMENTED}


class NotDelivered(HookError):
    """A message was not answered as it should be; the sentence says how, and holds nothing that was sent."""

    def __init__(
        self, message: str, status: int = 0, *, passing: bool = False, retry_after: float = 0.0
    ) -> None:
        super().__init__(message, status)
        #: What was answered; 0: nothing, or nothing that could be understood.
        self.status = status
        #: Whether the same may succeed later.
        self.passing = passing
        #: For how many seconds the server wants to be left alone.
        self.retry_after = retry_after

    def __str__(self) -> str:
        return str(self.args[0])


def of_answer(asked: str, status: int, headers: Mapping[str, str], words: str) -> NotDelivered:
    """Return the failure that an answer is; ``words`` are what of it may be shown."""
    return NotDelivered(
        f"{asked}: it answered {status}{': ' if words else ''}{words}",
        status,
        passing=status in _PASSING,
        retry_after=retry_after_seconds(headers),
    )


def of_transport(asked: str, error: httpx.HTTPError) -> NotDelivered:
    """Return the failure that it is not to be answered at all."""
    if is_distrust(error):
        return NotDelivered(f"{asked}: the server's certificate is not trusted (verify, ca_file)")
    match error:
        case httpx.ConnectTimeout():
            why = "no connection came about in time"
        case httpx.TimeoutException():
            why = "no whole answer came in time"
        case httpx.ConnectError() | httpx.ProxyError():
            why = "it cannot be connected to"
        case httpx.NetworkError() | httpx.RemoteProtocolError():
            why = "the connection broke before there was a whole answer, or it was no HTTP"
        case _:
            # What it says may quote a header.
            return NotDelivered(f"{asked}: it cannot be sent ({type(error).__name__})")
    return NotDelivered(f"{asked}: {why}", passing=True)
