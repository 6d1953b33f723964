"""Parts of stacks by the API: resources, events, outputs, snapshots, actions and signals."""

from collections.abc import Iterator, Mapping
from itertools import count

import falcon
import pytest

from orchestrator.model.signed_signals import is_genuine
from tests.unit.orchestrator.api.conftest import TEMPLATE, Client
from tests.waiting import until

NUMBERS = count(1)
WAITING = {
    "heat_template_version": "2018-08-31",
    "resources": {
        "handle": {"type": "OS::Heat::WaitConditionHandle"},
        "wait": {
            "type": "OS::Heat::WaitCondition",
            "properties": {"handle": {"get_resource": "handle"}, "timeout": 300},
        },
    },
    "outputs": {"data": {"value": {"get_attr": ["wait", "data"]}}},
}
NESTED = {
    "heat_template_version": "2018-08-31",
    "resources": {"outer": {"type": "inner.yaml"}},
}


def test_resources_say_what_requires_them(client: Client) -> None:
    path = client.create("resources")
    found = {each["resource_name"]: each for each in client.get(f"{path}/resources")["resources"]}
    assert found["text"]["required_by"] == ["copy"]
    assert found["copy"]["required_by"] == []
    text = found["text"]
    assert (text["resource_type"], text["resource_status"]) == ("OS::Heat::RandomString", "CREATE_COMPLETE")
    assert text["logical_resource_id"] == "text"
    assert [each["rel"] for each in text["links"]] == ["self", "stack"]
    assert "attributes" not in text
    shown = client.get(f"{path}/resources/text", params={"with_attr": "other"})["resource"]
    assert len(shown["attributes"]["value"]) == 8
    assert shown["attributes"]["other"] is None
    assert client.get(f"{path}/resources/text/metadata") == {"metadata": {}}


def test_resources_are_filtered(client: Client) -> None:
    path = client.create("filtered")

    def names(**query: str) -> list[str]:
        return [each["resource_name"] for each in client.get(f"{path}/resources", params=query)["resources"]]

    assert names(type="OS::Heat::RandomString") == names(name="text") == ["text"]
    assert names(status="COMPLETE", action="CREATE") == names(status="CREATE_COMPLETE")
    assert names(status="FAILED") == []
    assert client.ask("GET", f"{path}/resources", params={"colour": "red"}).status == falcon.HTTP_BAD_REQUEST


def test_resources_of_nested_stacks_have_the_address_of_their_stack(client: Client) -> None:
    inner = "heat_template_version: 2018-08-31\nresources: {leaf: {type: OS::Heat::None}}"
    path = client.create("nested", template=NESTED, files={"inner.yaml": inner})
    outer, leaf = client.get(f"{path}/resources", params={"nested_depth": 3})["resources"]
    assert (outer["resource_name"], leaf["resource_name"]) == ("outer", "leaf")
    assert leaf["parent_resource"] == "outer"
    href = next(each["href"] for each in leaf["links"] if each["rel"] == "stack")
    below = client.get(href.partition("/v1/acme")[2])["stack"]
    assert below["parent"] == path.rpartition("/")[2]
    assert [
        each["stack_name"] for each in client.get("/stacks", params={"owner_id": below["parent"]})["stacks"]
    ] == [below["stack_name"]]


def test_events_of_nested_stacks_are_in_one_list_with_the_address_of_their_stack(client: Client) -> None:
    leaf = "heat_template_version: 2018-08-31\nresources: {leaf: {type: OS::Heat::None}}"
    middle = "heat_template_version: 2018-08-31\nresources: {outer: {type: leaf.yaml}}"
    files = {"inner.yaml": middle, "leaf.yaml": leaf}
    path = client.create("within", template=NESTED, files=files)

    def names(**query: str) -> list[str]:
        found = client.get(f"{path}/events", params=query)["events"]
        for each in found:
            links = {link["rel"]: link["href"] for link in each["links"]}
            assert links["root_stack"].endswith(path)
            stack = client.get(links["stack"].partition("/v1/acme")[2])["stack"]
            of_stack = f"/resources/{each['resource_name']}/events/{each['id']}"
            assert links["self"] == links["stack"] + of_stack
            assert client.get(links["self"].partition("/v1/acme")[2])["event"]["id"] == each["id"]
            seen.add(stack["stack_name"])
        return [each["resource_name"] for each in found]

    seen: set[str] = set()
    every = names(nested_depth="5")
    assert (every[0], every[-1], len(seen)) == ("within", "within", 3)
    assert "leaf" in every
    assert "leaf" not in names(nested_depth="1")
    assert names(nested_depth="5", limit="3") == every[:3]
    assert names(nested_depth="5", sort_dir="desc") == every[::-1]
    assert names(nested_depth="5", resource_name="leaf") == ["leaf", "leaf"]
    third = client.get(f"{path}/events", params={"nested_depth": 5})["events"][2]["id"]
    assert names(nested_depth="5", marker=third) == every[3:]


