"""Base classes of our handlers: access, queries to the store, and error answers.

Our pages accept scripts and styles only from files of this server: the text of a template, a reason or a name can never
be executed. What keeps other sites out is in :mod:`orchestrator.dashboard.guards`.
"""

import gzip
import json
from abc import abstractmethod
from base64 import b64decode
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar, Final, TypeVar
from urllib.parse import urlencode, urlsplit

from flower.views import BaseHandler
from tornado.web import Finish, HTTPError

from orchestrator.config.logger import get_logger
from orchestrator.dashboard.access import Visitor, powers, role_refusal
from orchestrator.dashboard.credentials import identity_of
from orchestrator.dashboard.guards import POLICY
from orchestrator.dashboard.packing import is_accepted
from orchestrator.dashboard.plain_errors import plain_sentence
from orchestrator.errors import InvalidInput, IsothermError, NotFound, Unavailable
from orchestrator.queries.observer import Observer

T = TypeVar("T")

log = get_logger()

#: Shorter answers are not compressed.
_PACKED_BYTES: Final = 1024
#: gzip's level: half the time of the best compression, and a tenth larger.
_PACKING: Final = 5
#: Our pages that are not about a single stack: key, title, and path below the list of stacks.
SECTIONS: Final = (
    ("stacks", "Stacks", ""),
    ("attention", "Attention", "/attention"),
    ("nodes", "Nodes", "/nodes"),
    ("cache", "Cache", "/cache"),
    ("workers", "Workers", "/workers"),
    ("types", "Types", "/types"),
)
_encode: Final = json.JSONEncoder(separators=(",", ":")).encode
NOT_LOGGED_IN: Final = "you are not logged in, or not any more: load the page again"
UNFORESEEN: Final = "an unexpected error; see the dashboard's log"


def status_of(error: IsothermError) -> HTTPStatus:
    """Return the HTTP status of an error."""
    kinds = {NotFound: HTTPStatus.NOT_FOUND, InvalidInput: HTTPStatus.BAD_REQUEST}
    kinds[Unavailable] = HTTPStatus.SERVICE_UNAVAILABLE
    return next((status for kind, status in kinds.items() if isinstance(error, kind)), HTTPStatus.CONFLICT)


def http_error(error: IsothermError) -> HTTPError:
    """Return the HTTP error with an error's status and sentence; the message of a server or a driver is only logged."""
    status, sentence = status_of(error), plain_sentence(error)
    if sentence != str(error):
        log.warning("a service cannot be reached", error=str(error))
    return HTTPError(status, "%s", sentence, reason=status.phrase)


def name_in(authorization: str) -> str:
    """Return the name in a header of basic authentication; empty if there is none."""
    try:
        kind, credentials = authorization.split()
        name = b64decode(credentials.encode()).decode().partition(":")[0]
    except ValueError:
        return ""
    return name if kind == "Basic" else ""


def without_nul(part: str) -> str:
    """Return a part of an address unchanged.

    Raises:
        HTTPError: it has a NUL, which neither databases nor file systems accept.
    """
    if "\0" in part:
        raise HTTPError(
            HTTPStatus.NOT_FOUND, "%s", "there is nothing at this address: no name has a NUL in it"
        )
    return part


@dataclass(frozen=True, slots=True)
class Written:
    """An encoded answer."""

    data: bytes
    is_packed: bool


def written(value: Mapping[str, object], *, packs: bool) -> Written:
    """Return a value encoded as JSON, compressed if ``packs`` and it is large enough."""
    # Member by member: a single call that encodes millions of characters would block all other threads.
    members = (f"{_encode(name)}:{_member(each)}" for name, each in value.items())
    data = f"{{{','.join(members)}}}".encode()
    is_packed = packs and len(data) >= _PACKED_BYTES
    return Written(gzip.compress(data, _PACKING) if is_packed else data, is_packed)


def _member(value: object) -> str:
    return f"[{','.join(map(_encode, value))}]" if isinstance(value, list | tuple) else _encode(value)


class Known(BaseHandler):  # type: ignore[misc]  # Flower is untyped
    """Mixin that identifies the visitor."""

    def get_current_user(self) -> object:
        """Return Flower's current user, or the name of the one whom the authenticator has identified.

        Raises:
            HTTPError: the credentials are not ASCII, and therefore wrong.
        """
        if (identity := identity_of(self.request)) is not None:
            return identity.user
        try:
            return super().get_current_user()
        except TypeError as error:
            # hmac compares only ASCII.
            raise HTTPError(HTTPStatus.UNAUTHORIZED) from error

    def check_xsrf_cookie(self) -> None:
        """Refuse requests that a page of another site makes a browser send, with the credentials that it keeps.

        Raises:
            HTTPError: it is one.
        """
        if self.application.mode.tokens:
            sent = self.request.headers
            site, origin = sent.get("Sec-Fetch-Site"), sent.get("Origin")
            is_foreign = (
                site != "same-origin" if site else origin and urlsplit(origin).netloc != self.request.host
            )
            if is_foreign:
                raise HTTPError(HTTPStatus.FORBIDDEN, "%s", "a request of another site is refused")
        super().check_xsrf_cookie()

    @property
    def visitor(self) -> Visitor:
        """The user behind the request, with the role."""
        if (identity := identity_of(self.request)) is not None:
            return Visitor.with_identity(self.application.mode, identity)
        user = self.current_user
        name = user if isinstance(user, str) else name_in(self.request.headers.get("Authorization", ""))
        return Visitor.of(self.application.mode, name if user else "")


