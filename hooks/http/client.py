"""The HTTP client: bounded in time and size, with retries where they are harmless, and no secret in any message.

Hooks, client plugins and the fetching of templates use it; each raises errors of its own, and names requests
in its own way.
"""

import logging
import math
import ssl
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final

import httpx
import tenacity

from hooks.http.cutting import Cutter
from hooks.http.options import HttpOptions
from hooks.http.outcome import NEVER_SENT, Answer, RequestFailed, of_transport
from hooks.http.permitted import PermittedTransport
from hooks.http.targets import NotATarget, Targets
from hooks.values.dataclass import dataclass

# httpx logs whole URLs and headers, which may hold secrets.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)

#: Statuses of failures that may be temporary.
PASSING: Final = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS, *range(500, 600)}
) - {HTTPStatus.NOT_IMPLEMENTED}
#: The limit of redirects of one request.
_REDIRECTS: Final = 5
#: The margin by which httpx's own time-outs come first, where they apply.
_MARGIN_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request, which may be sent more than once."""

    method: str
    url: httpx.URL = field(repr=False)
    content: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Returns further headers, anew for each attempt: those that sign it.
    signed: Callable[[], Mapping[str, str]] = dict
    #: Accepted statuses, besides those of success.
    accept: Collection[int] = ()
    #: Whether sending it twice has the same effect as once.
    repeatable: bool = True
    #: Whether an answer that is too long is truncated instead of refused.
    cut: bool = False
    #: Raises where a redirect, of a status, to a URL, must not be followed: its target receives the same headers.
    #: None: redirects are not followed.
    redirected: Callable[[int, httpx.URL], object] | None = None
    #: The limit of all attempts together, if the options allow more.
    within_seconds: float = math.inf


class BoundedClient:
    """Sends requests; thread-safe."""

    def __init__(
        self,
        options: HttpOptions,
        *,
        headers: Mapping[str, str] | None = None,
        secure: bool = True,
        targets: Targets | None = None,
        read_seconds: float = math.inf,
        max_connections: int = sys.maxsize,
        max_retry_after_seconds: float = math.inf,
        passing: Collection[int] = PASSING,
        sleep: Callable[[float], None] = time.sleep,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare the connections; nothing is sent yet.

        Args:
            options: Time-outs, retries and trust.
            headers: Sent with every request.
            secure: Whether TLS may be used.
            targets: Where requests may go, redirects included; None: anywhere, and by proxies of the environment.
            read_seconds: The longest wait for the next bytes.
            max_connections: The limit of concurrent requests.
            max_retry_after_seconds: A longer Retry-After is not waited for.
            passing: The statuses after which a request may be retried.
            sleep: Pauses between attempts.
            before: Called before each request is sent, retries and redirects included; what it raises ends the call.

        Raises:
            ValueError: certificates cannot be loaded.
        """
        self._options, self._passing, self._sleep, self._before = options, passing, sleep, before
        self._read_seconds, self._max_retry_after_seconds = read_seconds, max_retry_after_seconds
        self._targets = targets
        self._headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "isotherm",
            **(headers or {}),
        }
        # Without TLS, the system's certificates, which take long to load, are not loaded.
        self._tls = options.tls() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # A client of httpx that threads share now and then closes a connection on which another thread has just begun:
        # its pool takes a received answer for the end of an idle connection. So each client has one
        # connection, and is used by one thread at a time.
        self._free: deque[tuple[httpx.Client, Cutter]] = deque()
        self._room = threading.Semaphore(max_connections)

    def close(self) -> None:
        """Close the idle connections; sending opens new ones."""
        while self._free:
            self._free.pop()[0].close()

    def send(self, request: Request) -> Answer:
        """Send a request and return the answer: one of success, or with an accepted status.

        Raises:
            RequestFailed: the request failed; unless ``undone``, the server may have received it, once or more often.
        """
        total_seconds = min(self._options.total_seconds, request.within_seconds)
        deadline = time.monotonic() + total_seconds
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(lambda error: self._may_repeat(request, error)),
            wait=self._pause,
            stop=tenacity.stop_after_attempt(self._options.retries + 1)
            | tenacity.stop_before_delay(total_seconds),
            sleep=self._sleep,
            reraise=True,
        )
        return retrying(self._once, request, deadline)

    def _may_repeat(self, request: Request, error: BaseException) -> bool:
        return (
            isinstance(error, RequestFailed)
            and error.passing
            and (request.repeatable or error.undone)
            and error.retry_after <= self._max_retry_after_seconds
        )

    def _pause(self, state: tenacity.RetryCallState) -> float:
        options = self._options
        jittered = tenacity.wait_random_exponential(options.retry_base_seconds, options.retry_max_seconds)
        error = state.outcome.exception() if state.outcome else None
        return max(jittered(state), error.retry_after if isinstance(error, RequestFailed) else 0.0)

    def _once(self, request: Request, deadline: float) -> Answer:
        headers = {**request.headers, **request.signed()}
        url = request.url
        for _ in range(_REDIRECTS + 1):
            self._before()
            try:
                answer, onwards = self._exchange(request, url, headers, deadline)
            except NotATarget as error:
                raise RequestFailed(str(error), undone=True) from None
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                is_cut = time.monotonic() > deadline and not isinstance(error, NEVER_SENT)
                cause = httpx.ReadTimeout("the answer is too slow") if is_cut else error
                raise of_transport(cause) from cause
            if onwards is None or request.redirected is None:
                return self._judged(request, answer)
            request.redirected(answer.status, onwards)
            url = onwards
        raise RequestFailed(f"there are more than {_REDIRECTS} redirects, one to the other", answer=answer)

    def _judged(self, request: Request, answer: Answer) -> Answer:
        if 200 <= answer.status < 300 or answer.status in request.accept:
            return answer
        raise RequestFailed(
            f"it answered {answer.status}",
            answer.status,
            passing=answer.status in self._passing,
            undone=answer.status == HTTPStatus.TOO_MANY_REQUESTS,
            answer=answer,
        )

    def _exchange(
        self, request: Request, url: httpx.URL, headers: Mapping[str, str], deadline: float
    ) -> tuple[Answer, httpx.URL | None]:
        with self._connection(deadline - time.monotonic()) as (client, cutter):
            left = deadline - time.monotonic()
            if left <= 0:
                raise httpx.ReadTimeout("no time is left")
            patience = httpx.Timeout(
                min(left, self._read_seconds), connect=min(left, self._options.connect_seconds)
            )
            with (
                cutter.within(left + _MARGIN_SECONDS),
                client.stream(
                    request.method,
                    url,
                    content=request.content,
                    headers=headers,
                    timeout=patience,
                    extensions={"trace": cutter.trace},
                ) as response,
            ):
                onwards = response.next_request.url if response.next_request else None
                is_followed = onwards is not None and request.redirected is not None
                return Answer(
                    status=response.status_code,
                    headers={name.lower(): value for name, value in response.headers.items()},
                    # The body of a redirect may be endless.
                    content=b"" if is_followed else self._read(request, response, deadline),
                ), onwards

    def _read(self, request: Request, response: httpx.Response, deadline: float) -> bytes:
        content = bytearray()
        most = self._options.max_response_bytes
        for chunk in response.iter_raw():
            content += chunk
            if len(content) > most:
                if request.cut or not response.is_success:
                    break
                raise RequestFailed(f"it answered with more than {most} bytes (max_response_bytes)")
            if time.monotonic() > deadline:
                raise httpx.ReadTimeout("the answer is too slow")
        return bytes(content[:most])

    @contextmanager
    def _connection(self, patience_seconds: float) -> Iterator[tuple[httpx.Client, Cutter]]:
        if not self._room.acquire(timeout=patience_seconds):
            raise httpx.PoolTimeout("all connections are in use")
        try:
            try:
                # The last used one is the most likely to be still open.
                connection = self._free.pop()
            except IndexError:
                connection = self._new()
            try:
                yield connection
            finally:
                self._free.append(connection)
        finally:
            self._room.release()

    def _new(self) -> tuple[httpx.Client, Cutter]:
        limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=30.0)
        try:
            client = httpx.Client(
                headers=self._headers,
                verify=self._tls,
                limits=limits,
                # httpx reads the proxies of the environment only without a transport.
                transport=PermittedTransport(self._targets, self._tls, limits) if self._targets else None,
                # Cookies of an answer must not be sent with the next request.
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            )
        except (ImportError, ValueError, httpx.InvalidURL):
            raise RequestFailed("the environment names a proxy that cannot be used") from None
        return client, Cutter()
