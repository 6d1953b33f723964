"""The page about one resource, and its data, as a dashboard serves them."""

from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

import httpx
import pytest

from orchestrator.config.settings import Settings
from orchestrator.config.step_log import LogLine, StepLines
from orchestrator.model.messages import StackJob
from orchestrator.service import Service
from orchestrator.store.store import Store
from tests.unit.orchestrator.dashboard.serving import client, served

if TYPE_CHECKING:
    from orchestrator.store.nodes.claims import Claim

HIDDEN = "quince-9911"
SHOWN = "plum-9912"
#: A name with everything in it that addresses treat in a special way.
ODD = "a b?c;d=é&%2e"
TEMPLATE = f"""
heat_template_version: 2021-04-16
parameters:
  word: {{type: string, default: {SHOWN}}}
  password: {{type: string, hidden: true, default: {HIDDEN}}}
resources:
  base: {{type: OS::Heat::TestResource, properties: {{value: {{get_param: word}}}}, metadata: {{a_b: 1}}}}
  secret: {{type: OS::Heat::TestResource, properties: {{value: {{get_param: password}}}}}}
  "{ODD}":
    type: OS::Heat::TestResource
    depends_on: base
    properties: {{value: {{get_attr: [base, output]}}}}
  bad:
    type: OS::Heat::TestResource
    depends_on: base
    properties: {{fail: true}}
  never: {{type: OS::Heat::TestResource, depends_on: bad}}
"""


@pytest.fixture(scope="module")
def made(service: Service) -> str:
    """The stack ``paged``, whose resource ``bad`` has failed."""
    stack = service.create(StackJob(name="paged", template=TEMPLATE))
    assert list(service.watch(stack.id))[-1].stack.status == "FAILED"
    return "paged"


@pytest.fixture(scope="module")
def open_one(settings: Settings, made: str) -> Iterator[httpx.Client]:
    """A client of a dashboard without authentication."""
    assert made
    with served(settings, Store.of(settings)) as dashboard, client(dashboard) as opened:
        yield opened


@pytest.fixture(scope="module")
def known(settings: Settings, made: str) -> Iterator[httpx.Client]:
    """A client who has logged in."""
    assert made
    with (
        served(settings, Store.of(settings), basic_auth=["ann:secret"]) as dashboard,
        client(dashboard, auth=("ann", "secret")) as opened,
    ):
        yield opened


def data(asked: httpx.Client, resource: str, **query: str) -> dict[str, Any]:
    answer = asked.get(f"/stack/paged/resource/{quote(resource, safe='')}/data.json", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_any_name_of_a_resource_has_a_page(known: httpx.Client) -> None:
    page = known.get(f"/stack/paged/resource/{quote(ODD, safe='')}")
    assert page.status_code == 200
    assert "a b?c;d=é&amp;%2e" in page.text
    found = data(known, ODD)
    assert found["name"] == ODD
    assert found["details"]["requires"] == ["base"]


def test_a_resource_that_was_created_has_its_values_and_its_attempt(known: httpx.Client) -> None:
    found = data(known, "base")
    assert found["type"] == "OS::Heat::TestResource"
    assert found["details"]["vertex"]["state"] == "done"
    assert found["since"]
    assert found["details"]["required_by"] == sorted([ODD, "bad"])
    assert found["resource"]["properties"] == {"value": SHOWN}
    assert found["resource"]["metadata"] == {"a_b": 1}
    (attempt,) = found["attempts"]
    assert (attempt["action"], attempt["number"], attempt["outcome"]) == ("CREATE", 1, "complete")
    assert attempt["operation"] == "CREATE_FAILED"
    assert attempt["begun_at"] <= attempt["ended_at"]
    assert found["deployment"] is None


def test_a_failed_resource_says_why_and_its_dependent_was_not_reached(known: httpx.Client) -> None:
    found = data(known, "bad")
    assert found["details"]["vertex"]["state"] == "failed"
    assert found["details"]["vertex"]["reason"]
    assert found["attempts"][0]["outcome"] == "failed"
    assert found["attempts"][0]["reason"] == found["details"]["vertex"]["reason"]
    never = data(known, "never")
    assert never["details"]["vertex"]["state"] == "unreached"
    assert never["attempts"] == []


def logged(service: Service, settings: Settings, resource: str, message: str) -> None:
    """Record a line as the step of a resource in the stack's last operation does."""
    stack = service.stack("paged")
    order = SimpleNamespace(traversal_id=stack.traversal_id, no=1, stack_id=stack.id, key=resource)
    claim = cast("Claim", SimpleNamespace(order=order, attempt=7, action="CREATE", worker="w"))
    line = LogLine(at=1000.25, level="warning", message=message)
    with closing(Store.of(settings)) as store:
        store.step_logs.add([(claim, StepLines(lines=(line,), left_out=2))], most=9, seconds=9e9)


def test_what_its_steps_logged_is_shown_to_visitors_who_see_values(
    known: httpx.Client, open_one: httpx.Client, service: Service, settings: Settings
) -> None:
    logged(service, settings, "base", f"made {SHOWN}")
    (step,) = data(known, "base")["logs"]
    assert (step["action"], step["worker"], step["left_out"]) == ("CREATE", "w", 2)
    assert step["lines"] == [
        {"at": "1970-01-01T00:16:40.250000Z", "level": "warning", "message": f"made {SHOWN}"}
    ]
    assert data(known, ODD)["logs"] == []
    assert data(open_one, "base")["logs"] == []


def test_hidden_values_are_masked_as_by_the_command(known: httpx.Client) -> None:
    found = data(known, "secret")
    assert found["resource"]["properties"] == {"value": "******"}
    assert HIDDEN not in str(found)


def test_without_a_login_no_value_is_shown(open_one: httpx.Client) -> None:
    for resource in ("base", "secret", ODD):
        found = data(open_one, resource)
        assert found["shows_values"] is False
        assert found["resource"] is None
        assert SHOWN not in str(found)


def test_a_past_operation_has_the_attempts_of_its_own_and_no_present_values(
    known: httpx.Client, service: Service
) -> None:
    first = service.history("paged")[-1].id
    given = service.update(StackJob(name="paged", template=TEMPLATE.replace("fail: true", "fail: false")))
    assert list(service.watch(given.id))[-1].stack.status == "COMPLETE"
    past = data(known, "bad", traversal=first)
    assert past["details"]["vertex"]["state"] == "failed"
    assert past["resource"] is None
    assert {each["traversal_id"] for each in past["attempts"]} == {first}
    assert len(data(known, "bad")["attempts"]) > len(past["attempts"])


@pytest.mark.parametrize(
    "address",
    ["/stack/paged/resource/bose", "/stack/paged/resource/bose/data.json", "/stack/nothing/resource/base"],
)
def test_what_is_not_there_is_not_found(known: httpx.Client, address: str) -> None:
    assert known.get(address).status_code == 404


@pytest.mark.parametrize("address", ["/stack/paged/resource/base", "/stack/paged/resource/base/data.json"])
def test_a_resource_of_another_project_is_not_found(settings: Settings, made: str, address: str) -> None:
    assert made
    other = settings.with_values(project="another")
    with served(other, Store.of(other)) as dashboard, client(dashboard) as stranger:
        answer = stranger.get(address)
    assert answer.status_code == 404
    assert SHOWN not in answer.text
