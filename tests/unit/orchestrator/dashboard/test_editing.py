"""The editor's steps from the browser to the store: validated, previewed, created and updated, or refused."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog.testing

from orchestrator.config.settings import Settings
from orchestrator.errors import NotFound
from orchestrator.service import Service
from orchestrator.store.store import Store
from tests.unit.orchestrator.dashboard.serving import client, served

TEMPLATE = """heat_template_version: 2021-04-16
parameters:
  word: {type: string}
  password: {type: string, hidden: true}
resources:
  one: {type: OS::Heat::TestResource, properties: {value: {get_param: word}}}
"""
SECRET = "quince-4714"
GIVEN = {"word": "plum", "password": SECRET}


@pytest.fixture(scope="module")
def clients(distributed: Settings, service: Service) -> Iterator[dict[str, httpx.Client]]:
    """Clients of an operator and of a viewer; what is ordered is done by a service that does the work itself."""
    options = {
        "basic_auth": ["ann:secret", "vic:secret"],
        "stack_actions": True,
        "stack_operators": ["ann"],
    }
    with ExitStack() as stack:
        dashboard = stack.enter_context(served(distributed, Store.of(distributed), **options))
        dashboard.service = service
        yield {name: stack.enter_context(client(dashboard, auth=(name, "secret"))) for name in ("ann", "vic")}


@pytest.fixture
def operator(clients: dict[str, httpx.Client]) -> httpx.Client:
    return clients["ann"]


def post(asker: httpx.Client, path: str, **draft: Any) -> httpx.Response:
    return asker.post(path, json={"template": TEMPLATE, **draft})


def test_a_stack_is_validated_previewed_created_and_updated(operator: httpx.Client, service: Service) -> None:
    declared = post(operator, "/stacks/act/validate").json()
    assert [(each["name"], each["required"]) for each in declared["parameters"]] == [
        ("word", True),
        ("password", True),
    ]
    plan = post(operator, "/stacks/act/preview", name="drafted", parameters=GIVEN)
    assert plan.status_code == 200, plan.text
    assert plan.json()["counts"] == {"CREATE": 1}
    assert SECRET not in plan.text
    with pytest.raises(NotFound):
        service.stack("drafted")

    with structlog.testing.capture_logs() as noted:
        made = post(operator, "/stacks/act/create", name="drafted", parameters=GIVEN)
    assert made.status_code == 202, made.text
    assert made.json()["message"] == "drafted is being created"
    (line,) = [each for each in noted if each["event"] == "an operator acted on a stack"]
    assert (line["stack"], line["action"], line["who"]) == ("drafted", "create", "ann")
    assert list(service.watch(made.json()["stack_id"]))[-1].stack.status == "COMPLETE"

    shown = {name: made.json()[name] for name in ("stack_id", "traversal_id")} | {"name": "drafted"}
    plan = post(operator, "/stack/drafted/act/preview", **shown, parameters={"word": "pear"})
    assert plan.status_code == 200, plan.text
    (row,) = plan.json()["rows"]
    assert row["action"] == "UPDATE"
    assert [(each["path"], each["before"], each["after"]) for each in row["changes"]] == [
        ("value", "plum", "pear")
    ]
    changed = post(operator, "/stack/drafted/act/update", **shown, parameters={"word": "pear"})
    assert changed.status_code == 202, changed.text
    assert list(service.watch(shown["stack_id"]))[-1].stack.status == "COMPLETE"
    # The hidden value was never sent to the page, and is still there.
    assert service.definition("drafted").parameters == {"word": "pear", "password": SECRET}
    assert SECRET not in operator.get("/stack/drafted/template.json").text

    late = post(operator, "/stack/drafted/act/update", **shown, parameters={"word": "fig"})
    assert late.status_code == 409
    assert "another operation meanwhile" in late.json()["error"]


def test_a_wrong_draft_touches_nothing_and_has_places(operator: httpx.Client, service: Service) -> None:
    wrong = TEMPLATE.replace("TestResource", "TestResourse")
    for step in ("validate", "preview", "create"):
        answer = operator.post(
            f"/stacks/act/{step}", json={"template": wrong, "name": "wrong", "parameters": GIVEN}
        )
        assert answer.status_code == (200 if step == "validate" else 400)
        (problem,) = answer.json()["problems"]
        assert problem["position"]["line"] == 6
        assert problem["path"].startswith("resources.one")
    with pytest.raises(NotFound):
        service.stack("wrong")
    assert post(operator, "/stacks/act/create", parameters=GIVEN, name="").status_code == 400


def test_who_may_not_act_may_not_try_either(clients: dict[str, httpx.Client]) -> None:
    for path in (
        "/stacks/act/validate",
        "/stacks/act/preview",
        "/stacks/act/create",
        "/stack/web/act/update",
    ):
        answer = post(clients["vic"], path, name="nothing", parameters=GIVEN)
        assert answer.status_code == 403, path
        assert "vic is a viewer" in answer.json()["error"]


def test_the_editor_says_why_a_visitor_may_not_use_it(clients: dict[str, httpx.Client]) -> None:
    for path in ("/stacks/new", "/stack/web/edit"):
        assert "Vic is a viewer" in clients["vic"].get(path).text
        assert "edit-refused" not in clients["ann"].get(path).text
    assert clients["ann"].get("/stack/no-such-stack/edit").status_code == 404


def test_pages_on_which_stacks_are_changed_lead_back(operator: httpx.Client, service: Service) -> None:
    stack_id = service.stack("web").id
    for path, places in (
        ("/stacks/new", ["/stacks"]),
        ("/stacks/plans", ["/stacks"]),
        ("/stack/web/edit", ["/stacks", f"/stack/{stack_id}"]),
        ("/stack/web/plans", ["/stacks", f"/stack/{stack_id}"]),
    ):
        trail = operator.get(path).text.partition('<nav class="trail"')[2].partition("</nav>")[0]
        assert re.findall('href="([^"]*)"', trail) == places, path


def test_what_a_form_of_another_site_could_send_is_refused(operator: httpx.Client) -> None:
    form = operator.post(
        "/stacks/act/create", content=b'{"template": "x"}', headers={"Content-Type": "text/plain"}
    )
    assert form.status_code == 415
    foreign = operator.post("/stacks/act/create", json={}, headers={"Sec-Fetch-Site": "cross-site"})
    assert foreign.status_code == 403


def test_objects_are_taken_in_as_they_were_previewed(
    operator: httpx.Client, clients: dict[str, httpx.Client], service: Service
) -> None:
    page = Path(service.settings.state_directory) / "files" / "by-hand-4711.txt"
    page.parent.mkdir(exist_ok=True)
    page.write_text("by hand")
    made = post(operator, "/stacks/act/create", name="taking", parameters=GIVEN).json()
    assert list(service.watch(made["stack_id"]))[-1].stack.status == "COMPLETE"
    given = f"{{path: {page.name}, content: welcome}}"
    more = f"{TEMPLATE}  two: {{type: Isotherm::Node::File, properties: {given}}}\n"
    draft = {name: made[name] for name in ("stack_id", "traversal_id")} | {"name": "taking", "template": more}
    draft |= {"objects": f"two = {page}\n"}
    for step in ("import_preview", "import"):
        answer = clients["vic"].post(f"/stack/taking/act/{step}", json=draft)
        assert answer.status_code == 403, step
    plan = operator.post("/stack/taking/act/import_preview", json=draft)
    assert plan.status_code == 200, plan.text
    assert {each["name"]: each["action"] for each in plan.json()["rows"]} == {
        "one": "UNCHANGED",
        "two": "ADOPT",
    }
    assert plan.json()["has_changes"]
    wrong = operator.post("/stack/taking/act/import", json=draft | {"objects": "two"})
    assert wrong.status_code == 400
    assert wrong.json()["problems"][0]["message"] == "line 1: expected RESOURCE=ID, found 'two'"
    elsewhere = operator.post("/stack/taking/act/import", json=draft | {"parameters": {"word": "pear"}})
    assert elsewhere.status_code == 400
    assert elsewhere.json()["problems"][0]["path"] == "resources.one"
    assert service.stack("taking").state == "CREATE_COMPLETE"

    with structlog.testing.capture_logs() as noted:
        done = operator.post("/stack/taking/act/import", json=draft | {"comment": "ticket 4712"})
    assert done.status_code == 202, done.text
    (line,) = [each for each in noted if each["event"] == "an operator acted on a stack"]
    assert (line["stack"], line["action"], line["who"]) == ("taking", "import", "ann")
    assert list(service.watch(made["stack_id"]))[-1].stack.state == "ADOPT_COMPLETE"
    assert service.resource("taking", "two").physical_id == str(page)
    assert page.read_text() == "by hand"
    assert service.definition("taking").parameters == GIVEN
    late = operator.post("/stack/taking/act/import", json=draft)
    assert late.status_code == 409
