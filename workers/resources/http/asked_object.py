"""The exchange with a REST API about one object: requests, readings, waits and refusals."""

from collections.abc import Mapping
from typing import Any, Final

from hooks.values.secret_texts import texts_in
from orchestrator.errors import PluginMistake
from orchestrator.plugins.constraints import shown
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import ResourceFailure, RetryableFailure, Wait
from workers.clients.http import HttpClient
from workers.clients.http_failures import HttpError, HttpUnavailable, shown_text
from workers.clients.rest import Answer
from workers.resources.http.answers import Phase, found_at, phase_of
from workers.resources.http.requests import HttpRequest, Requests, texts_that_were_sent

#: A private fact: the object reached a state in which it will never be usable.
BROKEN: Final = "broken"
_LOOK_SECONDS: Final = 2.0
#: The longest pause between two requests, whatever the API's Retry-After.
_LONGEST_PAUSE_SECONDS: Final = 300.0


class AskedObject(Resource):
    """Base of an object of a REST API: sends requests, and interprets the answers."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        #: The answer to reading the object in this step; None: not read yet.
        self._document: tuple[Any] | None = None

    def _properties_of(self, name: str) -> Mapping[str, Any]:
        return self.properties[name] or {}

    @property
    def _requests(self) -> Requests:
        return Requests(self.properties, token=self.state.uuid)

    @property
    def _http(self) -> HttpClient:
        client = self.client("http")
        if not isinstance(client, HttpClient):
            raise PluginMistake(
                f"the client plugin 'http' is a {type(client).__name__}, which {self.type_name} cannot use"
            )
        return client

    def _ask(self, request: HttpRequest) -> Answer:
        api = self._http.api(self.properties["api"])
        return api.ask(
            request.method,
            request.path,
            body=request.body,
            headers=request.headers,
            repeatable=request.repeatable,
        )

    def _read(self) -> tuple[Any] | None:
        """Return the object as read, once per step; None: it does not exist."""
        if self._document is None:
            try:
                answer = self._ask(self._requests.read(self.state.physical_id))
            except HttpError as error:
                if self._http.is_not_found(error):
                    return None
                raise
            self._document = (answer.document(),)
        return self._document

    def _look(self) -> tuple[Any] | Wait | None:
        """Return the same while waiting; an API that limits the rate is read later."""
        try:
            return self._read()
        except HttpUnavailable as error:
            if not self._http.is_over_limit(error):
                raise
            return Wait(max(self._interval, min(error.retry_after, _LONGEST_PAUSE_SECONDS)))

    def _is_ready(self) -> bool | Wait:
        status = self._properties_of("status")
        if not status:
            return True
        document = self._look()
        if isinstance(document, Wait):
            return document
        if document is None:
            # With some APIs a new object is visible only a little later.
            raise RetryableFailure("it was made, but cannot be read")
        if self._refuse_failed(document[0], status) is Phase.READY:
            return True
        state = self._shown(found_at(status["json"], document[0]))
        self._refuse_too_late(f"it is {state}")
        return self._later()

    def _refuse_failed(self, document: object, status: Mapping[str, Any]) -> Phase:
        value = found_at(status["json"], document)
        phase = phase_of(value, status)
        if phase is Phase.FAILED or (phase is Phase.GONE and self.state.action != "DELETE"):
            self.state.data[BROKEN] = True
            reason = found_at(status["reason"], document) if status["reason"] else None
            why = f": {self._shown(reason)}" if reason is not None else ""
            raise ResourceFailure(f"it is {self._shown(value)}{why}")
        return phase

    def _shown(self, value: object) -> str:
        if not isinstance(value, str):
            return shown(value)
        return shown_text(value, list(texts_in(texts_that_were_sent(self.properties))))

    def _refuse_too_late(self, what: str) -> None:
        timeout = self._properties_of("status").get("timeout") or 0
        if timeout and self.now - self.state.started_at >= timeout:
            raise ResourceFailure(f"{what} after {timeout:g} seconds (status.timeout)")

    def _later(self) -> Wait:
        return Wait(self._interval)

    @property
    def _interval(self) -> float:
        return float(self._properties_of("status").get("interval") or _LOOK_SECONDS)
