"""Send signed JSON over HTTP: within bounded time and size, again where that may help, with no secret in any sentence.

Whatever is sent may arrive twice: a try whose answer was lost is made again. So messages carry a key by which the
receiver tells one from the other.
"""

import json
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final

import httpx
import tenacity

from hooks.http.cutting import Cutter
from hooks.http.options import SenderOptions
from hooks.http.signing import HEADER, signature
from hooks.http.undelivered import NotDelivered, of_answer, of_transport

# Their lines hold whole URLs, where a secret may be.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)

#: A client's own time-outs come first, where they come at all.
_MARGIN_SECONDS: Final = 0.1
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
            NotDelivered: it holds something else.
        """
        if not self.content.strip():
            return None
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            raise NotDelivered(
                f"it answered {self.status} with something that is no JSON", self.status
            ) from None

    def words(self) -> str:
        """Return what it says to people: the ``reason`` of an answer in JSON, else its text; empty if there is none."""
        try:
            document = self.document()
        except NotDelivered:
            document = None
        if isinstance(document, dict) and isinstance(document.get("reason"), str):
            return str(document["reason"])
        return self.content.decode(errors="replace").strip()


class SignedSender:
    """Sends signed messages to one server; threads may share it."""

    def __init__(
        self,
        options: SenderOptions,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Prepare to send; nothing is sent yet.

        Raises:
            ValueError: a file of secrets or certificates is not what it should be.
        """
        self.options = options
        self._sleep, self._clock = sleep, clock
        self._base = httpx.URL(options.url)
        self._tls = options.tls()
        # A client that threads share closes a connection now and then on which another has just begun: each client has
        # one connection, and is used by one thread at a time.
        self._free: deque[tuple[httpx.Client, Cutter]] = deque()
        self._known = options.all_secrets()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.where})"

    @property
    def where(self) -> str:
        """The server for sentences: without path and query, which may hold a secret."""
        return _origin(self._base)

    def close(self) -> None:
        """Close the connections that nobody uses now; sending opens new ones."""
        while self._free:
            self._free.pop()[0].close()

    def send(
        self,
        document: Any,
        *,
        method: str = "POST",
        path: str = "",
        headers: Mapping[str, str] | None = None,
        accept: Collection[int] = (),
        within_seconds: float = math.inf,
    ) -> Answer:
        """Send a document as JSON and return the answer: one of success, or of the statuses in ``accept``.

        Args:
            document: Of plain types.
            method: In upper case.
            path: What comes after the URL's own path, beginning with a slash; quoted already.
            headers: Sent besides the signature and the content's type.
            accept: Statuses that are no failure either.
            within_seconds: The most that all tries may take together, if the options give them more.

        Raises:
            NotDelivered: it may have arrived all the same, once or more often.
            ValueError: JSON knows no such number.
        """
        total_seconds = min(self.options.total_seconds, within_seconds)
        wire = _Wire(
            method=method,
            url=self._base.copy_with(path=self._base.path.rstrip("/") + path) if path else self._base,
            body=json.dumps(document, allow_nan=False).encode(),
            headers={"Content-Type": "application/json", **(headers or {})},
            accept=frozenset(accept),
            deadline=time.monotonic() + total_seconds,
        )
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(
                lambda error: isinstance(error, NotDelivered) and error.passing
            ),
            wait=self._pause,
            stop=tenacity.stop_after_attempt(self.options.retries + 1)
            | tenacity.stop_before_delay(total_seconds),
            sleep=self._sleep,
            reraise=True,
        )
        return retrying(self._once, wire)

    def _pause(self, state: tenacity.RetryCallState) -> float:
        options = self.options
        jittered = tenacity.wait_random_exponential(options.retry_base_seconds, options.retry_max_seconds)
        error = state.outcome.exception() if state.outcome else None
        return max(jittered(state), error.retry_after if isinstance(error, NotDelivered) else 0.0)

    def _once(self, wire: "_Wire") -> Answer:
        try:
            answer = self._sent(wire)
        except httpx.HTTPError as error:
            raise of_transport(wire.asked, error) from None
        if 200 <= answer.status < 300 or answer.status in wire.accept:
            return answer
        raise of_answer(wire.asked, answer.status, answer.headers, self.shown(answer.words()))

    def _sent(self, wire: "_Wire") -> Answer:
        left = wire.deadline - time.monotonic()
        if left <= 0:
            raise httpx.ReadTimeout("no time is left")
        try:
            self._known = self.options.all_secrets()
        except ValueError as error:
            raise NotDelivered(f"{wire.asked}: it cannot be signed: {error}") from None
        signed = {HEADER: signature(self._known, wire.body, int(self._clock()))}
        patience = httpx.Timeout(left, connect=min(left, self.options.connect_seconds))
        with (
            self._client() as (client, cutter),
            _told_as_timeout(cutter),
            cutter.within(left + _MARGIN_SECONDS),
            client.stream(
                wire.method,
                wire.url,
                content=wire.body,
                headers={**wire.headers, **signed},
                timeout=patience,
                extensions={"trace": cutter.trace},
            ) as response,
        ):
            content = bytearray()
            for chunk in response.iter_raw():
                content += chunk
                if len(content) > self.options.max_response_bytes:
                    most = self.options.max_response_bytes
                    message = f"it answered with more than {most} bytes (max_response_bytes)"
                    raise NotDelivered(f"{wire.asked}: {message}", response.status_code)
                if time.monotonic() > wire.deadline:
                    raise httpx.ReadTimeout("the answer is too slow")
            return Answer(
                status=response.status_code,
                headers={name.lower(): value for name, value in response.headers.items()},
                content=bytes(content),
            )

    @contextmanager
    def _client(self) -> Iterator[tuple[httpx.Client, Cutter]]:
        try:
            client, cutter = self._free.pop()
        except IndexError:
            cutter = Cutter()
            client = httpx.Client(
                headers={
                    "Accept": "application/json",
                    "Accept-Encoding": "identity",
                    "User-Agent": "isotherm",
                },
                verify=self._tls,
                limits=httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=30.0),
                # An answer must not decide what is sent with the next message.
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            )
        try:
            yield client, cutter
        finally:
            self._free.append((client, cutter))

    def shown(self, text: str) -> str:
        """Return a server's words for people: on one line, cut, and without our secrets."""
        for secret in self._known:
            text = text.replace(secret, "******")
        line = "".join(each if each.isprintable() else "?" for each in " ".join(text.split()))
        return line if len(line) <= _SHOWN_CHARACTERS else f"{line[: _SHOWN_CHARACTERS - 3]}..."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wire:
    """A message as it is sent, once or again."""

    method: str
    url: httpx.URL
    body: bytes = field(repr=False)
    headers: Mapping[str, str]
    accept: frozenset[int]
    #: By the monotonic clock.
    deadline: float

    @property
    def asked(self) -> str:
        """The message for sentences: without path and query, which may hold a secret."""
        return f"{self.method} {_origin(self.url)}"


@contextmanager
def _told_as_timeout(cutter: Cutter) -> Iterator[None]:
    try:
        yield
    except httpx.TransportError:
        if cutter.has_cut:
            raise httpx.ReadTimeout("the answer is too slow") from None
        raise


def _origin(url: httpx.URL) -> str:
    return str(url.copy_with(raw_path=b"/")).rstrip("/")
