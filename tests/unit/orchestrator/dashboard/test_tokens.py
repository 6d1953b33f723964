"""The dashboard with tokens: roles in its project decide at every address, Flower's included."""

from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from orchestrator.access.authenticators import Authenticator
from orchestrator.access.tokens import Token, TokenFile
from orchestrator.config.caller import caller
from orchestrator.config.settings import Settings
from orchestrator.dashboard.app import Dashboard
from orchestrator.dashboard.handlers.streams import StreamHandler
from orchestrator.dashboard.options import problems_of
from orchestrator.errors import InvalidInput, Unavailable
from orchestrator.model.identity import EVERY_PROJECT, Identity
from orchestrator.service import Service
from orchestrator.store.store import Store
from tests.unit.orchestrator.dashboard.serving import client, option_values, served
from tests.unit.orchestrator.dashboard.test_every_address import ADDRESSES
from tests.waiting import until

#: Some of Flower's own, which are not made by us.
FLOWERS = (
    "/",
    "/workers",
    "/tasks",
    "/broker",
    "/api/workers",
    "/api/tasks",
    "/metrics",
    "/healthcheck",
    "/nowhere",
)
#: The user, the role, and the project.
USERS = (
    ("rita", "reader", "default"),
    ("olga", "operator", "default"),
    ("anna", "administrator", "default"),
    ("root", "administrator", EVERY_PROJECT),
    ("otto", "administrator", "other"),
)
STATIC = "/stacks/static/js/actions.js"


class Acting:
    """Takes orders in the place of the service, and keeps who gave them."""

    def __init__(self) -> None:
        self.callers: list[tuple[str, str]] = []

    def signal(self, *_: Any) -> None:
        """Keep the caller."""
        self.callers.append((caller().identity.user, caller().origin))


@pytest.fixture(scope="module")
def guarded(distributed: Settings, service: Service) -> Settings:
    """Settings with tokens."""
    return distributed.with_values(authenticator="tokens")


@pytest.fixture(scope="module")
def dashboard(guarded: Settings) -> Iterator[Dashboard]:
    with served(guarded, Store.of(guarded), stack_actions=True) as made:
        made.service = Acting()  # type: ignore[assignment]
        yield made


@pytest.fixture(scope="module")
def clients(dashboard: Dashboard, guarded: Settings) -> Iterator[dict[str, httpx.Client]]:
    """A client of each user, of a stranger, and of one whose token was revoked."""
    file = TokenFile(guarded.effective_token_file)
    with ExitStack() as stack:
        found = {"": stack.enter_context(client(dashboard))}
        for user, role, project in (*USERS, ("gone", "administrator", EVERY_PROJECT)):
            made, text = Token.generate(user, {project: role})
            file.add(made)
            headers = {"Authorization": f"Bearer {text}"}
            found[user] = stack.enter_context(client(dashboard, headers=headers))
        assert found["gone"].get("/healthcheck").status_code == 200
        file.revoke(made.id)
        yield found


each_address = pytest.mark.parametrize("address", [*sorted(ADDRESSES), *FLOWERS, STATIC])


@each_address
def test_stranger_and_owner_of_a_revoked_token_are_let_in_nowhere(
    address: str, clients: dict[str, httpx.Client]
) -> None:
    wrong = (None, "Bearer isotherm_x", "Bearer", "Basic !", "Basic eDo=", "Digest x")
    answers = [clients[""].get(address, headers={"Authorization": each} if each else {}) for each in wrong]
    for answer in (*answers, clients["gone"].get(address)):
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"].startswith("Basic")
        assert "valued" not in answer.text


@each_address
def test_role_in_another_project_opens_nothing(address: str, clients: dict[str, httpx.Client]) -> None:
    answer = clients["otto"].get(address)
    assert answer.status_code == 403
    assert "otto has no role there" in answer.text
    assert "valued" not in answer.text


