"""Stacks that Heat abandoned are adopted: documents as Heat writes them, by the API and by the command."""

import json
from pathlib import Path
from typing import Any, Final

import falcon
from click.testing import CliRunner

from orchestrator.cli.main import isotherm
from tests.unit.orchestrator.api.conftest import Client

INNER: Final = {
    "heat_template_version": "2018-08-31",
    "parameters": {"size": {"type": "number"}},
    "resources": {
        "word": {"type": "OS::Heat::RandomString", "properties": {"length": {"get_param": "size"}}},
    },
    "outputs": {"word": {"value": {"get_attr": ["word", "value"]}}},
}
TEMPLATE: Final = {
    "heat_template_version": "2018-08-31",
    "parameters": {
        "size": {"type": "number", "default": 4},
        "secret": {"type": "string", "hidden": True},
        "zone": {"type": "string"},
    },
    "conditions": {"never": {"equals": [{"get_param": "zone"}, "nowhere"]}},
    "resources": {
        "password": {"type": "OS::Heat::RandomString", "properties": {"length": {"get_param": "size"}}},
        "value": {"type": "OS::Heat::Value", "properties": {"value": {"get_param": "zone"}}},
        "box": {"type": "My::Box", "properties": {"size": {"get_param": "size"}}},
        "group": {
            "type": "OS::Heat::ResourceGroup",
            "properties": {"count": 2, "resource_def": {"type": "My::Box", "properties": {"size": 5}}},
        },
        "scaled": {
            "type": "OS::Heat::AutoScalingGroup",
            "properties": {
                "min_size": 1,
                "max_size": 3,
                "desired_capacity": 2,
                "resource": {"type": "OS::Heat::RandomString", "properties": {"length": 6}},
            },
        },
        "handle": {"type": "OS::Heat::WaitConditionHandle"},
        "wait": {
            "type": "OS::Heat::WaitCondition",
            "properties": {"handle": {"get_resource": "handle"}, "timeout": 60},
        },
        "absent": {"type": "OS::Heat::RandomString", "condition": "never"},
    },
    "outputs": {
        "password": {"value": {"get_attr": ["password", "value"]}},
        "box": {"value": {"get_attr": ["box", "word"]}},
        "boxes": {"value": {"get_attr": ["group", "word"]}},
        "zone": {"value": {"get_attr": ["value", "value"]}},
        "secret": {"value": {"get_param": "secret"}},
        "scaled": {"value": {"get_attr": ["scaled", "current_size"]}},
    },
}
ENVIRONMENT: Final = {
    "encrypted_param_names": [],
    "event_sinks": [],
    "parameter_defaults": {"zone": "north", "unused": 1},
    "parameter_merge_strategies": {},
    "parameters": {"secret": "hush", "size": "8"},
    "resource_registry": {"My::Box": "file:///home/ann/box.yaml", "resources": {}},
}
FILES: Final = {"file:///home/ann/box.yaml": json.dumps(INNER)}


def entry(name: str, kind: str, resource_id: str | None, **data: str) -> dict[str, Any]:
    """Return the entry of a resource as Heat writes it."""
    return {
        "action": "UPDATE",
        "metadata": {},
        "name": name,
        "resource_data": data,
        "resource_id": resource_id,
        "status": "COMPLETE",
        "type": kind,
    }


def document(name: str, template: object, resources: dict[str, Any], **parts: Any) -> dict[str, Any]:
    """Return a stack as Heat writes it; a nested one is in the place of its resource's entry."""
    return {
        "action": "CREATE",
        "environment": {**ENVIRONMENT, "parameters": {}},
        "files": FILES,
        "id": f"id of {name}",
        "name": name,
        "project_id": "7b1c",
        "resources": resources,
        "stack_user_project_id": "7b1d",
        "status": "COMPLETE",
        "tags": None,
        "template": template,
        **parts,
    }


def word(name: str, text: str, where: str) -> dict[str, Any]:
    return entry(name, "OS::Heat::RandomString", f"{where}-{name}-x", value=text)


