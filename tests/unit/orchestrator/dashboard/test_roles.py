"""The table of what each role may do in each mode, asked of a dashboard that serves it."""

import os
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from tornado.web import create_signed_value

from orchestrator.config.settings import Settings
from orchestrator.dashboard.app import Dashboard
from orchestrator.service import Service
from orchestrator.store.store import Store
from tests.unit.orchestrator.dashboard.serving import SECRET, client, served

BASIC: Mapping[str, Any] = {"basic_auth": ["ann:secret", "vic:secret"]}
OAUTH: Mapping[str, Any] = {
    "auth": ".*@example.org",
    "oauth2_key": "key",
    "oauth2_secret": "secret",
    "oauth2_redirect_uri": "http://127.0.0.1/login",
}
ACTIONS: Mapping[str, Any] = {"stack_actions": True, "stack_operators": ["ann", "ann@example.org"]}


def basic(name: str, password: str = "secret") -> dict[str, str]:
    return {"Authorization": f"Basic {b64encode(f'{name}:{password}'.encode()).decode()}"}


def cookie(email: str, *, token: bool = True) -> dict[str, str]:
    signed = create_signed_value(SECRET, "user", email).decode()
    if not token:
        return {"Cookie": f"user={signed}"}
    return {"Cookie": f"user={signed}; _xsrf=1234abcd", "X-XSRFToken": "1234abcd"}


@dataclass(frozen=True)
class Row:
    """A mode and who asks in it, and what each of the questions below is answered with."""

    id: str
    options: Mapping[str, Any]
    headers: Mapping[str, str]
    #: A page; data; an action; Flower's way to end a worker, and its way to send a task.
    page: int
    data: int
    act: int
    end_worker: int
    send_task: int
    #: Whether values of parameters and outputs are shown; None where nothing is.
    values: bool | None
    environment: Mapping[str, str] = field(default_factory=dict)
    embedded: bool = False


#: What Flower answers where it is asked to end a worker that there is none of: it would have been done.
DONE = 404
OPEN_API = {"FLOWER_UNAUTHENTICATED_API": "true"}
TABLE = (
    #   mode and visitor                       options             headers       page data act  end  send values
    Row("nobody is known", {}, {}, 200, 200, 401, 401, 401, values=False),
    Row("open api", {}, {}, 200, 200, 401, DONE, 401, values=False, environment=OPEN_API),
    Row("open api, read only", {"read_only": True}, {}, 200, 200, 401, 403, 401, False, OPEN_API),
    Row("basic, no credentials", {**BASIC, **ACTIONS}, {}, 401, 401, 401, 401, 401, None),
    Row("basic, wrong password", {**BASIC, **ACTIONS}, basic("ann", "x"), 401, 401, 401, 401, 401, None),
    Row("basic, odd password", {**BASIC, **ACTIONS}, basic("ann", "é"), 401, 401, 401, 401, 401, None),
    Row("basic, actions off", BASIC, basic("ann"), 200, 200, 403, DONE, 403, values=True),
    Row("basic, viewer", {**BASIC, **ACTIONS}, basic("vic"), 200, 200, 403, 403, 403, values=True),
    Row("basic, operator", {**BASIC, **ACTIONS}, basic("ann"), 200, 200, 202, DONE, 403, values=True),
    Row(
        "basic, operator, another site",
        {**BASIC, **ACTIONS},
        {**basic("ann"), "Sec-Fetch-Site": "cross-site"},
        *(200, 200, 403, 403, 403),
        values=True,
    ),
    Row(
        "basic, operator, another origin",
        {**BASIC, **ACTIONS},
        {**basic("ann"), "Origin": "http://evil.example"},
        *(200, 200, 403, 403, 403),
        values=True,
    ),
    Row(
        "basic, operator, read only",
        {**BASIC, **ACTIONS, "read_only": True},
        basic("ann"),
        *(200, 200, 403, 403, 403),
        values=True,
    ),
    Row(
        "basic, operator, under a prefix",
        {**BASIC, **ACTIONS, "url_prefix": "ops"},
        basic("ann"),
        *(200, 200, 202, DONE, 403),
        values=True,
    ),
    Row("oauth, no cookie", {**OAUTH, **ACTIONS}, {}, 302, 401, 403, 403, 403, None),
    Row(
        "oauth, no cookie, with a token",
        {**OAUTH, **ACTIONS},
        {"Cookie": "_xsrf=1234abcd", "X-XSRFToken": "1234abcd"},
        *(302, 401, 401, 403, 403),
        values=None,
    ),
    Row(
        "oauth, stranger",
        {**OAUTH, **ACTIONS},
        cookie("ann@example.net"),
        *(302, 401, 401, 403, 403),
        values=None,
    ),
    Row(
        "oauth, forged cookie",
        {**OAUTH, **ACTIONS},
        {"Cookie": "user=ann@example.org"},
        *(302, 401, 403, 403, 403),
        values=None,
    ),
    Row("oauth, viewer", {**OAUTH, **ACTIONS}, cookie("vic@example.org"), 200, 200, 403, 403, 403, True),
    Row("oauth, operator", {**OAUTH, **ACTIONS}, cookie("ann@example.org"), 200, 200, 202, DONE, 403, True),
    Row(
        "oauth, operator, no token",
        {**OAUTH, **ACTIONS},
        cookie("ann@example.org", token=False),
        *(200, 200, 403, 403, 403),
        values=True,
    ),
    Row(
        "oauth, operator, read only",
        {**OAUTH, **ACTIONS, "read_only": True},
        cookie("ann@example.org"),
        *(200, 200, 403, 403, 403),
        values=True,
    ),
    Row("embedded, nobody is known", {}, {}, 200, 200, 403, 401, 403, values=False, embedded=True),
    Row(
        "embedded, operator",
        {**BASIC, **ACTIONS},
        basic("ann"),
        *(200, 200, 403, DONE, 403),
        values=True,
        embedded=True,
    ),
)
each_row = pytest.mark.parametrize("row", TABLE, ids=[row.id for row in TABLE])

