"""What our handlers have in common: who may come in, how the store is asked, and how an error is told.

Our pages run no script and take no style but those in files of this server: what a template, a reason or a name holds
can never become either. No other site may read what we answer, whatever Flower lets it do.
"""

import gzip
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from typing import Any, ClassVar, Final, TypeVar
from urllib.parse import urlencode

from flower.views import BaseHandler
from tornado.web import Finish, HTTPError

from orchestrator.dashboard.access import Visitor, host_refusal, powers
from orchestrator.errors import InvalidInput, IsothermError, NotFound, Unavailable
from orchestrator.queries.observer import Observer

T = TypeVar("T")

#: The one rule of style that Cytoscape.js puts into a page; it is let in by its hash.
CYTOSCAPE_STYLE: Final = ".__________cytoscape_container { position: relative; }"
_ITS_HASH: Final = b64encode(sha256(CYTOSCAPE_STYLE.encode()).digest()).decode()
#: Pictures may be in the style sheets themselves, as Bootstrap's are.
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        f"style-src 'self' 'sha256-{_ITS_HASH}'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
#: What would let other sites read us.
_OPENINGS: Final = ("Origin", "Headers", "Methods")
#: Shorter answers gain nothing by being packed.
_PACKED_BYTES: Final = 1024
#: Half the time of the best, and a tenth larger.
_PACKING: Final = 5
#: Our pages that are about no single stack: key, word, and where each is below the list of stacks.
SECTIONS: Final = (
    ("stacks", "Stacks", ""),
    ("nodes", "Nodes", "/nodes"),
    ("cache", "Cache", "/cache"),
    ("workers", "Workers", "/workers"),
)
_encode: Final = json.JSONEncoder(separators=(",", ":")).encode
NOT_LOGGED_IN: Final = "you are not logged in, or not any more: load the page again"
UNFORESEEN: Final = "something went wrong that nobody foresaw; the dashboard's log says what"


def status_of(error: IsothermError) -> HTTPStatus:
    """Return the status that tells a browser of an error."""
    kinds = {NotFound: HTTPStatus.NOT_FOUND, InvalidInput: HTTPStatus.BAD_REQUEST}
    kinds[Unavailable] = HTTPStatus.SERVICE_UNAVAILABLE
    return next((status for kind, status in kinds.items() if isinstance(error, kind)), HTTPStatus.CONFLICT)


def told(error: IsothermError) -> HTTPError:
    """Return what tells a browser of an error: its status and its sentence."""
    status = status_of(error)
    return HTTPError(status, "%s", str(error), reason=status.phrase)


def name_in(authorization: str) -> str:
    """Return the name in a header of basic authentication; empty if there is none."""
    try:
        kind, credentials = authorization.split()
        name = b64decode(credentials.encode()).decode().partition(":")[0]
    except ValueError:
        return ""
    return name if kind == "Basic" else ""


def without_nul(part: str) -> str:
    """Return a part of an address.

    Raises:
        HTTPError: it has a NUL, which neither databases nor file systems take.
    """
    if "\0" in part:
        raise HTTPError(
            HTTPStatus.NOT_FOUND, "%s", "there is nothing at this address: no name has a NUL in it"
        )
    return part


@dataclass(frozen=True, slots=True)
class Written:
    """An answer as it is sent."""

    data: bytes
    is_packed: bool


def written(value: Mapping[str, Any], *, packs: bool) -> Written:
    """Return a value as JSON, packed if it may be and that is worth it."""
    # Member by member: other threads, as the loop's, have to wait while one call writes millions of characters.
    members = (f"{_encode(name)}:{_member(each)}" for name, each in value.items())
    data = f"{{{','.join(members)}}}".encode()
    is_packed = packs and len(data) >= _PACKED_BYTES
    return Written(gzip.compress(data, _PACKING) if is_packed else data, is_packed)


def _member(value: Any) -> str:
    return f"[{','.join(map(_encode, value))}]" if isinstance(value, list | tuple) else _encode(value)


class Known(BaseHandler):  # type: ignore[misc]  # Flower is untyped
    """Knows who asks."""

    def get_current_user(self) -> Any:
        """Return what Flower returns; credentials that it cannot even compare are wrong ones."""
        try:
            return super().get_current_user()
        except TypeError as error:
            # hmac compares ASCII alone.
            raise HTTPError(HTTPStatus.UNAUTHORIZED) from error

    @property
    def visitor(self) -> Visitor:
        """Who asks, and what they are to the dashboard."""
        user = self.current_user
        name = user if isinstance(user, str) else name_in(self.request.headers.get("Authorization", ""))
        return Visitor.of(self.application.mode, name if user else "")


