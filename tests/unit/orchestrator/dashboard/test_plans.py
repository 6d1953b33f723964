"""Saved plans in the browser: made, looked at by another user, and applied once or refused."""

import base64
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest
import structlog.testing

from orchestrator.config.caller import acting_for
from orchestrator.config.settings import Settings
from orchestrator.dashboard.app import Dashboard
from orchestrator.errors import NotFound
from orchestrator.model.identity import OPERATOR, Caller, Identity
from orchestrator.model.messages import StackJob
from orchestrator.model.policy import Policy
from orchestrator.service import Service
from orchestrator.store.store import Store
from tests.unit.orchestrator.dashboard.serving import client, served

SECRET = "quince-4715"
TEMPLATE = """heat_template_version: 2021-04-16
parameters:
  word: {type: string, default: plum}
  length: {type: number, default: 12}
  password: {type: string, hidden: true}
resources:
  key: {type: OS::Heat::RandomString, properties: {length: {get_param: length}}}
  page:
    type: OS::Heat::TestResource
    properties: {value: {list_join: [" ", [{get_param: word}, {get_param: password}, {get_attr: [key, value]}]]}}
"""
PASSWORD = {"password": SECRET}
OPTIONS: Mapping[str, Any] = {
    "basic_auth": ["ann:secret", "bob:secret", "vic:secret"],
    "stack_actions": True,
    "stack_operators": ["ann", "bob"],
}
Clients = Mapping[str, httpx.Client]


@contextmanager
def serving(settings: Settings, service: Service, **more: Any) -> Iterator[tuple[Dashboard, Clients]]:
    """Serve a dashboard whose orders are carried out by a service that does the work itself."""
    with ExitStack() as stack:
        dashboard = stack.enter_context(served(settings, Store.of(settings), **{**OPTIONS, **more}))
        dashboard.service = service
        known = {
            name: stack.enter_context(client(dashboard, auth=(name, "secret")))
            for name in ("ann", "bob", "vic")
        }
        yield dashboard, {**known, "nobody": stack.enter_context(client(dashboard))}


@pytest.fixture(scope="module")
def clients(distributed: Settings, service: Service) -> Iterator[Clients]:
    """Clients of two operators, of a viewer, and of one who has not logged in."""
    with serving(distributed, service) as (_, clients):
        yield clients


def made(service: Service, name: str) -> str:
    """Return the id of a new stack that is complete."""
    stack = service.create(StackJob(name=name, template=TEMPLATE, parameters=PASSWORD))
    assert list(service.watch(stack.id))[-1].stack.status == "COMPLETE"
    return stack.id


def planned(asker: httpx.Client, name: str, **draft: Any) -> str:
    """Return the plan of an update that the editor saves."""
    seen = asker.get(f"/stack/{name}/actions.json").json()
    ids = {each: seen[each] for each in ("stack_id", "traversal_id")}
    answer = asker.post(f"/stack/{name}/act/plan", json={"template": TEMPLATE, "name": name, **ids, **draft})
    assert answer.status_code == 200, answer.text
    assert answer.json()["name"] == f"{name}.plan"
    plan: str = answer.json()["plan"]
    return plan


def look(asker: httpx.Client, plan: str) -> dict[str, Any]:
    answer = asker.post("/stacks/act/plan/show", json={"plan": plan})
    assert answer.status_code == 200, answer.text
    assert SECRET not in answer.text
    shown: dict[str, Any] = answer.json()
    return shown


def apply(asker: httpx.Client, plan: str, confirm: str, destroys: int = 0, **more: Any) -> httpx.Response:
    order = {"plan": plan, "confirm": confirm, "destroys": destroys, **more}
    return asker.post("/stacks/act/plan/apply", json=order)


def test_one_user_plans_another_looks_and_a_third_applies_it_once(clients: Clients, service: Service) -> None:
    stack_id = made(service, "reviewed")
    plan = planned(clients["ann"], "reviewed", parameters={"word": "pear", "length": 20})
    assert SECRET.encode() not in base64.b64decode(plan)

    seen = look(clients["vic"], plan)
    assert (seen["action"], seen["stack"], seen["user"]) == ("UPDATE", "reviewed", "ann")
    assert (seen["is_verified"], seen["obstacle"]) == (True, "")
    assert "vic is a viewer" in seen["refused"]
    assert seen["counts"] == {"DEPENDS": 1, "REPLACE": 1}
    key, page = seen["rows"]
    assert (key["action"], key["why"]) == ("REPLACE", "cannot be changed in place: length")
    assert key["changes"] == [
        {"path": "length", "before": 12, "after": 20, "meaning": "REPLACE", "is_certain": True}
    ]
    assert page["after"] == ["key"]
    assert [each["path"] for each in page["changes"]] == ["value"]
    assert seen["parameters"]["password"] == "******"
    assert look(clients["bob"], plan)["refused"] == ""

    begun = apply(clients["bob"], plan, "reviewed", seen["destroys"], comment="ticket 4711")
    assert begun.status_code == 202, begun.text
    assert begun.json()["message"] == "reviewed is being updated as planned"
    assert begun.json()["stack_id"] == stack_id
    assert list(service.watch(stack_id))[-1].stack.state == "UPDATE_COMPLETE"
    newest, first = clients["vic"].get("/stack/reviewed/history.json").json()["operations"]
    assert (newest["plan"], newest["planned_by"], newest["user"]) == (seen["id"], "ann", "bob")
    assert (newest["comment"], first["plan"]) == ("ticket 4711", "")

    again = apply(clients["bob"], plan, "reviewed", seen["destroys"])
    assert again.status_code == 409
    assert "was applied already" in again.json()["error"]
    assert look(clients["vic"], plan)["obstacle"] == again.json()["error"]


