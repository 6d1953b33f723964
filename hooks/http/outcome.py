"""The outcome of an HTTP request: an answer, or a failure whose message holds nothing that was sent."""

import json
import re
from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, NoReturn

import httpx

from hooks.errors import HookError
from hooks.values.dataclass import dataclass

#: Errors after which the server has certainly received nothing.
NEVER_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
#: The most characters of a server's message that are shown.
_SHOWN_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A server's answer."""

    status: int
    #: By lower-case name.
    headers: Mapping[str, str]
    content: bytes = field(repr=False)

    def document(self) -> Any:
        """Return the JSON in the answer; None where it is empty.

        Raises:
            RequestFailed: it is no JSON.
        """
        if not self.content.strip():
            return None
        try:
            return json.loads(self.content, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            raise RequestFailed(
                f"it answered {self.status} with something that is no JSON", self.status
            ) from None

    def words(self) -> str:
        """Return the server's message: the ``reason`` in JSON, else the text; empty if there is none."""
        try:
            document = self.document()
        except RequestFailed:
            document = None
        if isinstance(document, dict) and isinstance(document.get("reason"), str):
            return str(document["reason"])
        return self.content.decode(errors="replace").strip()

    @property
    def retry_after_seconds(self) -> float:
        """The wait that the server requests; 0 where it has no valid Retry-After."""
        text = self.headers.get("retry-after", "").strip()
        if text.isascii() and text.isdigit():
            return float(text[:9])
        until = _time(text)
        if until is None:
            return 0.0
        # By the server's own clock, which may differ from ours.
        now = _time(self.headers.get("date", "")) or datetime.now(UTC)
        return max(0.0, (until - now).total_seconds())


class RequestFailed(HookError):
    """A request failed; the message holds nothing that was sent."""

    def __init__(
        self,
        message: str,
        status: int = 0,
        *,
        passing: bool = False,
        undone: bool = False,
        answer: Answer | None = None,
    ) -> None:
        super().__init__(message, status)
        #: The status of the answer; 0: none, or an unreadable one.
        self.status = status
        #: Whether a retry may succeed.
        self.passing = passing
        #: Whether it is certain that the server did nothing.
        self.undone = undone
        #: The answer of a failure; its text may repeat what was sent.
        self.answer = answer

    def __str__(self) -> str:
        return str(self.args[0])

    @property
    def retry_after(self) -> float:
        """The seconds that the server requests to wait."""
        return self.answer.retry_after_seconds if self.answer else 0.0


def of_transport(error: Exception) -> RequestFailed:
    """Return the failure of a request that got no answer."""
    match error:
        case httpx.ConnectError() if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return RequestFailed("the server's certificate is not trusted (verify, ca_file)")
        case httpx.PoolTimeout():
            why = "all connections stayed in use for too long (max_connections)"
        case httpx.ConnectTimeout():
            why = "no connection came about in time"
        case httpx.TimeoutException():
            why = "no whole answer came in time"
        case httpx.ConnectError() | httpx.ProxyError():
            why = "it cannot be connected to"
        case httpx.NetworkError() | httpx.RemoteProtocolError():
            why = "the connection broke before there was a whole answer, or it was no HTTP"
        case _:
            # httpx's message may quote a header.
            return RequestFailed(f"it cannot be sent ({type(error).__name__})")
    return RequestFailed(why, passing=True, undone=isinstance(error, NEVER_SENT))


def words_of_system(error: BaseException | None) -> str:
    """Return the operating system's message about a failed connection; empty for other errors."""
    if not isinstance(error, (httpx.ConnectError, httpx.ProxyError)):
        return ""
    return one_line(re.sub(r"^\[[^\]]*\] ?", "", str(error))) or type(error).__name__


def phrase(status: int) -> str:
    """Return a status as number and phrase."""
    reason = httpx.codes.get_reason_phrase(status)
    return f"{status} ({reason})" if reason else str(status)


def one_line(text: str) -> str:
    """Return a server's message for use in a sentence: on one line, printable, and truncated."""
    line = "".join(each if each.isprintable() else "?" for each in " ".join(text.split()))
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[: _SHOWN_CHARACTERS - 3]}..."


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _time(text: str) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed
