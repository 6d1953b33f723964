"""Actions from the browser to the store: what is ordered happens to the stack, and to no other."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog.testing

from orchestrator.config.settings import Settings
from orchestrator.errors import Conflict, NotFound
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.queries.observer import Observer
from orchestrator.service import Service
from orchestrator.store.store import Store
from tests.unit.orchestrator.dashboard.serving import client, served
from tests.waiting import PATIENCE_SECONDS

FAILING = """
heat_template_version: 2021-04-16
parameters: {fails: {type: boolean, default: true}}
resources:
  "one[*]": {type: OS::Heat::TestResource, properties: {fail: {get_param: fails}}}
"""
HELD = """
heat_template_version: 2021-04-16
resources:
  "one[*]": {type: OS::Heat::None}
  onea: {type: OS::Heat::None}
"""
HOOKED = EnvironmentSource(
    file="hooked.yaml", source='resource_registry: {resources: {"*": {hooks: pre-create}}}'
)


@pytest.fixture(scope="module")
def operator(distributed: Settings, service: Service) -> Iterator[httpx.Client]:
    """An operator's client; what is ordered is done by a service that does the work itself."""
    options = {
        "basic_auth": ["ann:secret"],
        "stack_actions": True,
        "stack_operators": ["ann"],
    }
    with served(distributed, Store.of(distributed), **options) as dashboard:
        dashboard.service = service
        with client(dashboard, auth=("ann", "secret")) as made:
            yield made


def offers(operator: httpx.Client, stack: str) -> dict[str, Any]:
    answer = operator.get(f"/stack/{stack}/actions.json")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def act(operator: httpx.Client, stack: str, action: str, **more: Any) -> httpx.Response:
    seen = offers(operator, stack)
    order = {name: seen[name] for name in ("stack_id", "traversal_id")} | {"confirm": seen["stack"], **more}
    return operator.post(f"/stack/{stack}/act/{action}", json=order)


def test_a_failed_stack_is_tried_again_and_deleted(operator: httpx.Client, service: Service) -> None:
    made = service.create(StackJob(name="failing", template=FAILING))
    assert list(service.watch(made.id))[-1].stack.status == "FAILED"
    assert offers(operator, "failing")["unfit"]["retry"] == ""

    again = act(operator, "failing", "retry", comment="the disk is back")
    assert again.status_code == 202, again.text
    assert again.json()["traversal_id"] != made.traversal_id
    last = list(service.watch(made.id))[-1].stack
    assert (last.action, last.status) == ("UPDATE", "FAILED")
    # Twice is two operations: a definition is no job that was sent before.
    assert act(operator, "failing", "retry").json()["traversal_id"] != again.json()["traversal_id"]
    list(service.watch(made.id))

    newest, retried, _ = operator.get("/stack/failing/history.json").json()["operations"]
    assert (retried["user"], retried["comment"]) == ("ann", "the disk is back")
    assert newest["comment"] == ""
    head = operator.get(f"/stack/failing/head.json?traversal={retried['id']}").json()["operation"]
    assert (head["user"], head["comment"]) == ("ann", "the disk is back")
    assert "the disk is back" in {each.entry.detail for each in service.audit_records(50)}

    gone = act(operator, "failing", "delete")
    assert gone.json()["message"] == "failing is being deleted"
    list(service.watch(made.id))
    with pytest.raises(NotFound):
        service.stack("failing")
    assert set(offers(operator, made.id)["unfit"].values()) == {"the stack is deleted"}