def test_a_plan_of_a_stack_that_has_moved_on_says_what_has_changed(
    clients: Clients, service: Service
) -> None:
    stack_id = made(service, "moved")
    plan = planned(clients["ann"], "moved", parameters={"word": "pear"})
    with acting_for(Caller(identity=Identity(user="eve", roles={"default": OPERATOR}), origin="test")):
        definition = replace(
            service.definition(stack_id), name=stack_id, job_id="", parameters={**PASSWORD, "word": "fig"}
        )
        service.update(definition)
    list(service.watch(stack_id))
    seen = look(clients["vic"], plan)
    assert "has moved on since the plan was made" in seen["obstacle"]
    assert "UPDATE by eve" in seen["obstacle"]
    assert "changed resources: page" in seen["obstacle"]
    refused = apply(clients["ann"], plan, "moved", seen["destroys"])
    assert (refused.status_code, refused.json()["error"]) == (409, seen["obstacle"])


def test_a_new_stack_is_made_as_it_was_planned(clients: Clients, service: Service) -> None:
    draft = {"template": TEMPLATE, "name": "new-one", "parameters": PASSWORD}
    plan = clients["ann"].post("/stacks/act/plan", json=draft).json()["plan"]
    seen = look(clients["bob"], plan)
    assert (seen["action"], seen["stack_id"], seen["destroys"]) == ("CREATE", "", 0)
    assert [each["name"] for each in seen["rows"]] == ["key", "page"]
    begun = apply(clients["bob"], plan, "new-one")
    assert begun.status_code == 202, begun.text
    assert list(service.watch(begun.json()["stack_id"]))[-1].stack.state == "CREATE_COMPLETE"
    assert "was applied already" in look(clients["bob"], plan)["obstacle"]


def test_a_deletion_is_planned_from_the_page_of_a_stack(clients: Clients, service: Service) -> None:
    stack_id = made(service, "leaving")
    assert clients["vic"].post("/stack/leaving/act/plan_deletion", json={}).status_code == 403
    service.protect("leaving")
    protected = clients["ann"].post("/stack/leaving/act/plan_deletion", json={})
    assert protected.status_code == 409
    assert "is protected" in protected.json()["error"]
    service.protect("leaving", protected=False)
    plan = clients["ann"].post(f"/stack/{stack_id}/act/plan_deletion", json={}).json()["plan"]
    seen = look(clients["ann"], plan)
    assert (seen["action"], seen["destroys"]) == ("DELETE", 2)
    assert [each["action"] for each in seen["rows"]] == ["DELETE", "DELETE"]
    assert (
        apply(clients["ann"], plan, "leaving", 2).json()["message"] == "leaving is being deleted as planned"
    )
    list(service.watch(stack_id))
    with pytest.raises(NotFound):
        service.stack("leaving")


def test_what_was_not_confirmed_is_not_done(clients: Clients, service: Service) -> None:
    stack_id = made(service, "confirmed")
    plan = planned(clients["ann"], "confirmed", parameters={"length": 20})
    destroyed = look(clients["ann"], plan)["destroys"]
    assert destroyed > 0
    refusals = {
        "confirm: expected is the stack's name, 'confirmed', and found is another": ("other", destroyed),
        f"destroys: expected is {destroyed}, how many": ("confirmed", destroyed + 1),
    }
    for sentence, (name, number) in refusals.items():
        answer = apply(clients["ann"], plan, name, number)
        assert answer.status_code == 400
        assert answer.json()["error"].startswith(sentence)
    assert len(service.observer.queries.history(stack_id)) == 1


def changed(plan: str, at: int) -> str:
    """Return a plan of which one byte is another."""
    content = bytearray(base64.b64decode(plan))
    content[at] ^= 1
    return base64.b64encode(content).decode()