class StackHandler(Known):
    """Base of all our handlers."""

    #: The operation of the policy whose role the visitor needs.
    operation: ClassVar[str] = "stack.read"

    def set_default_headers(self) -> None:
        """Set the policy of our pages, which is stricter than that of Flower's."""
        super().set_default_headers()
        self.set_header("Content-Security-Policy", POLICY)

    def decode_argument(self, value: bytes, name: str | None = None) -> str:
        """Return a part of an address, or an argument, as text.

        Raises:
            HTTPError: it is not UTF-8, or has a NUL.
        """
        decoded: str = super().decode_argument(value, name)
        if name and "\0" in decoded:
            message = f"the argument {name!r} has a NUL, which no database stores"
            raise HTTPError(HTTPStatus.BAD_REQUEST, "%s", message)
        return decoded if name else without_nul(decoded)

    def require_role(self) -> None:
        """Require that the visitor's role allows to see this.

        Raises:
            HTTPError: it does not.
        """
        refused = role_refusal(self.application.mode, self.visitor, self.operation)
        if refused:
            identity = self.visitor.identity(self.application.mode)
            self.application.record(identity, self.operation, self.request, refused)
            raise HTTPError(refused.status, "%s", refused.sentence)

    @property
    def observer(self) -> Observer:
        """The observer, which reads the store."""
        observer: Observer = self.application.observer
        return observer

    def powers(self, stack: str = "") -> dict[str, Any]:
        """Return the visitor's rights, as :func:`orchestrator.dashboard.access.powers`."""
        return powers(self.application.mode, self.visitor, stack)

    async def fetch(self, question: Callable[[], T], *, alike: Hashable = None) -> T:
        """Return the result of a query to the store; concurrent queries with the same key ``alike`` share it.

        Raises:
            HTTPError: the queried object does not exist, or the store does not answer.
        """
        pending = (
            self.application.read(question)
            if alike is None
            else self.application.answers.get(alike, question)
        )
        try:
            answer: T = await pending
        except IsothermError as error:
            raise http_error(error) from error
        return answer

    def text(self, name: str, default: str = "") -> str:
        """Return an argument as it was sent."""
        sent: str = self.get_argument(name, default, escape=False)
        return sent

    def arguments(self) -> dict[str, str]:
        """Return all arguments of the query as they were sent."""
        return {name: self.text(name) for name in self.request.query_arguments}

    def sentence_of(self, status_code: int, error: BaseException | None) -> str:
        """Return the sentence that is shown for an error; details of unexpected errors are only logged."""
        if isinstance(error, HTTPError):
            # Flower refuses wrong credentials without a message.
            otherwise = (
                NOT_LOGGED_IN if status_code == HTTPStatus.UNAUTHORIZED else HTTPStatus(status_code).phrase
            )
            return error.get_message() or otherwise
        return UNFORESEEN

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Answer with a sentence, never with a traceback."""
        if not hasattr(self, "_current_user"):
            # An error page must not evaluate the refused credentials again.
            self.current_user: Any = None
        mode = self.application.mode
        if status_code == HTTPStatus.UNAUTHORIZED and (mode.users or mode.tokens):
            # The browser asks for a name and a password.
            self.set_header("WWW-Authenticate", 'Basic realm="flower"')
        self.show_error(status_code, self.sentence_of(status_code, kwargs.get("exc_info", (None, None))[1]))

    @abstractmethod
    def show_error(self, status_code: int, sentence: str) -> None:
        """Send an error as a page or as data."""


class PageHandler(StackHandler):
    """A page; visitors who are not logged in are redirected to the login."""

    #: The section that the navigation shows as current.
    section: str = "stacks"

    def prepare(self) -> None:
        """Check that the visitor is logged in.

        Raises:
            Finish: the visitor was redirected to the login.
            HTTPError: the credentials are refused.
        """
        if not self.current_user:
            self.redirect(f"{self.get_login_url()}?{urlencode({'next': self.request.uri})}")
            raise Finish
        self.require_role()

    def page(self, template: str, **values: object) -> None:
        """Render one of our templates."""
        # An error page is also for visitors who may see nothing.
        findings = None if template == "error.html" else self.application.attention.total
        self.render(
            f"stacks/{template}", section=self.section, sections=SECTIONS, findings=findings, **values
        )

    def show_error(self, status_code: int, sentence: str) -> None:
        """Render an error page."""
        self.page("error.html", status=HTTPStatus(status_code), sentence=sentence)


class DataHandler(StackHandler):
    """JSON for scripts; visitors who are not logged in get 401, because scripts would follow a redirect."""

    def prepare(self) -> None:
        """Check that the visitor is logged in.

        Raises:
            HTTPError: the credentials are refused.
        """
        if not self.current_user:
            raise HTTPError(HTTPStatus.UNAUTHORIZED, "%s", NOT_LOGGED_IN)
        self.require_role()

    def answer(self, value: Mapping[str, object]) -> None:
        """Send a value as JSON, compressed if the client accepts that and it is large enough."""
        self._send(written(value, packs=is_accepted(self.request)))

    async def reply(self, question: Callable[[], Mapping[str, object]]) -> None:
        """Send the result of a query to the store, which is encoded and compressed in the reading thread.

        Only for results that are the same for all visitors: concurrent requests for an address share the answer.

        Raises:
            HTTPError: as :meth:`fetch`.
        """
        packs = is_accepted(self.request)
        alike = self.request.path, self.request.query, packs
        self._send(await self.fetch(lambda: written(question(), packs=packs), alike=alike))

    def _send(self, text: Written) -> None:
        self.set_header("Content-Type", "application/json; charset=UTF-8")
        self.set_header("Vary", "Accept-Encoding")
        if text.is_packed:
            self.set_header("Content-Encoding", "gzip")
        self.finish(text.data)

    def show_error(self, status_code: int, sentence: str) -> None:  # noqa: ARG002  # it is in the status line
        """Send an error as JSON: ``{"error": SENTENCE}``."""
        self.answer({"error": sentence})
