"""The REST client of client plugins and resource types: one HTTP API, with failures as sentences."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

import httpx

from hooks.http import outcome
from hooks.http.client import BoundedClient, Request
from hooks.http.outcome import RequestFailed, phrase, words_of_system
from hooks.values.dataclass import dataclass
from hooks.values.secret_texts import texts_in
from orchestrator.config.logger import get_logger
from orchestrator.model.codec import plain
from workers.clients.http_failures import (
    PASSING,
    HttpError,
    HttpUnavailable,
    fault_of_path,
    shown_path,
    shown_text,
)
from workers.clients.http_options import ApiOptions, fault_of_headers, misconfigured, plain_header

log = get_logger()

#: Methods that are idempotent (RFC 9110, section 9.2.2).
_IDEMPOTENT: Final = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(outcome.Answer):
    """An API's answer with a status of success."""

    #: The request, for messages.
    asked: str

    def document(self) -> Any:
        """Return the JSON in the answer; None where it is empty.

        Raises:
            HttpUnavailable: it is no JSON, or cannot be stored.
        """
        try:
            document = outcome.Answer.document(self)
            # Numbers too long, lone surrogates and maps too deep would fail later, with no hint at their origin.
            plain(document)
        except (RequestFailed, ValueError, OverflowError, RecursionError):
            message = f"{self.asked}: it answered {self.status} with something that is no JSON we can keep"
            raise HttpUnavailable(message) from None
        return document


class RestApi:
    """One API, as one project sees it; thread-safe."""

    def __init__(self, options: ApiOptions, project: str, before: Callable[[], None] = lambda: None) -> None:
        """Prepare the connection; nothing is sent yet. ``before`` is called before each request.

        Raises:
            ClientMisconfigured: a certificate or a secret cannot be loaded, or the project's name cannot be sent.
        """
        self.options = options
        own = {options.project_header: project} if options.project_header else {}
        if fault_of_headers(own):
            message = f"the name of the project {project!r} can be sent in no header"
            raise misconfigured("project_header", message)
        self._secret = options.identity.read()
        try:
            self._client = BoundedClient(
                options,
                headers={**own, **options.headers},
                secure=options.base_url.scheme == "https",
                read_seconds=options.read_seconds,
                max_connections=options.max_connections,
                max_retry_after_seconds=options.max_retry_after_seconds,
                passing=PASSING,
                before=before,
            )
        except ValueError as error:
            message = f"the certificates of the API {options.name!r} cannot be loaded from {error}"
            raise misconfigured("ca_file", message) from error

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

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
            path: Follows the base URL, beginning with a slash; it may have a query.
            body: Sent as JSON unless it is None.
            headers: Sent besides those of the settings.
            repeatable: Whether sending it twice has the same effect as once although its method does not promise that.
            keeps_body: Whether the body of the answer is needed.

        Raises:
            HttpUnavailable: it failed temporarily. Unless ``undone`` or repeatable, it may have been carried out.
            HttpError: it failed.
        """
        given = dict(headers or {})
        if fault := fault_of_path(path) or self._fault_of(given):
            raise HttpError(f"{method} {shown_path(path)}: {fault}")
        if body is not None and "content-type" not in map(plain_header, given):
            given["Content-Type"] = "application/json"
        url = self._url(method, path)
        asked = f"{method} {url.copy_with(query=None)}"
        request = Request(
            method=method,
            url=url,
            content=None if body is None else json.dumps(body).encode(),
            headers=given,
            signed=lambda: self.options.identity.headers(self._secret),
            repeatable=repeatable or method in _IDEMPOTENT,
            cut=not keeps_body,
            redirected=lambda status, onwards: self._refuse_astray(method, status, onwards),
        )
        try:
            answer = self._sent(request)
            if _is_packed(answer):
                raise RequestFailed("it answered in an encoding that nobody asked for")
        except RequestFailed as error:
            log.debug("called an HTTP API", request=asked, status=error.status)
            raise self._failure(asked, request, body, error) from error
        log.debug("called an HTTP API", request=asked, status=answer.status)
        return Answer(asked=asked, status=answer.status, headers=answer.headers, content=answer.content)

    def _sent(self, request: Request) -> outcome.Answer:
        until = time.monotonic() + self.options.total_seconds
        try:
            return self._client.send(request)
        except RequestFailed as error:
            if error.status != HTTPStatus.UNAUTHORIZED:
                raise
            before, self._secret = self._secret, self.options.identity.read()
            if before == self._secret:
                raise
            return self._client.send(replace(request, within_seconds=until - time.monotonic()))

    def _url(self, method: str, path: str) -> httpx.URL:
        base = str(self.options.base_url).rstrip("/")
        try:
            return httpx.URL(f"{base}{path}")
        except httpx.InvalidURL:
            raise HttpError(f"{method} {shown_path(path)}: it makes no URL") from None

    def _fault_of(self, headers: Mapping[str, str]) -> str:
        own = sorted(name for name in headers if plain_header(name) in self.options.own_headers)
        fault = f"the header {own[0]!r} is what the settings say, and cannot be given" if own else ""
        return fault_of_headers(headers) or fault

    def _refuse_astray(self, method: str, status: int, onwards: httpx.URL) -> None:
        """Refuse a redirect, unless it is one of a read, to the same server."""
        base = self.options.base_url
        if (onwards.scheme, onwards.host, onwards.port) != (base.scheme, base.host, base.port):
            why = ", to another server, where we do not follow"
        elif method not in {"GET", "HEAD"}:
            why = ": a redirect, which only reading follows"
        else:
            return
        raise RequestFailed(f"it answered {phrase(status)}{why}", status)

    def secrets(self) -> tuple[str, ...]:
        """Return the credential as it was read last, and the headers that hold it."""
        return (self._secret, *self.options.identity.headers(self._secret).values())

    def _failure(self, asked: str, request: Request, body: object, error: RequestFailed) -> HttpError:
        why = str(error)
        if error.answer is not None and error.status:
            queried = [value for _, value in request.url.params.multi_items()]
            given = [value for name, value in request.headers.items() if plain_header(name) != "content-type"]
            own = self.secrets()
            words = "" if _is_packed(error.answer) else error.answer.content.decode(errors="replace")
            text = shown_text(words, [*texts_in(body), *given, *queried, *own])
            why = f"it answered {phrase(error.status)}{': ' if text else ''}{text}"
        elif error.passing and (system := words_of_system(error.__cause__)):
            why = f"cannot connect: {system}"
        kind = HttpUnavailable if error.passing else HttpError
        return kind(f"{asked}: {why}", error.status, undone=error.undone, answer=error.answer)


def _is_packed(answer: outcome.Answer) -> bool:
    return answer.headers.get("content-encoding", "identity").lower() not in {"", "identity"}