Asking = Callable[[Row], httpx.Client]


class Acting:
    """Takes orders in the place of the service: what became of them is no matter here."""

    def __init__(self) -> None:
        self.signals: list[tuple[str, str]] = []

    def signal(self, stack: str, resource: str, details: Mapping[str, Any]) -> None:
        """Keep whom it was for."""
        self.signals.append((stack, resource))


@pytest.fixture(scope="module")
def asking(settings: Settings, distributed: Settings, service: Service) -> Iterator[Asking]:
    """Give a client of a dashboard of a row's mode; there is one of each."""
    with ExitStack() as open_until_the_end:
        dashboards: dict[str, Dashboard] = {}

        def ask(row: Row) -> httpx.Client:
            key = repr((row.options, row.embedded))
            if key not in dashboards:
                mode = settings if row.embedded else distributed
                made = served(mode, Store.of(mode), **row.options)
                dashboards[key] = open_until_the_end.enter_context(made)
                dashboards[key].service = Acting()  # type: ignore[assignment]
            return open_until_the_end.enter_context(client(dashboards[key], headers=dict(row.headers)))

        yield ask


@pytest.fixture(autouse=True)
def environment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a row's mode."""
    monkeypatch.delenv("FLOWER_UNAUTHENTICATED_API", raising=False)
    for name, value in request.getfixturevalue("row").environment.items():
        monkeypatch.setenv(name, value)
    assert "FLOWER_BASIC_AUTH" not in os.environ


@each_row
def test_role_may_do_in_a_mode_what_the_table_says(row: Row, asking: Asking, service: Service) -> None:
    stack = service.stack("web")
    order = {
        "stack_id": stack.id,
        "traversal_id": stack.traversal_id,
        "confirm": "web",
        "resource": "one",
        "details": {},
    }
    ask = asking(row)
    found = {
        "page": ask.get("/stacks").status_code,
        "data": ask.get("/stack/web/actions.json").status_code,
        "act": ask.post("/stack/web/act/signal", json=order).status_code,
        "end_worker": ask.post("/api/worker/shutdown/w1@nowhere").status_code,
        "send_task": ask.post("/api/task/send-task/stack.delete", json={"kwargs": {}}).status_code,
    }
    expected = {name: getattr(row, name) for name in found}
    assert found == expected


@each_row
def test_values_are_shown_to_those_alone_who_are_known(row: Row, asking: Asking) -> None:
    answer = asking(row).get("/stack/web/actions.json")
    told = answer.json().get("sees_values") if answer.status_code == 200 else None
    assert told == row.values


@each_row
def test_a_refusal_is_a_sentence_and_an_allowance_is_told_beforehand(row: Row, asking: Asking) -> None:
    ask = asking(row)
    told = ask.get("/stack/web/actions.json").json()
    answer = ask.post("/stack/web/act/delete", json={})
    # An order without anything in it is refused for that, by whoever would take one.
    allowed = answer.status_code == 400
    assert answer.json()["error"]
    if (
        row.headers.get("Sec-Fetch-Site")
        or row.headers.get("Origin")
        or row.id == "oauth, operator, no token"
    ):
        assert not allowed
    elif "actions" in told:
        assert allowed == (told["actions"]["delete"] == "")
        assert allowed or answer.json()["error"] == told["actions"]["delete"]


@each_row
def test_no_other_site_may_read_an_answer(row: Row, asking: Asking) -> None:
    ask = asking(row)
    for path in ("/stacks", "/stack/web/actions.json"):
        headers = ask.get(path).headers
        assert not [name for name in headers if name.lower().startswith("access-control-")]
        assert "default-src 'none'" in headers["Content-Security-Policy"]
