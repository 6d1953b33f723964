"""Fetch a file over http or https, in bounded time and size, from where redirects may lead but nowhere else."""

from typing import Final
from urllib.parse import urlsplit

import httpx

from hooks.http.client import BoundedClient, Request
from hooks.http.options import HttpOptions
from hooks.http.outcome import RequestFailed, phrase, words_of_system
from orchestrator.template.locations import is_web

#: No single step, such as connecting, waits longer.
STEP_SECONDS: Final = 10.0
#: No file takes longer.
FETCH_SECONDS: Final = 60.0


class CannotFetch(Exception):
    """A URL cannot be fetched; the text says why, as the end of a sentence."""


def fetch(url: str, *, max_bytes: int, seconds: float = FETCH_SECONDS) -> bytes:
    """Return what is at a URL of http or https; of something larger, ``max_bytes`` and one byte more.

    A proxy that the process's environment names is used.

    Raises:
        CannotFetch: it is no such URL, the server cannot be reached or refuses, or it takes too long.
    """
    parsed = _checked(url)
    options = HttpOptions(
        connect_seconds=STEP_SECONDS, total_seconds=seconds, retries=0, max_response_bytes=max_bytes + 1
    )
    client = BoundedClient(options, headers={"Accept": "*/*"}, read_seconds=STEP_SECONDS)
    request = Request(
        method="GET", url=parsed, cut=True, redirected=lambda _status, target: _checked(str(target))
    )
    try:
        return client.send(request).content
    except RequestFailed as error:
        raise CannotFetch(f"cannot be fetched: {_reason(error)}") from error
    finally:
        client.close()


def _checked(url: str) -> httpx.URL:
    if not is_web(url):
        raise CannotFetch("cannot be fetched: only http and https URLs are")
    try:
        host, parsed = urlsplit(url).hostname, httpx.URL(url)
    except (ValueError, httpx.InvalidURL):
        host, parsed = None, httpx.URL()
    if not host:
        raise CannotFetch("cannot be fetched: it names no server")
    if parsed.userinfo:
        raise CannotFetch(
            "cannot be fetched: a URL with a user or a password in it would be stored with them"
        )
    return parsed


def _reason(error: RequestFailed) -> str:
    cause = error.__cause__
    if error.answer is not None:
        status = error.answer.status
        led_astray = f"with a redirect ({status}) too many, or to where none may lead"
        return f"the server answered {led_astray if status in range(300, 400) else phrase(status)}"
    if isinstance(cause, httpx.TimeoutException):
        return "the server takes too long"
    if isinstance(cause, httpx.RemoteProtocolError) and "complete" in str(cause):
        return "the server left off in the middle"
    return words_of_system(cause) or str(error)