def test_unhealthy_resource_is_check_failed_and_replaced_by_an_update(client: Client) -> None:
    path = client.create("unhealthy")
    before = client.get(f"{path}/resources/copy")["resource"]["physical_resource_id"]
    # By its object, as operators of a cloud know it.
    answer = client.ask(
        "PATCH",
        f"{path}/resources/{before}",
        json={"mark_unhealthy": True, "resource_status_reason": "smoke"},
    )
    assert (answer.status, answer.text) == (falcon.HTTP_OK, "null")
    assert client.get(f"{path}/resources/copy")["resource"]["resource_status"] == "CHECK_FAILED"
    client.ask("PATCH", path, json={})
    client.wait(path, "UPDATE_COMPLETE")
    after = client.get(f"{path}/resources/copy")["resource"]
    assert after["physical_resource_id"] != before
    assert after["resource_status"] == "CREATE_COMPLETE"


def test_events_are_in_order_and_continue_after_the_last(client: Client) -> None:
    path = client.create("events")
    found = client.get(f"{path}/events")["events"]
    assert [(each["resource_name"], each["resource_status"]) for each in found] == [
        ("events", "CREATE_IN_PROGRESS"),
        ("text", "CREATE_IN_PROGRESS"),
        ("text", "CREATE_COMPLETE"),
        ("copy", "CREATE_IN_PROGRESS"),
        ("copy", "CREATE_COMPLETE"),
        ("events", "CREATE_COMPLETE"),
    ]
    of_stack = found[0]
    assert of_stack["physical_resource_id"] == path.rpartition("/")[2]
    rest = client.get(f"{path}/events", params={"marker": found[3]["id"], "limit": 1})["events"]
    assert rest == found[4:5]
    newest = client.get(f"{path}/events", params={"sort_dir": "desc", "marker": found[2]["id"]})["events"]
    assert newest == found[1::-1]
    assert client.get(f"{path}/resources/text/events")["events"] == found[1:3]
    one = client.get(f"{path}/resources/text/events/{found[2]['id']}")["event"]
    assert one["resource_type"] == "OS::Heat::RandomString"
    for missing in ("/resources/copy/events/1", "/resources/text/events/x", "/resources/none/events"):
        assert client.ask("GET", path + missing).status == falcon.HTTP_NOT_FOUND


def test_outputs_are_listed_without_values(client: Client) -> None:
    path = client.create("outputs")
    assert client.get(f"{path}/outputs") == {"outputs": [{"output_key": "word", "description": "the text"}]}
    assert len(client.get(f"{path}/outputs/word")["output"]["output_value"]) == 8
    assert client.ask("GET", f"{path}/outputs/wor").status == falcon.HTTP_NOT_FOUND


def test_template_is_a_map(client: Client) -> None:
    path = client.create("template")
    assert client.get(f"{path}/template") == TEMPLATE
    assert client.get(f"{path}/export")["template"] == TEMPLATE


def test_actions_begin_what_they_name(client: Client) -> None:
    path = client.create("acting")
    for action, state in (
        ("check", "CHECK_COMPLETE"),
        ("suspend", "SUSPEND_COMPLETE"),
        ("resume", "RESUME_COMPLETE"),
    ):
        answer = client.ask("POST", f"{path}/actions", json={action: None})
        assert (answer.status, answer.text) == (falcon.HTTP_OK, "null")
        client.wait(path, state)
    for body in ({}, {"suspend": None, "resume": None}, {"dance": None}, ["suspend"]):
        assert client.ask("POST", f"{path}/actions", json=body).status == falcon.HTTP_BAD_REQUEST
    busy = client.ask("POST", f"{path}/actions", json={"cancel_update": None})
    assert (busy.status, busy.json["error"]["type"]) == (falcon.HTTP_CONFLICT, "ActionInProgress")


def test_snapshot_is_taken_restored_and_deleted(client: Client) -> None:
    path = client.create("kept")
    made = client.ask("POST", f"{path}/snapshots", json={"name": "first"}).json
    client.wait(path, "SNAPSHOT_COMPLETE")
    (listed,) = client.get(f"{path}/snapshots")["snapshots"]
    assert (listed["id"], listed["name"], listed["status"]) == (made["id"], "first", "COMPLETE")
    shown = client.get(f"{path}/snapshots/{made['id']}")["snapshot"]
    assert "copy" in shown["data"]["resources"]
    assert client.ask("POST", f"{path}/snapshots/{made['id']}/restore").status == falcon.HTTP_ACCEPTED
    client.wait(path, "RESTORE_COMPLETE")
    assert client.ask("DELETE", f"{path}/snapshots/{made['id']}").status == falcon.HTTP_NO_CONTENT
    until(lambda: client.get(f"{path}/snapshots") == {"snapshots": []})