def box(name: str, text: str) -> dict[str, Any]:
    parameters = {"parameters": {"size": 5}, "encrypted_param_names": []}
    return document(f"web-{name}-abc", INNER, {"word": word("word", text, name)}, environment=parameters)


def abandoned() -> dict[str, Any]:
    group = {"heat_template_version": "2015-04-30", "resources": {}}
    members = ("aekxulb4c2vc", "qz2vtm7fqrtx")
    resources = {
        "password": word("password", "abcdefgh", "web"),
        "value": entry("value", "OS::Heat::Value", "web-value-x"),
        "box": box("box", "in the box"),
        "group": document("web-group-abc", group, {each: box(each, f"box {each}") for each in ("0", "1")}),
        "scaled": document(
            "web-scaled-abc", group, {each: word(each, f"w-{each}", "scaled") for each in members}
        ),
        "handle": {
            **entry(
                "handle", "OS::Heat::WaitConditionHandle", "web-handle-x", endpoint="http://old", token="t"
            ),
            "metadata": {"1": {"data": None, "reason": "done", "status": "SUCCESS"}},
        },
        "wait": entry("wait", "OS::Heat::WaitCondition", None),
    }
    return document(
        "web", TEMPLATE, resources, environment=ENVIRONMENT, tags=["blue", "green"], action="UPDATE"
    )


def outputs_of(client: Client, path: str) -> dict[str, Any]:
    found = client.wait(path, "ADOPT_COMPLETE")
    return {each["output_key"]: each.get("output_value") for each in found["outputs"]}


def test_stack_of_heat_is_adopted_as_it_is(client: Client) -> None:
    # As the client sends it: the document as it is, and the rest empty.
    body = {
        "stack_name": "from-heat",
        "adopt_stack_data": json.dumps(abandoned()),
        "disable_rollback": True,
        "environment": {},
        "files": {},
        "parameters": {},
    }
    answer = client.ask("POST", "/stacks", json=body)
    assert answer.status == falcon.HTTP_CREATED, answer.text
    path = f"/stacks/from-heat/{answer.json['stack']['id']}"
    assert outputs_of(client, path) == {
        "password": "abcdefgh",
        "box": "in the box",
        "boxes": ["box 0", "box 1"],
        "zone": "north",
        "secret": "hush",
        "scaled": 2,
    }
    shown = client.get(path)["stack"]
    assert shown["tags"] == ["blue", "green"]
    assert (shown["parameters"]["size"], shown["parameters"]["secret"]) == ("8", "******")
    found = client.get(f"{path}/resources", params={"nested_depth": "3"})["resources"]
    ids = {each["resource_name"]: each["physical_resource_id"] for each in found}
    assert ids["password"] == "web-password-x"
    # It is a stack like any other: an update without a change leaves what was adopted.
    assert client.ask("PATCH", path, json={}).status == falcon.HTTP_ACCEPTED
    updated = client.wait(path, "UPDATE_COMPLETE")
    assert {each["output_key"]: each.get("output_value") for each in updated["outputs"]}[
        "password"
    ] == "abcdefgh"


def test_document_of_heat_is_adopted_by_the_command_too(tmp_path: Path) -> None:
    (tmp_path / "web.json").write_text(json.dumps(abandoned()))
    environment = {"ISOTHERM_STATE_DIRECTORY": str(tmp_path / "state")}

    def run(*words: str) -> str:
        done = CliRunner().invoke(isotherm, [*words], prog_name="isotherm", env=environment)
        assert done.exit_code == 0, done.output
        return done.stdout

    run("stack", "adopt", "web", "--adopt-file", str(tmp_path / "web.json"))
    assert json.loads(run("stack", "output", "show", "web", "boxes", "-f", "json"))["value"] == [
        "box 0",
        "box 1",
    ]


def test_resource_that_the_document_lacks_is_named(client: Client) -> None:
    document = abandoned()
    del document["resources"]["box"]
    body = {"stack_name": "from-heat-too", "adopt_stack_data": json.dumps(document)}
    answer = client.ask("POST", "/stacks", json=body)
    assert answer.status == falcon.HTTP_BAD_REQUEST
    assert "resources.box" in answer.json["error"]["message"]