@pytest.mark.parametrize(
    "address",
    [
        *(
            each
            for each, kind in sorted(ADDRESSES.items())
            if "/act/" not in each and not issubclass(kind, StreamHandler)
        ),
        *FLOWERS,
        STATIC,
    ],
)
@pytest.mark.parametrize("user", ["rita", "olga", "anna", "root"])
def test_roles_of_the_project_see_every_address(
    user: str, address: str, clients: dict[str, httpx.Client]
) -> None:
    assert clients[user].get(address).status_code in (200, 302, 404, 503)


def test_operators_act_and_readers_do_not(
    dashboard: Dashboard, service: Service, clients: dict[str, httpx.Client]
) -> None:
    stack = service.stack("web")
    order = {"stack_id": stack.id, "traversal_id": stack.traversal_id, "confirm": "web", "resource": "one"}
    codes = {
        user: clients[user].post("/stack/web/act/signal", json={**order, "details": {}}).status_code
        for user, *_ in USERS
    }
    assert codes == {"rita": 403, "olga": 202, "anna": 202, "root": 202, "otto": 403}
    callers = cast("Acting", dashboard.service).callers
    assert [user for user, _ in callers] == ["olga", "anna", "root"]
    assert {origin for _, origin in callers} == {"dashboard, 127.0.0.1"}


@pytest.mark.parametrize("path", ["/api/worker/shutdown/w1@nowhere", "/api/task/send-task/stack.delete"])
def test_installation_is_its_administrators_alone(path: str, clients: dict[str, httpx.Client]) -> None:
    allowed = {user for user, *_ in USERS if clients[user].post(path, json={"kwargs": {}}).status_code != 403}
    assert allowed == {"root"}


