"""Attempts of requests to a cloud: each server that does not answer is waited for once.

keystoneauth tries several addresses of a service to find its versions, each for a whole time-out. Within an attempt, a
server that did not answer is not called again.
"""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

Answer = TypeVar("Answer")


@dataclass(slots=True)
class _Attempt:
    #: The errors of servers that did not answer, by host and port.
    silent: dict[str, requests.RequestException] = field(default_factory=dict)


_UNDER_WAY: Final[ContextVar[_Attempt | None]] = ContextVar("attempt", default=None)


def attempted(call: Callable[[], Answer]) -> Answer:
    """Return what ``call`` returns, as one attempt of this thread.

    Raises:
        Exception: what ``call`` raised; or why a server did not answer, where a version was guessed.
    """
    token = _UNDER_WAY.set(attempt := _Attempt())
    try:
        answer = call()
    finally:
        _UNDER_WAY.reset(token)
    if attempt.silent:
        raise next(iter(attempt.silent.values()))
    return answer


class AttemptAdapter(HTTPAdapter):
    """Sends requests, and raises at once for a server that did not answer before in the same attempt."""

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        """Send a request.

        Raises:
            requests.RequestException: the server did not answer, now or before.
        """
        attempt = _UNDER_WAY.get()
        if attempt is None:
            return super().send(request, *args, **kwargs)
        server = urlsplit(str(request.url)).netloc
        if (before := attempt.silent.get(server)) is not None:
            raise before
        try:
            return super().send(request, *args, **kwargs)
        except (requests.ConnectionError, requests.Timeout) as error:
            attempt.silent[server] = error
            raise