def test_what_is_no_plan_of_this_installation_is_neither_shown_nor_applied(
    clients: Clients, service: Service
) -> None:
    made(service, "forged")
    plan = planned(clients["ann"], "forged", parameters={"word": "pear"})
    wrongs = {
        "": "plan: is needed",
        "?": "plan: expected is a plan's file, in base64",
        base64.b64encode(b"{}").decode(): "expected a plan that 'isotherm stack plan -o' wrote",
        changed(plan, -1): "the plan was changed after it was made",
        changed(plan, 200): "",
    }
    for wrong, sentence in wrongs.items():
        shown = clients["ann"].post("/stacks/act/plan/show", json={"plan": wrong})
        applied = apply(clients["ann"], wrong, "forged")
        assert (shown.status_code, applied.status_code) == (400, 400)
        assert sentence in shown.json()["error"]
        assert sentence in applied.json()["error"]
    malformed = apply(clients["ann"], plan, "forged", "1", more=True)  # type: ignore[arg-type]  # the point of it
    assert "destroys: expected is a number, and found is a text" in malformed.json()["error"]
    assert "more: there is no such field" in malformed.json()["error"]


def test_who_may_look_and_who_may_apply(clients: Clients, service: Service) -> None:
    made(service, "kept-from-others")
    plan = planned(clients["ann"], "kept-from-others", parameters={"word": "pear"})
    assert clients["nobody"].post("/stacks/act/plan/show", json={"plan": plan}).status_code == 401
    refused = apply(clients["vic"], plan, "kept-from-others")
    assert refused.status_code == 403
    assert "vic is a viewer" in refused.json()["error"]
    for path in ("/stacks/act/plan/show", "/stacks/act/plan/apply"):
        form = clients["ann"].post(path, content=b"{}", headers={"Content-Type": "text/plain"})
        assert form.status_code == 415
        foreign = clients["ann"].post(path, json={"plan": plan}, headers={"Sec-Fetch-Site": "cross-site"})
        assert foreign.status_code == 403


def test_without_a_login_no_values_of_a_plan_are_shown(
    distributed: Settings, service: Service, clients: Clients
) -> None:
    made(service, "open")
    plan = planned(clients["ann"], "open", parameters={"word": "pear"})
    with serving(distributed, service, basic_auth=None, stack_operators=None) as (_, opened):
        answer = opened["nobody"].post("/stacks/act/plan/show", json={"plan": plan})
    assert answer.status_code == 403
    assert "only visitors see who have logged in" in answer.json()["error"]


def test_a_plan_that_overrides_protection_needs_the_role_for_that(
    distributed: Settings, service: Service
) -> None:
    stack_id = made(service, "locked")
    service.protect(stack_id)
    filed = service.plans.packed(service.plans.of_delete(stack_id, unprotect=True))
    plan = base64.b64encode(filed).decode()
    with serving(distributed, service) as (dashboard, clients):
        dashboard.mode = replace(dashboard.mode, policy=Policy({"stack.unprotect": "administrator"}))
        assert "stack.unprotect" in look(clients["ann"], plan)["refused"]
        refused = apply(clients["ann"], plan, "locked", 2)
        assert refused.status_code == 403
        assert "stack.unprotect" in refused.json()["error"]
        assert service.stack(stack_id).status == "COMPLETE"
        dashboard.mode = replace(dashboard.mode, policy=Policy())
        assert apply(clients["ann"], plan, "locked", 2).status_code == 202
    list(service.watch(stack_id))


def test_four_eyes_hold_on_the_pages_too(tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = Settings(
        state_directory=tmp_path_factory.mktemp("eyes"), lifecycle={"four_eyes": {"enabled": True}}
    )
    with Service.open(settings) as service:
        url = settings.effective_database_url
        distributed = settings.with_values(broker_url="memory://", database_url=url)
        with serving(distributed, service) as (_, clients):
            draft = {"template": TEMPLATE, "name": "seen-twice", "parameters": PASSWORD}
            plan = clients["ann"].post("/stacks/act/plan", json=draft).json()["plan"]
            alone = apply(clients["ann"], plan, "seen-twice")
            assert alone.status_code == 409
            assert "'ann' made this one: have another user apply it" in alone.json()["error"]
            without = clients["ann"].post("/stacks/act/create", json=draft)
            assert without.status_code == 409
            both = apply(clients["bob"], plan, "seen-twice")
            assert both.status_code == 202, both.text
            list(service.watch(both.json()["stack_id"]))


def test_what_is_applied_and_what_is_refused_is_logged(clients: Clients, service: Service) -> None:
    made(service, "logged")
    plan = planned(clients["ann"], "logged", parameters={"word": "pear"})
    with structlog.testing.capture_logs() as noted:
        apply(clients["ann"], plan, "logged", 99)
        done = apply(clients["ann"], plan, "logged", look(clients["ann"], plan)["destroys"])
    assert done.status_code == 202
    refused, acted = [each for each in noted if each["event"].startswith(("an action", "an operator"))]
    assert (refused["action"], refused["stack"], refused["who"], refused["code"]) == (
        "apply",
        "logged",
        "ann",
        400,
    )
    assert (acted["who"], acted["stack"], acted["result"]) == (
        "ann",
        "logged",
        "logged is being updated as planned",
    )
    list(service.watch(service.stack("logged").id))
    assert ("ann", "stack.update") in {
        (each.entry.user, each.entry.action) for each in service.audit_records(50)
    }
