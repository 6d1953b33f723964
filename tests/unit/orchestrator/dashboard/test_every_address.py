"""What holds at every address of ours, also those that are added tomorrow."""

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from tornado.web import StaticFileHandler

from orchestrator.config.settings import Settings
from orchestrator.dashboard.handlers.base import DataHandler, PageHandler
from orchestrator.dashboard.handlers.streams import StreamHandler
from orchestrator.dashboard.routes import routes
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.service import Service
from orchestrator.store.store import Store
from tests.numeric_times import numeric_times
from tests.unit.orchestrator.dashboard.serving import client, served

TEMPLATE = """
heat_template_version: 2021-04-16
parameters:
  word: {type: string}
  more: {type: string}
  password: {type: string, hidden: true}
resources:
  one: {type: OS::Heat::TestResource, properties: {value: {get_param: word}}}
outputs:
  word: {value: {get_attr: [one, output]}}
  password: {value: {get_param: password}}
"""
#: A value that was given, one that came with an environment, and one that the template hides.
GIVEN, MEANT, HIDDEN = "plum-4711", "pear-4712", "quince-4713"
VALUES = (GIVEN, MEANT, HIDDEN)
OPTIONS: Mapping[str, Any] = {
    "basic_auth": ["ann:secret"],
    "stack_actions": True,
    "stack_operators": ["ann"],
}
OAUTH: Mapping[str, Any] = {"auth": ".*@example.org", "oauth2_key": "key", "oauth2_secret": "secret"}


def addresses() -> dict[str, type[Any]]:
    """Return an address for each of our routes but static files, with what answers it."""
    found = {}
    for rule in routes():
        pattern = (
            rule.regex.pattern.removesuffix("$").replace(r"\.", ".").replace("s?/.*", "/valued/no/where")
        )
        if not issubclass(rule.handler_class, StaticFileHandler):
            address = re.sub(r"\(\\d[^)]*\)", "0", pattern).replace("([^/]+)", "valued")
            found[re.sub(r"\((\w+)\|[^)]*\)", r"\1", address)] = rule.handler_class
    return found


ADDRESSES = addresses()
#: Streams do not end, and actions are no reading.
READ = sorted(
    address
    for address, handler in ADDRESSES.items()
    if "/act/" not in address and not issubclass(handler, StreamHandler)
)
each_address = pytest.mark.parametrize("address", sorted(ADDRESSES))
each_read = pytest.mark.parametrize("address", READ)


@pytest.fixture(scope="session")
def valued(service: Service) -> None:
    """The stack that addresses name, updated once; for the run, as the database is."""
    for number in (1, 2):
        job = StackJob(
            name="valued",
            template=TEMPLATE + "\n" * number,
            parameters={"word": f"{GIVEN}-{number}", "password": HIDDEN},
            environments=(
                EnvironmentSource(file="e.yaml", source=f"parameters: {{more: {MEANT}-{number}}}"),
            ),
        )
        made = service.create(job) if number == 1 else service.update(job)
        assert list(service.watch(made.id))[-1].stack.status == "COMPLETE"


@pytest.fixture(scope="module")
def clients(distributed: Settings, valued: None) -> Iterator[dict[str, httpx.Client]]:
    """Clients of dashboards: of nobody where nobody is known, of nobody where some are, and of an operator."""
    with ExitStack() as stack:
        store = Store.of
        plain = stack.enter_context(served(distributed, store(distributed)))
        basic = stack.enter_context(served(distributed, store(distributed), **OPTIONS))
        oauth = stack.enter_context(served(distributed, store(distributed), **OAUTH))
        yield {
            "open": stack.enter_context(client(plain)),
            "stranger": stack.enter_context(client(basic)),
            "operator": stack.enter_context(client(basic, auth=("ann", "secret"))),
            "logged out": stack.enter_context(client(oauth)),
        }


