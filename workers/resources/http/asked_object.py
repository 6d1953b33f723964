"""What an object of a REST API and the API have to say to each other: what is sent, read, waited for and refused."""

from collections.abc import Mapping
from typing import Any, Final

from orchestrator.errors import PluginMistake
from orchestrator.plugins.constraints import shown
from orchestrator.plugins.resource import Resource, ResourceFailure, RetryableFailure, Wait
from workers.clients.http import HttpClient
from workers.clients.http_failures import HttpError, HttpUnavailable, shown_text, texts_in
from workers.clients.rest import Answer
from workers.resources.http.answers import Phase, found_at, phase_of
from workers.resources.http.requests import HttpRequest, Requests, texts_that_were_sent

#: Among the private facts: set where the object came to a state in which it never will be of use.
BROKEN: Final = "broken"
_LOOK_SECONDS: Final = 2.0
#: An API that wants to be left alone for longer is asked after this all the same.
_LONGEST_PAUSE_SECONDS: Final = 300.0


class AskedObject(Resource):
    """Base of an object of a REST API: asks, and judges the answers; it begins nothing."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        #: What reading the object answered in this step; None: nobody has asked.
        self._document: tuple[Any] | None = None

    # -- asking ------------------------------------------------------------------------------------------------

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
        """Return what reading the object answers, once a step; None: it is not there."""
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
        """Return the same while something is waited for; an API that is asked too often is asked later."""
        try:
            return self._read()
        except HttpUnavailable as error:
            if not self._http.is_over_limit(error):
                raise
            return Wait(max(self._interval, min(error.retry_after, _LONGEST_PAUSE_SECONDS)))

    # -- waiting -----------------------------------------------------------------------------------------------

    def _is_ready(self) -> bool | Wait:
        status = self._properties_of("status")
        if not status:
            return True
        document = self._look()
        if isinstance(document, Wait):
            return document
        if document is None:
            # Some APIs tell of what they have made only a little later.
            raise RetryableFailure("it was made, but cannot be read")
        if self._refuse_failed(document[0], status) is Phase.READY:
            return True
        state = self._shown(found_at(status["json"], document[0]))
        self._refuse_too_late(f"it is {state}")
        return self._later()

    def _refuse_failed(self, document: Any, status: Mapping[str, Any]) -> Phase:
        value = found_at(status["json"], document)
        phase = phase_of(value, status)
        if phase is Phase.FAILED or (phase is Phase.GONE and self.state.action != "DELETE"):
            self.state.data[BROKEN] = True
            reason = found_at(status["reason"], document) if status["reason"] else None
            why = f": {self._shown(reason)}" if reason is not None else ""
            raise ResourceFailure(f"it is {self._shown(value)}{why}")
        return phase

    def _shown(self, value: Any) -> str:
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
