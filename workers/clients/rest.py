"""Ask one HTTP API: within bounded time and size, again where that does no harm, and in sentences where it fails."""

import base64
import json
import logging
import ssl
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final, NoReturn

import httpx
import structlog
import tenacity

from orchestrator.model.codec import Codec
from workers.clients.connections import Connections
from workers.clients.http_failures import (
    HttpError,
    HttpUnavailable,
    fault_of_path,
    of_answer,
    of_transport,
    phrase,
    shown_path,
    texts_in,
)
from workers.clients.http_options import ApiOptions, Identity, fault_of_headers, misconfigured, plain_header

log = structlog.get_logger()

# Their lines hold whole URLs and the headers of answers, where secrets may be.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)

#: Asking for one of these twice is the same as once (RFC 9110, section 9.2.2).
_IDEMPOTENT: Final = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
_REDIRECTS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an API answered; a status of success."""

    #: The request, for sentences.
    asked: str
    status: int
    #: By lower-case name.
    headers: Mapping[str, str]
    content: bytes = field(repr=False)

    def document(self) -> Any:
        """Return the JSON that the answer holds; None where it is empty.

        Raises:
            HttpUnavailable: it holds something else, or what cannot be stored.
        """
        if not self.content.strip():
            return None
        try:
            document = json.loads(self.content, parse_constant=_refuse_constant)
            # Numbers too long, halves of characters and maps too deep would fail later, where nobody could tell why.
            Codec().pack(document)
        except (ValueError, OverflowError, RecursionError):
            message = f"{self.asked}: it answered {self.status} with something that is no JSON we can keep"
            raise HttpUnavailable(message) from None
        return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


class RestApi:
    """One API, seen by one project; threads may share it."""

    def __init__(
        self, options: ApiOptions, project: str, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Prepare to ask; nothing is sent yet.

        Raises:
            ClientMisconfigured: a certificate cannot be loaded, or the project's name cannot be sent.
        """
        self.options = options
        self._sleep = sleep
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "isotherm"}
        if options.project_header:
            if fault_of_headers({options.project_header: project}):
                message = f"the name of the project {project!r} can be sent in no header"
                raise misconfigured("project_header", message)
            headers[options.project_header] = project
        self._auth = _Credentials(options.identity)
        tls = _tls(options)

        def client() -> httpx.Client:
            return httpx.Client(
                headers={**headers, **options.headers},
                auth=self._auth,
                verify=tls,
                limits=httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=30.0),
                # An answer must not decide what is sent to the next resource.
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            )

        self._connections = Connections(options.max_connections, client)

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    def ask(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = False,
        keeps_body: bool = True,
    ) -> Answer:
        """Send a request and return the answer, whose status is one of success.

        Args:
            method: In upper case.
            path: What comes after the base URL, beginning with a slash; it may have a query.
            body: Sent as JSON unless it is None.
            headers: Sent besides those of the settings.
            repeatable: Whether sending it twice is the same as once although its method does not promise so.
            keeps_body: Whether the body of the answer is wanted.

        Raises:
            HttpUnavailable: it failed, and may succeed later. Unless ``undone`` or repeatable, it may have been done.
            HttpError: it failed.
        """
        wire = _Wire(
            method=method,
            url=self._url(method, path),
            body=body,
            headers=self._headers(method, path, headers or {}, has_body=body is not None),
            repeatable=repeatable or method in _IDEMPOTENT,
            keeps_body=keeps_body,
            deadline=time.monotonic() + self.options.total_seconds,
        )
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(lambda error: self._may_repeat(wire, error)),
            wait=self._pause,
            stop=tenacity.stop_after_attempt(self.options.retries + 1)
            | tenacity.stop_before_delay(self.options.total_seconds),
            sleep=self._sleep,
            reraise=True,
        )
        return retrying(self._once, wire)

    # -- trying again ------------------------------------------------------------------------------------------

    def _may_repeat(self, wire: "_Wire", error: BaseException) -> bool:
        if not isinstance(error, HttpUnavailable) or not (wire.repeatable or error.undone):
            return False
        return error.retry_after <= self.options.max_retry_after_seconds

    def _pause(self, state: tenacity.RetryCallState) -> float:
        options = self.options
        jittered = tenacity.wait_random_exponential(options.retry_base_seconds, options.retry_max_seconds)
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, HttpUnavailable) else 0.0
        return max(jittered(state), asked)

    # -- one try -----------------------------------------------------------------------------------------------

    def _url(self, method: str, path: str) -> httpx.URL:
        if fault := fault_of_path(path):
            raise HttpError(f"{method} {shown_path(path)}: {fault}")
        base = str(self.options.base_url).rstrip("/")
        try:
            return httpx.URL(f"{base}{path}")
        except httpx.InvalidURL:
            raise HttpError(f"{method} {shown_path(path)}: it makes no URL") from None

    def _headers(self, method: str, path: str, given: Mapping[str, str], *, has_body: bool) -> dict[str, str]:
        fault = fault_of_headers(given)
        own = sorted(name for name in given if plain_header(name) in self.options.own_headers)
        if not fault and own:
            fault = f"the header {own[0]!r} is what the settings say, and cannot be given"
        if fault:
            raise HttpError(f"{method} {shown_path(path)}: {fault}")
        has_type = any(plain_header(name) == "content-type" for name in given)
        return {**({"Content-Type": "application/json"} if has_body and not has_type else {}), **given}

    def _once(self, wire: "_Wire") -> Answer:
        url = wire.url
        for _ in range(_REDIRECTS + 1):
            try:
                answer, onwards = self._send(wire, url)
            except httpx.HTTPError as error:
                raise of_transport(wire.asked, error) from error
            if onwards is None:
                return answer
            url = onwards
        raise HttpError(f"{wire.asked}: there are more than {_REDIRECTS} redirects, one to the other")

    def _send(self, wire: "_Wire", url: httpx.URL) -> tuple[Answer, httpx.URL | None]:
        left = wire.deadline - time.monotonic()
        if left <= 0:
            raise httpx.ReadTimeout("no time is left")
        options = self.options
        patience = httpx.Timeout(
            connect=min(left, options.connect_seconds),
            read=min(left, options.read_seconds),
            write=min(left, options.read_seconds),
            pool=left,
        )
        with (
            self._connections.one(patience_seconds=left) as client,
            client.stream(
                wire.method, url, content=wire.content, headers=wire.headers, timeout=patience
            ) as response,
        ):
            if response.next_request is not None:
                return _NOTHING, self._followed(wire, response, response.next_request.url)
            content = self._read(wire, response)
            answer = Answer(
                asked=wire.asked,
                status=response.status_code,
                headers={name.lower(): value for name, value in response.headers.items()},
                content=content,
            )
        log.debug("asked an HTTP API", request=wire.asked, status=response.status_code)
        if not response.is_success:
            raise of_answer(wire.asked, response, content, self._secrets(wire))
        return answer, None

    def _followed(self, wire: "_Wire", response: httpx.Response, onwards: httpx.URL) -> httpx.URL:
        said = f"{wire.asked}: it answered {phrase(response.status_code)}"
        base = self.options.base_url
        if (onwards.scheme, onwards.host, onwards.port) != (base.scheme, base.host, base.port):
            raise HttpError(f"{said}, to another server, where we do not follow", response.status_code)
        if wire.method not in {"GET", "HEAD"}:
            raise HttpError(f"{said}: a redirect, which only reading follows", response.status_code)
        return onwards

    def _read(self, wire: "_Wire", response: httpx.Response) -> bytes:
        if response.headers.get("content-encoding", "identity").lower() not in {"", "identity"}:
            raise HttpError(f"{wire.asked}: it answered in an encoding that nobody asked for")
        content = bytearray()
        most = self.options.max_response_bytes
        for chunk in response.iter_raw():
            content += chunk
            if len(content) > most:
                if not wire.keeps_body or not response.is_success:
                    break
                raise HttpError(f"{wire.asked}: it answered with more than {most} bytes (max_response_bytes)")
            if time.monotonic() > wire.deadline:
                raise httpx.ReadTimeout("the answer is too slow")
        return bytes(content[:most])

    def _secrets(self, wire: "_Wire") -> list[str]:
        queried = [value for _, value in wire.url.params.multi_items()]
        given = [value for name, value in wire.headers.items() if plain_header(name) != "content-type"]
        return [*texts_in(wire.body), *given, *queried, *self._auth.used]


