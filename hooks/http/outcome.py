"""What becomes of a request over HTTP: an answer, or a failure whose sentence holds nothing that was sent."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, NoReturn

import httpx

from hooks.errors import HookError

#: With these, the server got nothing of a request.
NEVER_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
#: So much of an answer's words is shown to people.
_SHOWN_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server answered."""

    status: int
    #: By lower-case name.
    headers: Mapping[str, str]
    content: bytes = field(repr=False)

    def document(self) -> Any:
        """Return the JSON that the answer holds; None where it is empty.

        Raises:
            RequestFailed: it holds something else.
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
        """Return what it says to people: the ``reason`` of an answer in JSON, else its text; empty if there is none."""
        try:
            document = self.document()
        except RequestFailed:
            document = None
        if isinstance(document, dict) and isinstance(document.get("reason"), str):
            return str(document["reason"])
        return self.content.decode(errors="replace").strip()

    @property
    def retry_after_seconds(self) -> float:
        """For how long the server wants to be left alone; 0 where it does not say so in words of HTTP."""
        text = self.headers.get("retry-after", "").strip()
        if text.isascii() and text.isdigit():
            return float(text[:9])
        until = _time(text)
        if until is None:
            return 0.0
        # By its own clock, which may be another than ours.
        now = _time(self.headers.get("date", "")) or datetime.now(UTC)
        return max(0.0, (until - now).total_seconds())


class RequestFailed(HookError):
    """A request was not answered as it should be; the sentence says how, and holds nothing that was sent."""

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
        #: What was answered; 0: nothing, or nothing that could be understood.
        self.status = status
        #: Whether the same may succeed later.
        self.passing = passing
        #: Whether it is certain that nothing was done.
        self.undone = undone
        #: An answer that is a failure; its words may repeat what was sent.
        self.answer = answer

    def __str__(self) -> str:
        return str(self.args[0])

    @property
    def retry_after(self) -> float:
        """For how many seconds the server wants to be left alone."""
        return self.answer.retry_after_seconds if self.answer else 0.0


def of_transport(error: Exception) -> RequestFailed:
    """Return the failure that a request is not answered at all."""
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
            # What it says may quote a header.
            return RequestFailed(f"it cannot be sent ({type(error).__name__})")
    return RequestFailed(why, passing=True, undone=isinstance(error, NEVER_SENT))


def words_of_system(error: BaseException | None) -> str:
    """Return what the system says of a connection that did not come about; empty if ``error`` is something else."""
    if not isinstance(error, (httpx.ConnectError, httpx.ProxyError)):
        return ""
    return one_line(re.sub(r"^\[[^\]]*\] ?", "", str(error))) or type(error).__name__


def phrase(status: int) -> str:
    """Return a status in numbers and words."""
    reason = httpx.codes.get_reason_phrase(status)
    return f"{status} ({reason})" if reason else str(status)


def one_line(text: str) -> str:
    """Return a server's words for a sentence: on one line, printable, and cut."""
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