def test_a_stack_is_suspended_kept_in_a_snapshot_and_its_resource_marked(
    operator: httpx.Client, service: Service
) -> None:
    template = FAILING.replace("default: true", "default: false")
    made = service.create(StackJob(name="kept", template=template))

    def state() -> str:
        return list(service.watch(made.id))[-1].stack.state

    assert state() == "CREATE_COMPLETE"
    for action, expected in (
        ("check", "CHECK_COMPLETE"),
        ("suspend", "SUSPEND_COMPLETE"),
        ("resume", "RESUME_COMPLETE"),
    ):
        answer = act(operator, "kept", action)
        assert answer.status_code == 202, answer.text
        assert state() == expected
    assert offers(operator, "kept")["unfit"]["resume"] == "the stack is not suspended: it is RESUME_COMPLETE"
    assert offers(operator, "kept")["unfit"]["restore"] == "there is no complete snapshot to restore"

    act(operator, "kept", "snapshot", snapshot="before")
    assert state() == "SNAPSHOT_COMPLETE"
    (snapshot,) = offers(operator, "kept")["snapshots"]
    assert snapshot["name"] == "before"
    assert act(operator, "kept", "restore", snapshot=snapshot["id"]).status_code == 202
    assert state() == "RESTORE_COMPLETE"
    assert act(operator, "kept", "restore", snapshot="after").status_code == 404

    marked = act(operator, "kept", "mark_unhealthy", resource="one[*]", comment="its disk is dying")
    assert marked.json()["message"] == "one[*] is CHECK_FAILED now"
    assert "its disk is dying" in service.resource("kept", "one[*]").reason
    assert act(operator, "kept", "mark_healthy", resource="one[*]").status_code == 202
    assert service.resource("kept", "one[*]").state == "CHECK_COMPLETE"


def test_a_stack_and_a_resource_are_protected_and_given_free_again(
    operator: httpx.Client, service: Service
) -> None:
    made = service.create(
        StackJob(name="sheltered", template=FAILING.replace("default: true", "default: false"))
    )
    list(service.watch(made.id))
    protected = act(operator, "sheltered", "protect", comment="holds the orders")
    assert protected.json()["message"] == "sheltered is protected now"
    assert operator.get("/stack/sheltered/head.json").json()["protected"] is True
    assert "is protected" in offers(operator, "sheltered")["unfit"]["delete"]
    assert act(operator, "sheltered", "delete").status_code == 409
    event = service.observer.queries.events(made.id, newest_first=True)[0]
    assert (event.action, event.reason) == ("PROTECT", "holds the orders")
    free = act(operator, "sheltered", "unprotect")
    assert free.json()["message"] == "sheltered is not protected any more"
    assert not service.stack(made.id).protected

    assert (
        act(operator, "sheltered", "protect", resource="one[*]").json()["message"]
        == "one[*] is protected now"
    )
    assert service.resource(made.id, "one[*]").protected
    assert act(operator, "sheltered", "unprotect", resource="two").status_code == 404
    act(operator, "sheltered", "unprotect", resource="one[*]")
    assert not service.resource(made.id, "one[*]").protected
    assert {"stack.protect", "stack.unprotect"} <= {each.entry.action for each in service.audit_records(50)}


def test_of_orders_that_come_at_once_one_is_carried_out(operator: httpx.Client, service: Service) -> None:
    made = service.create(StackJob(name="twice", template=FAILING))
    assert list(service.watch(made.id))[-1].stack.status == "FAILED"
    seen = offers(operator, "twice")
    order = {name: seen[name] for name in ("stack_id", "traversal_id")} | {"confirm": "twice"}
    with ThreadPoolExecutor(4) as clicks:
        # By name and by id: it is the same stack.
        paths = [f"/stack/{name}/act/retry" for name in ("twice", made.id, "twice", made.id)]
        answers = list(clicks.map(lambda path: operator.post(path, json=order), paths))
    assert sorted(answer.status_code for answer in answers) == [202, 409, 409, 409]
    assert len(operator.get("/stack/twice/history.json").json()["operations"]) == 2
    list(service.watch(made.id))