class StackHandler(Known):
    """Base of all our handlers."""

    def set_default_headers(self) -> None:
        """Close our answers to other sites, and to what is not ours within them."""
        super().set_default_headers()
        for each in _OPENINGS:
            self.clear_header(f"Access-Control-Allow-{each}")
        self.set_header("Content-Security-Policy", POLICY)
        self.set_header("Referrer-Policy", "same-origin")
        self.set_header("Cache-Control", "no-store")

    def decode_argument(self, value: bytes, name: str | None = None) -> str:
        """Return a part of an address, or an argument, as text.

        Raises:
            HTTPError: it is no text, or a part of an address that no name can be.
        """
        decoded: str = super().decode_argument(value, name)
        return decoded if name else without_nul(decoded)

    def check_host(self) -> None:
        """Answer nothing under a name that may be another site's.

        Raises:
            HTTPError: it may be.
        """
        refused = host_refusal(self.application.mode, self.request.host_name)
        if refused:
            raise HTTPError(refused.status, "%s", refused.sentence)

    @property
    def observer(self) -> Observer:
        """What reads the store for us."""
        observer: Observer = self.application.observer
        return observer

    def powers(self, stack: str = "") -> dict[str, Any]:
        """Return what the visitor may do, as :func:`orchestrator.dashboard.access.powers` tells it."""
        return powers(self.application.mode, self.visitor, stack)

    async def ask(self, question: Callable[[], T], *, alike: Hashable = None) -> T:
        """Return the answer of the store; an error of ours becomes a status and a sentence.

        Args:
            question: Asks the store.
            alike: What tells this question from others; those who ask the same at once get the same answer. None: it
                is asked for this visitor alone.

        Raises:
            HTTPError: there is no such thing, or the store does not answer.
        """
        asked = (
            self.application.read(question)
            if alike is None
            else self.application.answers.get(alike, question)
        )
        try:
            answer: T = await asked
        except IsothermError as error:
            raise told(error) from error
        return answer

    def text(self, name: str, default: str = "") -> str:
        """Return an argument as it was sent."""
        sent: str = self.get_argument(name, default, escape=False)
        return sent

    def sentence_of(self, status_code: int, error: BaseException | None) -> str:
        """Return what a person is told of an error: nothing that was not written for people."""
        if isinstance(error, HTTPError):
            # Flower refuses without a word whose name and password are wrong.
            otherwise = (
                NOT_LOGGED_IN if status_code == HTTPStatus.UNAUTHORIZED else HTTPStatus(status_code).phrase
            )
            return error.get_message() or otherwise
        return UNFORESEEN

    def ask_for_credentials(self, status_code: int) -> None:
        """Have the browser ask for a name and a password, where that is how one comes in."""
        if status_code == HTTPStatus.UNAUTHORIZED and self.application.mode.users:
            self.set_header("WWW-Authenticate", 'Basic realm="flower"')

    def without_visitor(self) -> None:
        """Make sure that to tell an error asks nobody again for what was refused just now."""
        if not hasattr(self, "_current_user"):
            self.current_user = None


class PageHandler(StackHandler):
    """A page: whoever is not logged in is sent to log in."""

    #: Which of our pages the navigation shows as open.
    section: ClassVar[str] = "stacks"

    def prepare(self) -> None:
        """Let those in alone who may."""
        self.check_host()
        if not self.current_user:
            self.redirect(f"{self.get_login_url()}?{urlencode({'next': self.request.uri})}")
            raise Finish

    def page(self, template: str, **values: Any) -> None:
        """Render one of our templates."""
        self.render(f"stacks/{template}", section=self.section, sections=SECTIONS, **values)

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Tell an error as a page: what went wrong, never where in the program."""
        self.without_visitor()
        self.ask_for_credentials(status_code)
        sentence = self.sentence_of(status_code, kwargs.get("exc_info", (None, None))[1])
        self.page("error.html", status=HTTPStatus(status_code), sentence=sentence)


class DataHandler(StackHandler):
    """JSON for scripts: whoever is not logged in gets 401, for a redirect would lead a script astray."""

    def prepare(self) -> None:
        """Let those in alone who may."""
        self.check_host()
        if not self.current_user:
            raise HTTPError(HTTPStatus.UNAUTHORIZED, "%s", NOT_LOGGED_IN)

    def answer(self, value: Mapping[str, Any]) -> None:
        """Send a value as JSON, packed if that was asked for and is worth it."""
        self._send(written(value, packs=self._may_pack()))

    async def reply(self, question: Callable[[], Mapping[str, Any]]) -> None:
        """Send the answer of the store, which may be long: it is written and packed where the store is read.

        Only what everybody who may look is answered alike at this address: those who ask at once are sent the same.

        Raises:
            HTTPError: as of :meth:`ask`.
        """
        packs = self._may_pack()
        alike = self.request.path, self.request.query, packs
        self._send(await self.ask(lambda: written(question(), packs=packs), alike=alike))

    def _may_pack(self) -> bool:
        return "gzip" in self.request.headers.get("Accept-Encoding", "")

    def _send(self, text: Written) -> None:
        self.set_header("Content-Type", "application/json; charset=UTF-8")
        self.set_header("Vary", "Accept-Encoding")
        if text.is_packed:
            self.set_header("Content-Encoding", "gzip")
        self.finish(text.data)

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Tell an error as JSON: ``{"error": SENTENCE}``."""
        self.without_visitor()
        self.ask_for_credentials(status_code)
        self.answer({"error": self.sentence_of(status_code, kwargs.get("exc_info", (None, None))[1])})