_NOTHING: Final = Answer(asked="", status=0, headers={}, content=b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wire:
    """A request as it is sent, once or again."""

    method: str
    url: httpx.URL
    body: Any
    headers: Mapping[str, str]
    repeatable: bool
    keeps_body: bool
    #: By the monotonic clock.
    deadline: float

    @property
    def asked(self) -> str:
        """The request for sentences: without its query, which may hold a secret."""
        return f"{self.method} {self.url.copy_with(query=None)}"

    @property
    def content(self) -> bytes | None:
        """The body as it is sent."""
        return None if self.body is None else json.dumps(self.body).encode()


class _Credentials(httpx.Auth):
    """Says who we are with every request, also once the secret in a file is another one."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        self._secret = identity.secret.read() if identity.secret else ""

    @property
    def used(self) -> tuple[str, ...]:
        """What may never be shown, in the forms in which it travels."""
        return (self._secret, *self._headers().values()) if self._secret else ()

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Send the request with the secret; if that is refused, once more with the one that is there by now."""
        request.headers.update(self._headers())
        response = yield request
        if response.status_code == HTTPStatus.UNAUTHORIZED and self._identity.secret is not None:
            secret = self._identity.secret.read()
            if secret != self._secret:
                self._secret = secret
                request.headers.update(self._headers())
                yield request

    def _headers(self) -> dict[str, str]:
        identity, secret = self._identity, self._secret
        if identity.user:
            pair = base64.b64encode(f"{identity.user}:{secret}".encode()).decode()
            return {"Authorization": f"Basic {pair}"}
        if identity.header:
            return {identity.header: secret}
        return {"Authorization": f"Bearer {secret}"} if secret else {}


def _tls(options: ApiOptions) -> ssl.SSLContext | bool:
    if options.base_url.scheme == "http":
        # Never used, and so without the certificates of the system, which take long to load.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not options.verify:
        return False
    try:
        return ssl.create_default_context(cafile=options.ca_file or None)
    except OSError as error:  # TLS errors among them
        why = error.strerror or type(error).__name__
        message = (
            f"the certificates of the API {options.name!r} cannot be loaded from {options.ca_file!r}: {why}"
        )
        raise misconfigured("ca_file", message) from error