def test_signal_ends_the_wait_for_it(client: Client) -> None:
    answer = client.ask("POST", "/stacks", json={"stack_name": "waits", "template": WAITING})
    path = f"/stacks/waits/{answer.json['stack']['id']}"
    until(
        lambda: len(client.get(f"{path}/resources", params={"name": "wait", "action": "CREATE"})["resources"])
    )
    signal = {"status": "SUCCESS", "id": "1", "reason": "done", "data": "all of it"}
    told = client.ask("POST", f"{path}/resources/handle/signal", json=signal)
    assert (told.status, told.text) == (falcon.HTTP_OK, "null")
    found = client.wait(path, "CREATE_COMPLETE")
    assert "all of it" in found["outputs"][0]["output_value"]


@pytest.fixture
def address(client: Client) -> Iterator[str]:
    """The signed address of the handle of a stack that waits, below the project."""
    name = f"signed{next(NUMBERS)}"
    answer = client.ask("POST", "/stacks", json={"stack_name": name, "template": WAITING})
    path = f"/stacks/{name}/{answer.json['stack']['id']}"

    def handle() -> str | None:
        (found,) = client.get(f"{path}/resources", params={"name": "handle"})["resources"]
        is_made = found["resource_status"] == "CREATE_COMPLETE"
        return (
            client.get(f"{path}/resources/handle")["resource"]["attributes"]["endpoint"] if is_made else None
        )

    made = until(handle)
    assert made.startswith("http://heat.example.com/v1/acme/stacks/")
    yield made.partition("/v1/acme")[2]
    client.ask("DELETE", path)


def test_signed_address_signals_its_resource_without_a_token(
    clients: Mapping[str, Client], client: Client, address: str
) -> None:
    path, _, query = address.partition("?")
    told = clients[""].ask("POST", path, query_string=query, json={"data": "by address"})
    assert (told.status, told.text) == (falcon.HTTP_OK, "null")
    found = client.wait(path.partition("/resources/")[0], "CREATE_COMPLETE")
    assert "by address" in found["outputs"][0]["output_value"]


def test_signed_address_opens_nothing_else(
    clients: Mapping[str, Client], client: Client, address: str
) -> None:
    path, _, query = address.partition("?")
    other = client.create(
        f"other{next(NUMBERS)}",
        template={
            **WAITING,
            "resources": {"handle": {"type": "OS::Heat::WaitConditionHandle"}},
            "outputs": {},
        },
    )
    wrong = {
        "another resource": (path.replace("/handle/", "/wait/"), query),
        "another stack": (f"{other}/resources/handle/signal", query),
        "no stack": ("/stacks/a/b/resources/handle/signal", query),
        "a later end": (path, query.replace("expires=", "expires=9")),
        "another signature": (path, query[:-1] + ("0" if query[-1] != "0" else "1")),
        "no end": (path, query.partition("&")[2]),
        "no signature": (path, "signature="),
    }
    for what, (where, given) in wrong.items():
        answer = clients[""].ask("POST", where, query_string=given, json={})
        assert answer.status in (falcon.HTTP_FORBIDDEN, falcon.HTTP_UNAUTHORIZED), what
    hook = clients[""].ask("POST", path, query_string=query, json={"unset_hook": "pre-create"})
    assert hook.status == falcon.HTTP_FORBIDDEN
    for method, where in (
        ("GET", path.partition("/resources/")[0]),
        ("DELETE", path.partition("/resources/")[0]),
    ):
        assert clients[""].ask(method, where, query_string=query).status == falcon.HTTP_UNAUTHORIZED


def test_signed_address_expires(
    clients: Mapping[str, Client], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _, query = address.partition("?")
    monkeypatch.setattr(
        "orchestrator.engine.resource_keys.is_genuine",
        lambda data, *, now, **given: is_genuine(data, now=now + 366 * 86400, **given),
    )
    assert clients[""].ask("POST", path, query_string=query, json={}).status == falcon.HTTP_FORBIDDEN


def test_signal_that_nothing_takes_is_refused(client: Client) -> None:
    path = client.create("deaf")
    answer = client.ask("POST", f"{path}/resources/text/signal")
    assert (answer.status, answer.json["error"]["type"]) == (
        falcon.HTTP_BAD_REQUEST,
        "ResourceActionNotSupported",
    )
    assert client.ask("POST", f"{path}/resources/text/signal", json=[1]).status == falcon.HTTP_BAD_REQUEST