def test_the_hook_that_is_named_is_cleared_and_no_other(operator: httpx.Client, service: Service) -> None:
    made = service.create(StackJob(name="held", template=HELD, environments=(HOOKED,)))
    next(progress for progress in service.watch(made.id) if len(progress.hooks) == 2)
    standing = {each["resource"] for each in offers(operator, "held")["hooks"]}
    assert standing == {"one[*]", "onea"}
    cleared = act(operator, "held", "clear_hook", resource="one[*]", kind="pre-create")
    assert cleared.json()["message"] == "cleared: one[*] (pre-create)"
    assert {each["resource"] for each in offers(operator, "held")["hooks"]} == {"onea"}
    assert act(operator, "held", "cancel").status_code == 202


def test_what_the_engine_says_against_it_is_told(operator: httpx.Client) -> None:
    answer = act(operator, "web", "signal", resource="onee", details={})
    assert answer.status_code == 404
    assert "did you mean 'one'?" in answer.json()["error"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_what_a_form_of_another_site_could_send_is_refused(kind: str, operator: httpx.Client) -> None:
    order = json.dumps({"stack_id": "s", "traversal_id": "t", "confirm": "web"}).encode()
    answer = operator.post("/stack/web/act/delete", content=order, headers={"Content-Type": kind})
    assert answer.status_code == 415
    assert answer.json() == {"error": "an order is sent as application/json"}


def test_a_page_of_yesterday_acts_on_nothing(operator: httpx.Client, service: Service) -> None:
    order = {"stack_id": service.stack("web").id, "traversal_id": "long ago", "confirm": "web"}
    answer = operator.post("/stack/web/act/retry", json=order)
    assert answer.status_code == 409
    assert "look at it again" in answer.json()["error"]


def test_no_error_shows_where_in_the_program_it_was(
    operator: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> Any:
        raise ZeroDivisionError("of the secret word")

    monkeypatch.setattr(Store, "past", property(fails), raising=False)
    answer = operator.get("/stack/web/actions.json")
    assert answer.status_code == 500
    assert "secret word" not in answer.text
    assert "Traceback" not in answer.text


def test_what_is_told_is_text_on_a_page(operator: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: Any) -> Any:
        raise Conflict("<b>busy</b>")

    monkeypatch.setattr(Observer, "head", refuses)
    answer = operator.get("/stack/web/events")
    assert answer.status_code == 409
    assert "&lt;b&gt;busy&lt;/b&gt;" in answer.text
    assert "<b>busy" not in answer.text
    assert "<h1>Conflict</h1>" in answer.text


def test_an_order_of_somebody_unknown_is_noted(operator: httpx.Client) -> None:
    with structlog.testing.capture_logs() as noted:
        answer = operator.post("/stack/web/act/delete", json={}, auth=("ann", "wrong"))
    assert answer.status_code == 401
    assert "not logged in" in answer.json()["error"]
    (line,) = [each for each in noted if each["event"] == "an action on a stack was refused"]
    assert (line["stack"], line["action"], line["who"], line["code"]) == ("web", "delete", None, 401)
    assert line["address"] == "127.0.0.1"


def test_a_proxy_before_a_socket_of_files_is_believed(distributed: Settings, tmp_path: Path) -> None:
    socket = str(tmp_path / "dashboard")
    options = {"unix_socket": socket, "xheaders": True, "basic_auth": ["ann:secret"]}
    with (
        served(distributed, Store.of(distributed), **options),
        httpx.Client(
            transport=httpx.HTTPTransport(uds=socket), auth=("ann", "secret"), timeout=PATIENCE_SECONDS
        ) as proxy,
        structlog.testing.capture_logs() as noted,
    ):
        headers = {"X-Real-IP": "203.0.113.9"}
        answer = proxy.post("http://any.example.org/stack/web/act/delete", json={}, headers=headers)
    assert answer.status_code == 403
    (line,) = [each for each in noted if each["event"] == "an action on a stack was refused"]
    assert (line["address"], line["who"]) == ("203.0.113.9", "ann")