def asked(client: httpx.Client, address: str) -> httpx.Response:
    """Return an answer; data about one operation are asked of the one in force."""
    head = client.get("/stack/valued/head.json")
    traversal = head.json()["operation"]["traversal_id"] if head.status_code == 200 else "t"
    return client.get(address, params={"traversal": traversal})


def test_addresses_are_made_for_all_routes() -> None:
    assert len(ADDRESSES) == len(routes()) - 1
    assert not [address for address in ADDRESSES if re.search(r"[\\()|\[]", address)]


@each_address
def test_every_handler_is_a_page_or_data(address: str) -> None:
    assert issubclass(ADDRESSES[address], (PageHandler, DataHandler))


@each_address
def test_a_stranger_is_let_in_nowhere(address: str, clients: dict[str, httpx.Client]) -> None:
    answer = clients["stranger"].get(address)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"]
    assert "valued" not in answer.text
    logged_out = clients["logged out"].get(address)
    if issubclass(ADDRESSES[address], PageHandler):
        assert logged_out.status_code == 302
        assert logged_out.headers["Location"].startswith("/login?next=%2F")
    else:
        assert logged_out.status_code == 401
        assert "WWW-Authenticate" not in logged_out.headers


@each_read
def test_no_address_fails_or_lets_other_scripts_run(address: str, clients: dict[str, httpx.Client]) -> None:
    answer = asked(clients["operator"], address)
    assert answer.status_code < 500 or answer.status_code == 503, answer.text
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    if issubclass(ADDRESSES[address], PageHandler):
        assert not re.search(r"<script(?![^>]*\bsrc=)|\son[a-z]+=|\sstyle=|<style", answer.text)
        assert not re.search(
            r"""(?:src|href)=["']?(?:https?:)?//(?!flower\.|github\.com/mher)""", answer.text
        )


@each_read
def test_times_are_text(address: str, clients: dict[str, httpx.Client]) -> None:
    answer = asked(clients["operator"], address)
    if answer.status_code == 200 and "json" in answer.headers["Content-Type"]:
        assert list(numeric_times(answer.json())) == []


@pytest.mark.parametrize(
    "address", [*(each for each in READ if "valued" in each), "/stacks/static/valued", "/stack/valued/stream"]
)
def test_a_name_that_no_database_takes_is_no_failure(address: str, clients: dict[str, httpx.Client]) -> None:
    answer = clients["operator"].get(address.replace("valued", "va%00ued"))
    assert answer.status_code == 404, answer.text


def test_an_argument_that_no_database_takes_is_refused(clients: dict[str, httpx.Client]) -> None:
    for address in (
        "/stacks/data?search=a%00b",
        "/stacks/data?states=%00",
        "/stack/valued/events.json?status=%00",
    ):
        answer = clients["operator"].get(address)
        assert answer.status_code == 400
        assert "has a NUL" in answer.json()["error"]


@each_address
def test_nothing_is_told_under_another_sites_name(address: str, clients: dict[str, httpx.Client]) -> None:
    answer = clients["open"].get(address, headers={"Host": "evil.example.org:5555"})
    assert answer.status_code == 403
    assert "--stack_hosts" in answer.text
    assert "valued" not in answer.text
    # Whoever is asked who he is gives no name to another site.
    assert clients["stranger"].get(address, headers={"Host": "evil.example.org"}).status_code == 401


@each_read
def test_values_are_shown_to_nobody_who_is_not_known(address: str, clients: dict[str, httpx.Client]) -> None:
    answer = asked(clients["open"], address)
    assert [value for value in VALUES if value in answer.text] == []


@each_read
def test_what_a_template_hides_is_shown_to_nobody(address: str, clients: dict[str, httpx.Client]) -> None:
    if address.endswith(("outputs.json",)):
        # An output that is made of it is none that is hidden, in Heat, too.
        return
    assert HIDDEN not in asked(clients["operator"], address).text


def test_who_is_known_sees_values(clients: dict[str, httpx.Client]) -> None:
    answers = [asked(clients["operator"], address).text for address in READ]
    assert any(GIVEN in text for text in answers)
    assert any(MEANT in text for text in answers)
