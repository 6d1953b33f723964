"""What errors of an OpenStack cloud mean: openstacksdk's, keystoneauth's below it, and those of requests.

Errors of other libraries are none of its business. An error is judged by the status of the answer, wherever it keeps
that, and by what the services write into answers about quotas: most of them have no status of its own for these.
"""

import re
from http import HTTPStatus
from typing import Any, Final

_QUOTA: Final = re.compile(
    r"over.?(?:limit|quota)|quota[^.]*exceed|exceed[^.]*quota|limit[^.]*exceeded", re.IGNORECASE
)
#: Answers with which some services say that a quota is used up; all of them mean other things too.
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
    """Return the HTTP status that an error of a cloud is about; None if there was no answer."""
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
    """Tell whether a cloud says that something does not exist."""
    from openstack.exceptions import NotFoundException

    # openstacksdk's own finders raise it without any answer.
    return isinstance(error, NotFoundException) or status_of(error) == HTTPStatus.NOT_FOUND


def is_conflict(error: Exception) -> bool:
    """Tell whether a cloud says that something exists already, or is in no state for what was asked."""
    return status_of(error) == HTTPStatus.CONFLICT and not is_over_limit(error)


def is_over_limit(error: Exception) -> bool:
    """Tell whether a cloud says that a quota, or a rate of requests, is used up."""
    status = status_of(error)
    if status in (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.TOO_MANY_REQUESTS):
        return True
    return status in _MAYBE_QUOTA and bool(_QUOTA.search(_said(error)))


def is_retryable(error: Exception) -> bool:
    """Tell whether the same request may succeed later: there was no answer, or one that blames the moment."""
    status = status_of(error)
    return status in _TRANSIENT if status is not None else isinstance(error, _unanswered())


def retry_after_seconds(error: Exception) -> float | None:
    """Return how long a cloud asks to wait; None if it does not say so in seconds."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    said = str(headers.get("Retry-After", ""))
    return float(said) if said.isascii() and said.isdigit() else None


def _unanswered() -> tuple[type[Exception], ...]:
    import requests
    from keystoneauth1 import exceptions
    from openstack.exceptions import NotSupported, ServiceDiscoveryException

    return (
        exceptions.ConnectFailure,
        exceptions.ConnectTimeout,
        exceptions.UnknownConnectionError,
        # Where the list of a service's versions cannot be had, both say that it has none that fits.
        exceptions.DiscoveryFailure,
        NotSupported,
        ServiceDiscoveryException,
        requests.ConnectionError,
        requests.Timeout,
        requests.exceptions.ChunkedEncodingError,
        requests.exceptions.ContentDecodingError,
        # What stands in front of a service answered in its place.
        requests.JSONDecodeError,
    )


def _said(error: Exception) -> str:
    """Return what the answer says, its kind included, which openstacksdk leaves out."""
    response: Any = getattr(error, "response", None)
    text = getattr(response, "text", "") if response is not None else ""
    return f"{error} {getattr(error, 'details', '') or ''} {text or ''}"