@pytest.mark.parametrize(
    "headers",
    [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://evil.example"}],
)
@pytest.mark.parametrize("path", ["/api/worker/shutdown/w1@nowhere", "/stack/web/act/signal"])
def test_page_of_another_site_can_send_nothing_with_the_credentials_of_the_browser(
    path: str, headers: dict[str, str], clients: dict[str, httpx.Client]
) -> None:
    assert clients["root"].post(path, json={}, headers=headers).status_code == 403
    own = {"Sec-Fetch-Site": "same-origin"}
    assert clients["root"].post(path, json={}, headers=own).status_code in (400, 404)


def test_browser_sends_the_token_as_a_password(
    dashboard: Dashboard, clients: dict[str, httpx.Client]
) -> None:
    token = clients["rita"].headers["Authorization"].removeprefix("Bearer ")
    credentials = b64encode(f"whoever:{token}".encode()).decode()
    with client(dashboard, headers={"Authorization": f"Basic {credentials}"}) as browser:
        told = browser.get("/stack/web/actions.json").json()
    assert (told["user"], told["role"], told["sees_values"]) == ("rita", "viewer", True)
    assert told["actions"]["delete"].startswith(
        "stack.delete needs the role operator in the project 'default'"
    )


def test_policy_decides_what_a_page_needs(guarded: Settings, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(
        "stack.read: operator\nflower.read: administrator\nstack.cancel: administrator"
    )
    settings = guarded.with_values(policy_file=tmp_path / "policy.yaml")
    codes = {}
    with served(settings, Store.of(settings), stack_actions=True) as made:
        for user, role, project in USERS[:3]:
            token, text = Token.generate(user, {project: role})
            TokenFile(settings.effective_token_file).add(token)
            with client(made, headers={"Authorization": f"Bearer {text}"}) as asker:
                paths = ("/stacks", "/tasks", "/stacks/nodes")
                codes[user] = [asker.get(path).status_code for path in paths]
                codes[user].append(asker.post("/stack/web/act/cancel", json={}).status_code)
    assert codes == {"rita": [403, 403, 200, 403], "olga": [200, 403, 200, 403], "anna": [200, 200, 200, 400]}


def test_signal_that_clears_a_hook_needs_the_role_for_that(
    guarded: Settings, service: Service, tmp_path: Path, clients: dict[str, httpx.Client]
) -> None:
    (tmp_path / "policy.yaml").write_text("stack.clear_hook: administrator")
    settings = guarded.with_values(policy_file=tmp_path / "policy.yaml")
    stack = service.stack("web")
    order = {"stack_id": stack.id, "traversal_id": stack.traversal_id, "confirm": "web", "resource": "one"}
    headers = {"Authorization": clients["olga"].headers["Authorization"]}
    with (
        served(settings, Store.of(settings), stack_actions=True) as made,
        client(made, headers=headers) as asker,
    ):
        made.service = Acting()  # type: ignore[assignment]
        codes = [
            asker.post("/stack/web/act/signal", json={**order, "details": details}).status_code
            for details in ({}, {"unset_hook": "pre-update"})
        ]
    assert codes == [202, 403]


def test_broken_file_of_tokens_opens_nothing(guarded: Settings, tmp_path: Path) -> None:
    (tmp_path / "tokens.json").write_text("{}")
    settings = guarded.with_values(token_file=tmp_path / "tokens.json")
    with (
        served(settings, Store.of(settings)) as made,
        client(made, headers={"Authorization": "Bearer x"}) as asker,
    ):
        assert asker.get("/stacks").status_code == 401


@pytest.mark.parametrize("fault", [ValueError("no"), Unavailable("later"), RecursionError()])
def test_authenticator_that_fails_opens_nothing(guarded: Settings, fault: Exception) -> None:
    class Failing(Authenticator):
        def identify(self, credential: str) -> Identity | None:
            raise fault

    with (
        served(guarded, Store.of(guarded)) as made,
        client(made, headers={"Authorization": "Bearer x"}) as asker,
    ):
        made._authenticator = Failing(guarded)
        assert [asker.get(path).status_code for path in ("/stacks", "/tasks", "/metrics")] == [401] * 3


@pytest.mark.parametrize(
    "given",
    [
        {"basic_auth": ["ann:x"]},
        {"stack_operators": ["ann"]},
        {"auth": "ann@example.org", "auth_provider": "x"},
    ],
)
def test_two_logins_beside_each_other_are_refused(given: dict[str, Any]) -> None:

    problems = list(problems_of(option_values(**given), embedded=False, tokens=True))
    assert any("authenticator" in each.message for each in problems), InvalidInput(problems)
    assert not list(problems_of(option_values(stack_actions=True), embedded=False, tokens=True))


def test_logins_and_refusals_are_on_record_once(guarded: Settings, service: Service) -> None:
    file = TokenFile(guarded.effective_token_file)
    store = Store.of(guarded)
    before = store.audit_log.verify().records
    with served(guarded, Store.of(guarded), stack_actions=True) as made:
        made.service = Acting()  # type: ignore[assignment]
        for user, role in (("vera", "reader"), ("zoe", "administrator")):
            token, text = Token.generate(user, {EVERY_PROJECT: role})
            file.add(token)
            with client(made, headers={"Authorization": f"Bearer {text}"}) as asker:
                for _ in range(3):
                    asker.get("/stacks/data")
                    asker.post("/stack/web/act/delete", json={})
                asker.post("/api/worker/shutdown/w1@nowhere")
        with client(made) as stranger:
            for _ in range(3):
                stranger.get("/stacks")
                stranger.get("/stacks", headers={"Authorization": "Bearer isotherm_x"})
        until(lambda: store.audit_log.verify().records >= before + 6)
        records = [each.entry for each in store.audit_log.newest(6)]
    store.close()
    shown = {(each.user, each.action, each.outcome) for each in records}
    assert shown == {
        ("vera", "login", "allowed"),
        ("vera", "stack.delete", "refused"),
        ("vera", "flower.control", "refused"),
        ("zoe", "login", "allowed"),
        ("zoe", "flower.control", "allowed"),
        ("", "login", "refused"),
    }
    assert {each.origin for each in records} == {"dashboard, 127.0.0.1"}
