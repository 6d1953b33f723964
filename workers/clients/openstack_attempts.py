"""Attempts of requests to a cloud: each server that does not answer is waited for once, and named as the reason.

keystoneauth tries several addresses of a service to find its versions, each for a whole time-out, and does not report
why they failed: it guesses a version, or finds none. Within an attempt, a server that did not answer is not called
again, and why no version was found is not lost.
"""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from orchestrator.config.log_context import current_traversal
from workers.clients.openstack_errors import is_undiscovered

Answer = TypeVar("Answer")

#: Services log it beside the ids of their own, and pass it on to those that they call.
_GLOBAL_ID: Final = "X-OpenStack-Request-ID"


@dataclass(slots=True)
class _Attempt:
    #: The errors of servers that did not answer, by host and port.
    silent: dict[str, requests.RequestException] = field(default_factory=dict)
    #: The answer of a server that failed.
    failure: requests.HTTPError | None = None

    @property
    def reason(self) -> requests.RequestException | None:
        return next(iter(self.silent.values()), self.failure)


_UNDER_WAY: Final[ContextVar[_Attempt | None]] = ContextVar("attempt", default=None)


def attempted(call: Callable[[], Answer]) -> Answer:
    """Return what ``call`` returns, as one attempt of this thread.

    Raises:
        Exception: what ``call`` raised; or why a server did not answer, where only its versions are reported as missing
            or a version was guessed.
    """
    token = _UNDER_WAY.set(attempt := _Attempt())
    try:
        answer = call()
    except Exception as error:
        if attempt.reason is not None and is_undiscovered(error):
            raise attempt.reason from error
        raise
    finally:
        _UNDER_WAY.reset(token)
    if attempt.silent and attempt.reason is not None:
        raise attempt.reason
    return answer


class AttemptAdapter(HTTPAdapter):
    """Sends requests, and raises at once for a server that did not answer before in the same attempt."""

    def __init__(self, before: Callable[[], None] = lambda: None, **given: Any) -> None:
        """Keep what is called before each request that is sent, logins and discoveries included."""
        self._before = before
        super().__init__(**given)

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        """Send a request, with the operation that it is made for as its global id, which the services keep in logs.

        Raises:
            requests.RequestException: the server did not answer, now or before.
            Exception: what is called before each request raised.
        """
        if traversal := current_traversal():
            request.headers.setdefault(_GLOBAL_ID, f"req-{traversal}")
        attempt = _UNDER_WAY.get()
        if attempt is None:
            self._before()
            return super().send(request, *args, **kwargs)
        server = urlsplit(str(request.url)).netloc
        if (before := attempt.silent.get(server)) is not None:
            raise before
        self._before()
        try:
            response = super().send(request, *args, **kwargs)
        except (requests.ConnectionError, requests.Timeout) as error:
            attempt.silent[server] = error
            raise
        if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR and attempt.failure is None:
            attempt.failure = _failure_of(response)
        return response


def _failure_of(response: requests.Response) -> requests.HTTPError | None:
    try:
        response.raise_for_status()
    except requests.HTTPError as error:
        return error
    return None
