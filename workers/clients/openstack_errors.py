"""The classification of OpenStack errors: openstacksdk's, keystoneauth's below it, and those of requests.

Errors of other libraries are not classified. An error is judged by the status of the answer, wherever it holds
that, and by the services' messages about quotas: most have no status of their own for these.
"""

import re
from http import HTTPStatus
from typing import Any, Final

_QUOTA: Final = re.compile(
    r"over.?(?:limit|quota)|quota[^.]*exceed|exceed[^.]*quota|limit[^.]*exceeded", re.IGNORECASE
)
_REQUEST_IDS: Final = ("x-openstack-request-id", "x-compute-request-id")
#: No other text of an answer becomes part of a reason.
_REQUEST_ID: Final = re.compile(r"req-[0-9A-Za-z-]{1,64}")
#: Statuses with which some services report an exceeded quota; all of them have other meanings too.
_MAYBE_QUOTA: Final = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.CONFLICT})
_TRANSIENT: Final = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)


def status_of(error: Exception) -> int | None:
    """Return the HTTP status of a cloud's error; None if there was no answer."""
    import requests
    from keystoneauth1.exceptions import ClientException
    from openstack.exceptions import SDKException

    if not isinstance(error, (SDKException, ClientException, requests.RequestException)):
        return None
    for name in ("status_code", "http_status"):
        if isinstance(found := getattr(error, name, None), int) and found:
            return found
    found = getattr(getattr(error, "response", None), "status_code", None)
    return found if isinstance(found, int) else None


def is_not_found(error: Exception) -> bool:
    """Return whether a cloud reported that something does not exist."""
    from openstack.exceptions import NotFoundException

    # openstacksdk's own finders raise it without any answer.
    return isinstance(error, NotFoundException) or status_of(error) == HTTPStatus.NOT_FOUND


def is_conflict(error: Exception) -> bool:
    """Return whether a cloud reported that something exists already, or is in the wrong state."""
    return status_of(error) == HTTPStatus.CONFLICT and not is_over_limit(error)


def request_id_of(error: Exception) -> str:
    """Return the id that a service gave to a request that failed; empty if there is none of the usual form."""
    if status_of(error) is None:
        return ""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    named = [headers.get(name) for name in _REQUEST_IDS] + [getattr(error, "request_id", None)]
    return next((each for each in named if isinstance(each, str) and _REQUEST_ID.fullmatch(each)), "")


def is_unauthorized(error: Exception) -> bool:
    """Return whether a cloud did not let the user in."""
    return status_of(error) == HTTPStatus.UNAUTHORIZED


def is_forbidden(error: Exception) -> bool:
    """Return whether a cloud reported that the user may not do something, other than for a quota."""
    return status_of(error) == HTTPStatus.FORBIDDEN and not is_over_limit(error)


def is_over_limit(error: Exception) -> bool:
    """Return whether a cloud reported that a quota, or a rate limit, is exceeded."""
    status = status_of(error)
    if status in (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.TOO_MANY_REQUESTS):
        return True
    return status in _MAYBE_QUOTA and bool(_QUOTA.search(_message_of(error)))


def is_retryable(error: Exception) -> bool:
    """Return whether a retry may succeed: there was no answer, or one of a temporary failure."""
    status = status_of(error)
    return status in _TRANSIENT if status is not None else isinstance(error, _unanswered())


def busy_seconds(error: Exception) -> float | None:
    """Return the pause that a cloud requires; 0 if it names none, None if it is not busy."""
    status, seconds = status_of(error), retry_after_seconds(error)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return seconds or 0.0
    may_name_one = (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.SERVICE_UNAVAILABLE)
    return seconds if status in may_name_one else None


def is_undiscovered(error: Exception) -> bool:
    """Return whether no version of a service was found, for whatever reason."""
    return isinstance(error, _undiscovered())


def retry_after_seconds(error: Exception) -> float | None:
    """Return the seconds of the answer's Retry-After; None if it has none in seconds."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    retry_after = str(headers.get("Retry-After", ""))
    return float(retry_after) if retry_after.isascii() and retry_after.isdigit() else None


def _unanswered() -> tuple[type[Exception], ...]:
    import requests
    from keystoneauth1 import exceptions

    return (
        *_undiscovered(),
        exceptions.ConnectFailure,
        exceptions.ConnectTimeout,
        exceptions.UnknownConnectionError,
        requests.ConnectionError,
        requests.Timeout,
        requests.exceptions.ChunkedEncodingError,
        requests.exceptions.ContentDecodingError,
        # A proxy in front of the service answered in its place.
        requests.JSONDecodeError,
    )


def _undiscovered() -> tuple[type[Exception], ...]:
    from keystoneauth1 import exceptions
    from openstack.exceptions import NotSupported, ServiceDiscoveryException

    # If a service's list of versions is unavailable, all report that no version fits.
    return exceptions.DiscoveryFailure, NotSupported, ServiceDiscoveryException


def _message_of(error: Exception) -> str:
    """Return the message of an answer and its kind, which openstacksdk leaves out."""
    response: Any = getattr(error, "response", None)
    text = getattr(response, "text", "") if response is not None else ""
    return f"{error} {getattr(error, 'details', '') or ''} {text or ''}"
