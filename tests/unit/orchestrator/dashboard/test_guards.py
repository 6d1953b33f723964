"""What keeps other sites and greedy clients out of the dashboard, at every address that answers, ours or not."""

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from tornado.routing import PathMatches, Rule, RuleRouter
from tornado.web import RequestHandler, StaticFileHandler

from orchestrator.config.settings import Settings
from orchestrator.dashboard import app
from orchestrator.dashboard.app import Dashboard
from orchestrator.dashboard.handlers.streams import network_of
from orchestrator.service import Service
from orchestrator.store.store import Store
from tests.unit.orchestrator.dashboard.serving import client, served
from tests.waiting import PATIENCE_SECONDS, until

EVIL = {"Host": "evil.example.org:5555"}
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "DELETE", "TRACE")
MANY = 2
SMALL = 1000


class Careless(RequestHandler):
    """A handler that someone adds tomorrow, and that calls no other's methods."""

    def set_default_headers(self) -> None:
        """Set none."""

    def prepare(self) -> None:
        """Check nothing."""

    def get(self) -> None:
        """Tell everyone."""
        self.write("told")


def leaves(router: RuleRouter) -> Iterator[Rule]:
    """Yield all routes of a router, and of those within."""
    for rule in router.rules:
        if isinstance(rule.target, RuleRouter):
            yield from leaves(rule.target)
        else:
            yield rule


def address_of(pattern: str) -> str:
    """Return an address that a route's pattern takes."""
    text = pattern.removesuffix("$").replace(r"\.", ".").removesuffix("/?").replace("s?/.*", "/web/no/where")
    text = re.sub(r"\(\\d[^)]*\)", "0", text)
    text = re.sub(r"\((\w[\w.]*)(?:\|[^)]*)?\)", r"\1", text)
    text = re.sub(r"\([^)]*\)", "web", text)
    text = "/no/where" if text == ".*" else text.replace("/.*", "/no/where")
    assert re.fullmatch(pattern, text), pattern
    return text


@pytest.fixture(scope="module", params=["", "ops"], ids=["plain", "prefixed"])
def dashboard(request: pytest.FixtureRequest, distributed: Settings, service: Service) -> Iterator[Dashboard]:
    """A dashboard without authentication, with a route that was added last of all."""
    given = {"url_prefix": request.param} if request.param else {}
    with served(distributed, Store.of(distributed), **given) as dashboard:
        dashboard.add_handlers("careless.localhost", [("/careless", Careless)])
        yield dashboard


@pytest.fixture
def addresses(dashboard: Dashboard) -> dict[str, type[RequestHandler]]:
    """An address of each route with its handler, and addresses that no route takes."""
    rules = list(leaves(dashboard.default_router))
    # Whatever is no handler would be behind no guard.
    assert [rule.target for rule in rules if not issubclass(rule.target, RequestHandler)] == []
    matchers = [rule.matcher for rule in rules if isinstance(rule.matcher, PathMatches)]
    assert len(matchers) == len(rules)
    found = {
        address_of(matcher.regex.pattern): rule.target for matcher, rule in zip(matchers, rules, strict=True)
    }
    return {**found, "/no/where": RequestHandler, "/ops/no/where": RequestHandler, "/ops": RequestHandler}


@pytest.fixture
def ask(dashboard: Dashboard) -> Iterator[httpx.Client]:
    """A client without a prefix of its own."""
    place = urlsplit(dashboard.url)
    with httpx.Client(base_url=f"{place.scheme}://{place.netloc}", trust_env=False, timeout=300) as made:
        yield made


def test_every_answer_keeps_other_sites_out(
    ask: httpx.Client, addresses: dict[str, type[RequestHandler]]
) -> None:
    assert len(addresses) > 70
    for address, handler in addresses.items():
        for method in METHODS:
            # Streams do not end: of all answers only the head is read.
            with ask.stream(method, address) as answer:
                given, where = answer.headers, f"{method} {address}"
            policy = given["Content-Security-Policy"]
            assert "default-src 'none'" in policy, where
            assert "frame-ancestors 'none'" in policy, where
            assert "unsafe-inline" not in policy, where
            assert "unsafe-eval" not in policy, where
            assert given["X-Frame-Options"] == "DENY", where
            assert given["X-Content-Type-Options"] == "nosniff", where
            assert given["Referrer-Policy"] == "same-origin", where
            assert not [name for name in given if name.startswith("access-control-")], where
            if not issubclass(handler, StaticFileHandler):
                assert given["Cache-Control"] == "no-store", where


def test_nothing_is_answered_under_another_sites_name(
    ask: httpx.Client, addresses: dict[str, type[RequestHandler]]
) -> None:
    for address in addresses:
        for method in ("GET", "OPTIONS", "POST"):
            answer = ask.request(method, address, headers=EVIL)
            assert answer.status_code == 403, f"{method} {address}"
            assert answer.headers["X-Frame-Options"] == "DENY"


def test_a_handler_that_is_added_without_guards_has_them(ask: httpx.Client) -> None:
    answer = ask.get("/careless", headers={"Host": "careless.localhost"})
    assert (answer.text, answer.headers["X-Frame-Options"]) == ("told", "DENY")


