"""Software configs and deployments by the API: what clients see of them, and what is refused."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import falcon
import pytest

from orchestrator.api.door import Door
from orchestrator.config.settings import Settings
from tests.unit.orchestrator.api.conftest import Client

CONFIG: Mapping[str, Any] = {
    "name": "greet",
    "group": "script",
    "config": "#!/bin/sh\necho $who",
    "inputs": [{"name": "who", "default": "all"}, {"name": "how", "type": "Json", "value": None}],
    "outputs": [{"name": "said", "error_output": True}],
    "options": {"as": "root"},
}
CONFIGS, DEPLOYMENTS = "/software_configs", "/software_deployments"


def made(client: Client, path: str, **body: Any) -> dict[str, Any]:
    answer = client.ask("POST", path, json=body)
    assert answer.status == falcon.HTTP_OK, answer.text
    found: dict[str, Any] = answer.json[path[1:-1]]
    return found


def deployed(client: Client, server: str = "s", **more: Any) -> dict[str, Any]:
    """Return a new deployment of a new config."""
    config_id = made(client, CONFIGS, **CONFIG)["id"]
    return made(client, DEPLOYMENTS, config_id=config_id, server_id=server, **more)


def test_config_is_created_shown_listed_and_deleted(client: Client) -> None:
    config = made(client, CONFIGS, **CONFIG)
    assert {name: config[name] for name in ("name", "group", "config", "options")} == {
        name: CONFIG[name] for name in ("name", "group", "config", "options")
    }
    assert config["inputs"] == [
        {"name": "who", "type": "String", "default": "all"},
        {"name": "how", "type": "Json", "value": None},
    ]
    assert config["outputs"] == [{"name": "said", "type": "String", "error_output": True}]
    path = f"{CONFIGS}/{config['id']}"
    assert client.get(path) == {"software_config": config}
    listed = client.get(CONFIGS, params={"limit": "1"})["software_configs"]
    assert listed == [{name: config[name] for name in ("id", "name", "group", "creation_time")}]
    behind = client.get(CONFIGS, params={"marker": config["id"]})["software_configs"]
    assert config["id"] not in [each["id"] for each in behind]
    assert client.ask("DELETE", path).status == falcon.HTTP_NO_CONTENT
    for method in ("GET", "DELETE"):
        answer = client.ask(method, path)
        assert (answer.status, answer.json["error"]["type"]) == (falcon.HTTP_NOT_FOUND, "EntityNotFound")


def test_config_needs_nothing_and_may_be_a_map(client: Client) -> None:
    empty = made(client, CONFIGS)
    assert [empty[name] for name in CONFIG] == ["", "Heat::Ungrouped", "", [], [], {}]
    assert made(client, CONFIGS, config={"a": [1]}, inputs=None)["config"] == {"a": [1]}


def test_deployment_is_created_shown_changed_and_deleted(client: Client) -> None:
    deployment = deployed(client, action="CREATE", status="IN_PROGRESS", stack_user_project_id="u")
    path = f"{DEPLOYMENTS}/{deployment['id']}"
    assert client.get(path) == {"software_deployment": deployment}
    assert (deployment["input_values"], deployment["output_values"]) == ({}, {})
    assert (deployment["status_reason"], deployment["updated_time"]) == (None, None)
    changes = {"status": "COMPLETE", "status_reason": "done", "output_values": {"said": "hello"}}
    answer = client.ask("PUT", path, json={**changes, "server_id": "other", "action": None})
    changed = answer.json["software_deployment"]
    assert changed == {**deployment, **changes, "updated_time": changed["updated_time"]}
    assert changed["updated_time"]
    config = f"{CONFIGS}/{deployment['config_id']}"
    refused = client.ask("DELETE", config)
    assert (refused.status, refused.json["error"]["type"]) == (
        falcon.HTTP_CONFLICT,
        "InvalidRestrictedAction",
    )
    assert client.ask("DELETE", path).status == falcon.HTTP_NO_CONTENT
    assert client.ask("DELETE", config).status == falcon.HTTP_NO_CONTENT
    for method in ("GET", "PUT", "DELETE"):
        assert client.ask(method, path, json={}).status == falcon.HTTP_NOT_FOUND


def test_server_reads_its_configs_with_values(client: Client) -> None:
    plain = deployed(client, server="web")
    valued = deployed(client, server="web", input_values={"who": "you", "more": 1})
    listed = client.get(DEPLOYMENTS, params={"server_id": "web"})["software_deployments"]
    assert [each["id"] for each in listed] == [plain["id"], valued["id"]]
    assert len(client.get(DEPLOYMENTS)["software_deployments"]) > 1
    first, second = client.get(f"{DEPLOYMENTS}/metadata/web")["metadata"]
    values = [{each["name"]: each["value"] for each in config["inputs"]} for config in (first, second)]
    assert values == [{"who": "all", "how": None}, {"who": "you", "how": None, "more": 1}]
    assert {name: first[name] for name in ("id", "group", "config")} == {
        "id": plain["config_id"],
        "group": "script",
        "config": CONFIG["config"],
    }
    assert client.get(f"{DEPLOYMENTS}/metadata/none") == {"metadata": []}


def test_deployment_gets_another_config(client: Client) -> None:
    deployment = deployed(client)
    path = f"{DEPLOYMENTS}/{deployment['id']}"
    config_id = made(client, CONFIGS)["id"]
    answer = client.ask("PUT", path, json={"config_id": config_id})
    assert answer.json["software_deployment"]["config_id"] == config_id
    assert client.ask("PUT", path, json={"config_id": "none"}).status == falcon.HTTP_NOT_FOUND
    answer = client.ask("POST", DEPLOYMENTS, json={"config_id": "none", "server_id": "s"})
    assert answer.status == falcon.HTTP_NOT_FOUND


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        (CONFIGS, {"name": 1}, "name: expected a text of at most 255 characters, found int"),
        (CONFIGS, {"name": "n" * 256}, "name: expected a text of at most 255 characters, found one of 256"),
        (CONFIGS, {"config": [1]}, "config: expected a text or a map, found list"),
        (CONFIGS, {"options": []}, "options: expected a map, found list"),
        (CONFIGS, {"inputs": {}}, "inputs: expected a list of maps, found dict"),
        (CONFIGS, {"inputs": ["who"]}, "inputs[0]: expected a map, found str"),
        (CONFIGS, {"inputs": [{"default": 1}]}, "inputs[0]: it has no name"),
        (CONFIGS, {"inputs": [{"name": "a", "defualt": 1}]}, "inputs[0]: there is no field 'defualt'"),
        (
            CONFIGS,
            {"outputs": [{"name": "a", "error_output": "x"}]},
            "outputs[0].error_output: expected true",
        ),
        (CONFIGS, {"options": {"a": 2**64}}, "options.a: a whole number that does not fit 64 bits"),
        (DEPLOYMENTS, {"config_id": "x"}, "server_id: expected an id, found none"),
        (DEPLOYMENTS, {"server_id": "x"}, "config_id: expected an id, found none"),
        (DEPLOYMENTS, {"server_id": "x", "config_id": "y", "status": {}}, "status: expected a text"),
        (
            DEPLOYMENTS,
            {"server_id": "x", "config_id": "y", "input_values": []},
            "input_values: expected a map",
        ),
        (f"{DEPLOYMENTS}/x", {"output_values": "x"}, "output_values: expected a map, found str"),
        (f"{DEPLOYMENTS}/x", [], "expected a map of JSON as the body"),
    ],
)
def test_what_is_malformed_is_refused_with_its_place(
    client: Client, path: str, body: Any, sentence: str
) -> None:
    answer = client.ask("PUT" if path.endswith("x") else "POST", path, json=body)
    assert answer.status == falcon.HTTP_BAD_REQUEST, answer.text
    assert sentence in answer.json["error"]["message"]


def test_lists_refuse_filters_that_they_do_not_have(client: Client) -> None:
    for path in (f"{CONFIGS}?name=x", f"{CONFIGS}?limit=-1", f"{DEPLOYMENTS}?status=x"):
        assert client.ask("GET", *[path.partition("?")[0]], query_string=path.partition("?")[2]).status == (
            falcon.HTTP_BAD_REQUEST
        )
    assert client.ask("GET", CONFIGS, params={"marker": "none"}).status == falcon.HTTP_NOT_FOUND


@pytest.fixture
def narrow(door: Door) -> Iterator[Settings]:
    """Settings under which little fits."""
    before = door._whole.settings
    door._whole.settings = before.with_values(max_value_bytes=500, max_template_bytes=250)
    yield door._whole.settings
    door._whole.settings = before


def test_what_is_too_large_is_refused(client: Client, narrow: Settings) -> None:
    config_id = made(client, CONFIGS)["id"]
    for path, body in (
        (CONFIGS, {"config": "x" * 500}),
        (DEPLOYMENTS, {"config_id": config_id, "server_id": "s", "status_reason": "x" * 500}),
    ):
        answer = client.ask("POST", path, json=body)
        assert answer.status == falcon.HTTP_BAD_REQUEST
        assert "more than 500 bytes" in answer.json["error"]["message"]
        answer = client.ask("POST", path, json={"x": "x" * 1000})
        assert answer.json["error"]["type"] == "RequestLimitExceeded"


def test_another_project_sees_none_of_it(clients: Mapping[str, Client], client: Client) -> None:
    deployment = deployed(client, server="hidden")
    theirs = Client(clients["otto"]._client.app, project="beta", token=clients["otto"].token)
    assert theirs.get(CONFIGS) == {"software_configs": []}
    assert theirs.get(DEPLOYMENTS) == {"software_deployments": []}
    assert theirs.get(f"{DEPLOYMENTS}/metadata/hidden") == {"metadata": []}
    config, own = f"{CONFIGS}/{deployment['config_id']}", f"{DEPLOYMENTS}/{deployment['id']}"
    for method, path in (("GET", config), ("DELETE", config), ("GET", own), ("PUT", own), ("DELETE", own)):
        assert theirs.ask(method, path, json={}).status == falcon.HTTP_NOT_FOUND, (method, path)
    body = {"config_id": deployment["config_id"], "server_id": "s"}
    assert theirs.ask("POST", DEPLOYMENTS, json=body).status == falcon.HTTP_NOT_FOUND


def test_reader_lists_configs_and_sees_nothing_in_them(clients: Mapping[str, Client], client: Client) -> None:
    config = made(client, CONFIGS, **CONFIG)
    listed = clients["rita"].get(CONFIGS)["software_configs"]
    assert config["id"] in [each["id"] for each in listed]
    assert "echo" not in json.dumps(listed)
    assert clients["rita"].ask("GET", f"{CONFIGS}/{config['id']}").status == falcon.HTTP_FORBIDDEN
    assert clients["olga"].get(f"{CONFIGS}/{config['id']}")["software_config"] == config


def test_changes_are_in_the_audit_log_without_what_is_in_them(client: Client, door: Door) -> None:
    deployment = deployed(client, input_values={"who": "plum-4711"})
    client.ask("PUT", f"{DEPLOYMENTS}/{deployment['id']}", json={"output_values": {"x": "plum-4711"}})
    client.ask("DELETE", f"{DEPLOYMENTS}/{deployment['id']}")
    entries = [each.entry for each in door._whole.audit_records(4)][::-1]
    assert [(each.action, each.target, each.project) for each in entries] == [
        ("software.create", f"config {deployment['config_id']}", "acme"),
        ("software.create", f"deployment {deployment['id']}", "acme"),
        ("software.update", f"deployment {deployment['id']}", "acme"),
        ("software.delete", f"deployment {deployment['id']}", "acme"),
    ]
