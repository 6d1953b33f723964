"""How a request to an HTTP API can fail, and the sentences that say so without any value that was sent."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote, unquote

import httpx

from hooks.http.failures import is_distrust, retry_after_seconds
from orchestrator.errors import IsothermError, cut
from workers.clients.masking import masked

#: What may be over the next time.
_PASSING: Final = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_EARLY,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
#: So much of an answer is shown to people, and so much of it looked at.
_SHOWN_CHARACTERS: Final = 300
_READ_CHARACTERS: Final = 20_000


class HttpError(IsothermError):
    """A request to an HTTP API failed; the sentence says which, and how."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message, status)
        #: What was answered; 0: nothing, or nothing that could be understood.
        self.status = status

    def __str__(self) -> str:
        return str(self.args[0])


class HttpUnavailable(HttpError):
    """An HTTP API could not be reached, or not do what was asked for now: the same may succeed later."""

    retryable = True

    def __init__(
        self, message: str, status: int = 0, *, undone: bool = False, retry_after: float = 0.0
    ) -> None:
        super().__init__(message, status)
        #: Whether it is certain that nothing was done.
        self.undone = undone
        #: For how many seconds the server wants to be left alone.
        self.retry_after = retry_after


def of_answer(asked: str, response: httpx.Response, content: bytes, secrets: Collection[str]) -> HttpError:
    """Return the failure that an answer is; of ``secrets``, which it may repeat, nothing is shown."""
    status = response.status_code
    text = shown_text(content.decode(errors="replace"), secrets)
    message = f"{asked}: it answered {phrase(status)}{': ' if text else ''}{text}"
    if status not in _PASSING:
        return HttpError(message, status)
    return HttpUnavailable(
        message,
        status,
        undone=status == HTTPStatus.TOO_MANY_REQUESTS,
        retry_after=retry_after_seconds(response.headers),
    )


def of_transport(asked: str, error: httpx.HTTPError) -> HttpError:
    """Return the failure that it is not to be answered at all."""
    never_sent = isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
    match error:
        case httpx.PoolTimeout():
            why = "all connections stayed in use for too long (max_connections)"
        case httpx.ConnectTimeout():
            why = "no connection came about in time"
        case httpx.TimeoutException():
            why = "no whole answer came in time"
        case httpx.ConnectError() | httpx.ProxyError():
            why = f"cannot connect: {_words_of_system(error)}"
        case httpx.NetworkError() | httpx.RemoteProtocolError():
            why = "the connection broke before there was a whole answer, or it was no HTTP"
        case _:
            # What it says may quote a header.
            return HttpError(f"{asked}: it cannot be sent ({type(error).__name__})")
    if is_distrust(error):
        return HttpError(f"{asked}: the server's certificate is not trusted (verify, ca_file)")
    return HttpUnavailable(f"{asked}: {why}", undone=never_sent)


def _words_of_system(error: Exception) -> str:
    return cut(re.sub(r"^\[[^\]]*\] ?", "", str(error)), 200) or type(error).__name__


def phrase(status: int) -> str:
    """Return a status in numbers and words."""
    reason = httpx.codes.get_reason_phrase(status)
    return f"{status} ({reason})" if reason else str(status)


def shown_text(text: str, secrets: Collection[str]) -> str:
    """Return a text of an API for a sentence: on one line, cut, without what may not be shown."""
    forms = {form for secret in secrets for form in _forms(secret)}
    beginning = masked(text[:_READ_CHARACTERS], forms)
    if len(text) > _READ_CHARACTERS:
        # At the end there may be half of a secret.
        beginning = beginning[: max(0, len(beginning) - max(map(len, forms), default=0))]
    line = " ".join(beginning.split())
    return cut("".join(each if each.isprintable() else "?" for each in line), _SHOWN_CHARACTERS)


def _forms(secret: str) -> Iterator[str]:
    """Yield the ways in which an API may repeat a text."""
    yield secret
    yield quote(secret, safe="")
    for ascii_only in (True, False):
        yield json.dumps(secret, ensure_ascii=ascii_only)[1:-1]


def texts_in(value: Any) -> Iterator[str]:
    """Yield all texts and numbers of a value of plain types, without the keys of its maps."""
    match value:
        case str():
            yield value
        case bool() | None:
            return
        case Mapping():
            for child in value.values():
                yield from texts_in(child)
        case list() | tuple():
            for child in value:
                yield from texts_in(child)
        case _:
            yield str(value)


def shown_path(path: str) -> str:
    """Return a path for a sentence: cut, and without its query, which may hold a secret."""
    return cut(path.partition("?")[0])


def fault_of_path(path: str) -> str:
    """Return what is wrong with a path that is to come after a base URL; empty: nothing."""
    way = path.partition("?")[0]
    if not way.startswith("/") or way.startswith("//"):
        return "a path begins with one slash"
    if not path.isprintable() or any(character in path for character in " \\#"):
        return "a path holds no blanks, backslashes, '#', or what cannot be printed"
    if any(unquote(segment) in {".", ".."} for segment in way.split("/")):
        return "a path holds neither '.' nor '..' between its slashes"
    return ""
