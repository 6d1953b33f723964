"""Fetch a file over http or https, in bounded time and size, from where redirects may lead but nowhere else."""

import http
import string
import time
from http.client import HTTPException, HTTPMessage, HTTPResponse
from typing import IO, Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    getproxies,
)

from orchestrator.template.locations import is_web

#: No single step, such as connecting, waits longer.
STEP_SECONDS: Final = 10.0
#: No file takes longer, once the server has begun to answer.
FETCH_SECONDS: Final = 60.0

_CHUNK = 64 * 1024
_REDIRECTS = 5


class CannotFetch(Exception):
    """A URL cannot be fetched; the text says why, as the end of a sentence."""


def fetch(url: str, *, max_bytes: int, seconds: float = FETCH_SECONDS) -> bytes:
    """Return what is at a URL of http or https; of something larger, ``max_bytes`` and one byte more.

    A proxy that the process's environment names is used.

    Raises:
        CannotFetch: it is no such URL, the server cannot be reached or refuses, or it takes too long.
    """
    _check(url)
    deadline = time.monotonic() + seconds
    try:
        request = Request(quote(url, safe=string.punctuation))  # noqa: S310 - what it names has been checked
        with _opener().open(request, timeout=min(seconds, STEP_SECONDS)) as response:
            return _read(response, max_bytes + 1, deadline)
    except HTTPError as error:
        error.close()
        raise CannotFetch(f"cannot be fetched: the server answered {_status(error.code)}") from error
    except TimeoutError as error:
        raise CannotFetch("cannot be fetched: the server takes too long") from error
    except URLError as error:
        raise CannotFetch(f"cannot be fetched: {_reason(error.reason)}") from error
    except (OSError, HTTPException, ValueError) as error:
        raise CannotFetch(f"cannot be fetched: {_reason(error)}") from error


def _check(url: str) -> None:
    if not is_web(url):
        raise CannotFetch("cannot be fetched: only http and https URLs are")
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    if not host:
        raise CannotFetch("cannot be fetched: it names no server")
    if parts.username is not None or parts.password is not None:
        raise CannotFetch(
            "cannot be fetched: a URL with a user or a password in it would be stored with them"
        )


class _Redirects(HTTPRedirectHandler):
    """Follows a few redirects, each to what could have been asked for in the first place."""

    max_redirections = _REDIRECTS
    max_repeats = _REDIRECTS

    def redirect_request(  # noqa: PLR0917 - as the handler has it
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        _check(newurl)
        # The handler would read what comes with a redirect to its end, which it may not have.
        fp.close()
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> OpenerDirector:
    """Return an opener that knows http and https, and no other way to get at anything."""
    opener = OpenerDirector()
    opener.addheaders = [("User-Agent", "isotherm"), ("Accept", "*/*")]
    proxies = {scheme: proxy for scheme, proxy in getproxies().items() if scheme in ("http", "https")}
    for handler in (
        ProxyHandler(proxies),
        HTTPHandler(),
        HTTPSHandler(),
        HTTPDefaultErrorHandler(),
        _Redirects(),
        HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def _read(response: HTTPResponse, most: int, deadline: float) -> bytes:
    content = bytearray()
    # read1 returns with what has come; read would wait for the rest, however slowly it comes.
    while len(content) < most and (chunk := response.read1(min(_CHUNK, most - len(content)))):
        content += chunk
        if time.monotonic() > deadline:
            raise TimeoutError
    if response.length and len(content) < most:
        raise CannotFetch("cannot be fetched: the server left off in the middle")
    return bytes(content)


def _status(code: int) -> str:
    if code in range(300, 400):
        return f"with a redirect ({code}) too many, or to where none may lead"
    try:
        return f"{code} ({http.HTTPStatus(code).phrase})"
    except ValueError:
        return str(code)


def _reason(error: object) -> str:
    """Return what went wrong, in the words of the system, or else of what kind it was."""
    if isinstance(error, TimeoutError):
        return "the server takes too long"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) if isinstance(error, str) else type(error).__name__