def test_flowers_pages_name_the_option_that_accepts_a_host(distributed: Settings, service: Service) -> None:
    given = {"stack_hosts": ["dash.example.org"]}
    with served(distributed, Store.of(distributed), **given) as dashboard, client(dashboard) as ask:
        assert "--stack_hosts" in ask.get("/workers", headers=EVIL).text
        assert ask.get("/workers", headers={"Host": "dash.example.org"}).status_code == 200
        assert ask.get("/metrics", headers={"Host": "dash.example.org"}).status_code == 200


def test_flowers_api_may_be_opened_to_other_sites_and_nothing_else_is(
    distributed: Settings, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOWER_UNAUTHENTICATED_API", "true")
    with served(distributed, Store.of(distributed)) as dashboard, client(dashboard) as ask:
        opened = {
            path
            for path in ("/api/task/types", "/workers", "/metrics", "/healthcheck", "/stacks", "/no/where")
            if "Access-Control-Allow-Origin" in ask.get(path).headers
        }
    assert opened == {"/api/task/types"}


# -- streams -------------------------------------------------------------------------------------------------------


def opened(stack: ExitStack, dashboard: Dashboard, **given: Any) -> httpx.Response:
    """Return the answer to a request for a stream, which stays open."""
    ask = stack.enter_context(client(dashboard, **given))
    return stack.enter_context(ask.stream("GET", "/stacks/stream"))


def test_one_client_leaves_streams_to_others(distributed: Settings, service: Service) -> None:
    other = httpx.HTTPTransport(local_address="127.0.0.2")
    with served(distributed, Store.of(distributed), max_streams_per_client=MANY) as dashboard:
        with ExitStack() as stack:
            assert [opened(stack, dashboard).status_code for _ in range(MANY)] == [200] * MANY
            refused = opened(stack, dashboard)
            assert refused.status_code == 429
            sentence = refused.read().decode()
            assert "127.0.0.1 has 2 streams open" in sentence
            assert "--max_streams_per_client" in sentence
            assert opened(stack, dashboard, transport=other).status_code == 200
        until(lambda: not dashboard.hub.listeners)
        with ExitStack() as stack:
            assert opened(stack, dashboard).status_code == 200


def test_a_user_is_one_client_wherever_from_and_users_of_one_address_are_several(
    distributed: Settings, service: Service
) -> None:
    users = {"max_streams_per_client": MANY, "basic_auth": ["ann:a", "bob:b"]}
    with served(distributed, Store.of(distributed), **users) as dashboard, ExitStack() as stack:
        for number in range(MANY):
            other = httpx.HTTPTransport(local_address=f"127.0.0.{number + 2}")
            assert opened(stack, dashboard, auth=("ann", "a"), transport=other).status_code == 200
        refused = opened(stack, dashboard, auth=("ann", "a"))
        assert refused.status_code == 429
        assert "user ann has 2 streams open" in refused.read().decode()
        assert opened(stack, dashboard, auth=("bob", "b")).status_code == 200


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("no address", "no address"),
    ],
)
def test_a_client_has_all_addresses_of_its_network(address: str, network: str) -> None:
    assert network_of(address) == network


# -- requests that do not end ----------------------------------------------------------------------------------------


@pytest.fixture
def small(distributed: Settings, service: Service) -> Iterator[Dashboard]:
    """A dashboard that asks for a name, and takes small bodies."""
    given = {"max_body_bytes": SMALL, "basic_auth": ["ann:secret"]}
    with served(distributed, Store.of(distributed), **given) as dashboard:
        yield dashboard


@pytest.fixture
def impatient(
    distributed: Settings, service: Service, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Dashboard]:
    """A dashboard that waits for hardly anything."""
    monkeypatch.setattr(app, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(app, "BODY_SECONDS", 0.1)
    with served(distributed, Store.of(distributed)) as dashboard:
        yield dashboard


def answer_to(dashboard: Dashboard, *parts: bytes) -> bytes:
    """Return all that the dashboard answers to the beginning of a request, up to its closing of the connection."""
    place = urlsplit(dashboard.url)
    with socket.create_connection((place.hostname, place.port), PATIENCE_SECONDS) as connection:
        for part in parts:
            connection.sendall(part)
        answer = b""
        while more := connection.recv(65536):
            answer += more
        return answer


@pytest.mark.parametrize("path", [b"/tasks/datatable", b"/api/task/send-task/x", b"/stack/web/act/signal"])
@pytest.mark.parametrize(
    ("length", "body"),
    [
        (b"Content-Length: 90000000", b""),
        (b"Transfer-Encoding: chunked", b"%x\r\n" % (SMALL + 1)),
    ],
)
def test_a_large_body_is_refused_before_it_is_sent(
    small: Dashboard, path: bytes, length: bytes, body: bytes
) -> None:
    head = b"POST %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n" % (path, length)
    assert answer_to(small, head, body).startswith(b"HTTP/1.1 400")


def test_a_body_of_the_largest_size_is_read(small: Dashboard) -> None:
    head = b"POST /stack/web/act/signal HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    head += b"Content-Length: %d\r\n\r\n" % SMALL
    assert answer_to(small, head, bytes(SMALL)).startswith(b"HTTP/1.1 401")


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"GET /stacks HTTP/1.1\r\nHost: local",
        b"POST /tasks/datatable HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc",
    ],
    ids=["nothing", "headers", "body"],
)
def test_a_request_that_does_not_go_on_is_given_up(impatient: Dashboard, begun: bytes) -> None:
    assert answer_to(impatient, begun) == b""
