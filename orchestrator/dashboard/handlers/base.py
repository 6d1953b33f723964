"""What our handlers have in common: who may come in, how the store is asked, and how an error is told."""

import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, ClassVar, Final, TypeVar

from flower.views import BaseHandler
from tornado.web import Finish, HTTPError

from orchestrator.errors import InvalidInput, IsothermError, NotFound, Unavailable
from orchestrator.observation.observer import Observer

T = TypeVar("T")

#: Our pages that are about no single stack: key, word, and where each is below the list of stacks.
SECTIONS: Final = (
    ("stacks", "Stacks", ""),
    ("nodes", "Nodes", "/nodes"),
    ("cache", "Cache", "/cache"),
    ("workers", "Workers", "/workers"),
)


def status_of(error: IsothermError) -> HTTPStatus:
    """Return the status that tells a browser of an error."""
    kinds = {NotFound: HTTPStatus.NOT_FOUND, InvalidInput: HTTPStatus.BAD_REQUEST}
    kinds[Unavailable] = HTTPStatus.SERVICE_UNAVAILABLE
    return next((status for kind, status in kinds.items() if isinstance(error, kind)), HTTPStatus.CONFLICT)


class StackHandler(BaseHandler):  # type: ignore[misc]  # Flower is untyped
    """Base of all our handlers."""

    @property
    def observer(self) -> Observer:
        """What reads the store for us."""
        observer: Observer = self.application.observer
        return observer

    async def ask(self, question: Callable[[], T]) -> T:
        """Return the answer of the store; an error of ours becomes a status and a sentence.

        Raises:
            HTTPError: there is no such thing, or the store does not answer.
        """
        try:
            answer: T = await self.application.read(question)
        except IsothermError as error:
            raise HTTPError(status_of(error), "%s", str(error), reason=status_of(error).phrase) from error
        return answer

    def text(self, name: str, default: str = "") -> str:
        """Return an argument as it was sent."""
        sent: str = self.get_argument(name, default, escape=False)
        return sent


class PageHandler(StackHandler):
    """A page: whoever is not logged in is sent to log in."""

    #: Which of our pages the navigation shows as open.
    section: ClassVar[str] = "stacks"

    def prepare(self) -> None:
        """Let those in alone who may."""
        if not self.get_current_user():
            self.redirect(self.get_login_url())
            raise Finish

    def page(self, template: str, **values: Any) -> None:
        """Render one of our templates."""
        self.render(f"stacks/{template}", section=self.section, sections=SECTIONS, **values)


class DataHandler(StackHandler):
    """JSON for scripts: whoever is not logged in gets 401, for a redirect would lead a script astray."""

    def prepare(self) -> None:
        """Let those in alone who may."""
        self.set_header("Cache-Control", "no-store")
        if not self.get_current_user():
            raise HTTPError(HTTPStatus.UNAUTHORIZED)

    def answer(self, value: Any) -> None:
        """Send a value as JSON."""
        self.set_header("Content-Type", "application/json; charset=UTF-8")
        self.finish(json.dumps(value, separators=(",", ":")))

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Tell an error as JSON: ``{"error": SENTENCE}``."""
        error = kwargs.get("exc_info", (None, None))[1]
        told = error.get_message() if isinstance(error, HTTPError) else ""
        if status_code == HTTPStatus.UNAUTHORIZED and self.application.options.basic_auth:
            self.set_header("WWW-Authenticate", 'Basic realm="flower"')
        self.answer({"error": told or HTTPStatus(status_code).phrase})
