"""The API on an embedded installation, in this process."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import falcon
import pytest
from falcon import testing

from orchestrator.access.tokens import Token, TokenFile
from orchestrator.api.application import make_application
from orchestrator.api.callers import identifier_of
from orchestrator.api.door import Door
from orchestrator.api.kinds import NONE, TOKENS
from orchestrator.config.settings import Settings
from orchestrator.model.identity import EVERY_PROJECT
from tests.unit.orchestrator.api.conforming import Conformance
from tests.waiting import until

#: Which role each caller has, and where.
ROLES: Mapping[str, tuple[str, str]] = {
    "rita": ("reader", "acme"),
    "olga": ("operator", "acme"),
    "anna": ("administrator", "acme"),
    "otto": ("operator", "beta"),
    "root": ("administrator", EVERY_PROJECT),
}
TEMPLATE: Final[dict[str, Any]] = {
    "heat_template_version": "2018-08-31",
    "description": "a text and a copy of it",
    "parameters": {
        "length": {"type": "number", "default": 8, "constraints": [{"range": {"min": 4, "max": 64}}]},
        "secret": {"type": "string", "default": "hush", "hidden": True},
    },
    "resources": {
        "text": {"type": "OS::Heat::RandomString", "properties": {"length": {"get_param": "length"}}},
        "copy": {"type": "OS::Heat::TestResource", "properties": {"value": {"get_attr": ["text", "value"]}}},
    },
    "outputs": {"word": {"value": {"get_attr": ["copy", "output"]}, "description": "the text"}},
}


class Client:
    """A client of the API, in one project."""

    def __init__(
        self,
        application: Callable[..., Any],
        *,
        project: str = "acme",
        token: str = "",
        conformance: Conformance | None = None,
    ) -> None:
        self._client = testing.TestClient(application)
        self.project, self.token = project, token
        #: Every answer is checked by it.
        self.conformance = conformance

    def ask(self, method: str, path: str, **given: Any) -> testing.Result:
        """Return the answer of an address below the project."""
        headers = {"X-Auth-Token": self.token} | given.pop("headers", {})
        whole = f"/v1/{self.project}{path}"
        answer = self._client.simulate_request(method, whole, headers=headers, **given)
        if self.conformance is not None:
            self.conformance.check(method, whole.partition("?")[0], answer)
        return answer

    def get(self, path: str, **given: Any) -> Any:
        """Return what an address has."""
        answer = self.ask("GET", path, **given)
        assert answer.status == falcon.HTTP_OK, answer.text
        return answer.json

    def create(self, name: str, **body: Any) -> str:
        """Create a stack, wait until it is complete, and return the path of its canonical address."""
        answer = self.ask("POST", "/stacks", json={"stack_name": name, "template": TEMPLATE} | body)
        assert answer.status == falcon.HTTP_CREATED, answer.text
        path = f"/stacks/{name}/{answer.json['stack']['id']}"
        self.wait(path)
        return path

    def wait(self, path: str, state: str = "") -> dict[str, Any]:
        """Return a stack once nothing is in progress."""

        def ended() -> dict[str, Any] | None:
            stack: dict[str, Any] = self.get(path)["stack"]
            return None if stack["stack_status"].endswith("IN_PROGRESS") else stack

        found = until(ended)
        assert state in ("", found["stack_status"])
        return found


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    directory = tmp_path_factory.mktemp("api")
    return Settings(
        state_directory=directory,
        project="acme",
        api_url="http://heat.example.com/v1",
        hidden_stack_tags=("hidden",),
    )


@pytest.fixture(scope="module")
def door(settings: Settings) -> Iterator[Door]:
    opened = Door.open(settings)
    opened.start()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def conformance(door: Door) -> Conformance:
    return Conformance(door)


@pytest.fixture(scope="module")
def client(door: Door, conformance: Conformance) -> Client:
    """A client that may do everything."""
    return Client(make_application(door, identifier_of(NONE, door.settings)), conformance=conformance)


@pytest.fixture(scope="module")
def clients(door: Door, settings: Settings, conformance: Conformance) -> dict[str, Client]:
    """A client of each caller, and one without a token under the empty name."""
    file = TokenFile(settings.effective_token_file)
    application = make_application(door, identifier_of(TOKENS, settings))
    made = {"": Client(application, conformance=conformance)}
    for name, (role, project) in ROLES.items():
        token, text = Token.generate(name, {project: role})
        file.add(token)
        made[name] = Client(application, token=text, conformance=conformance)
    return made
