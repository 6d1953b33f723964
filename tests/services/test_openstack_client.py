"""The openstack client with python-heatclient, unmodified and in its own environment, against the API."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.services.api_process import serving
from tests.services.openstack_client import Openstack
from tests.services.process import free_port
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.slow

TEMPLATE = """
heat_template_version: 2018-08-31
description: a text and a copy of it
parameters:
  length: {type: number, default: 8}
resources:
  text: {type: OS::Heat::RandomString, properties: {length: {get_param: length}}}
  copy: {type: OS::Heat::TestResource, properties: {value: {get_attr: [text, value]}}}
outputs:
  word: {value: {get_attr: [copy, output]}, description: the text}
"""
NESTING = """
heat_template_version: 2018-08-31
parameters:
  who: {type: string}
resources:
  inner: {type: my::type, properties: {who: {get_param: who}}}
  note: {type: OS::Heat::Value, properties: {value: {get_file: note.txt}}}
outputs:
  greeting: {value: {get_attr: [inner, greeting]}}
  note: {value: {get_attr: [note, value]}}
"""
INNER = """
heat_template_version: 2018-08-31
parameters: {who: {type: string}}
resources:
  word: {type: OS::Heat::Value, properties: {value: {list_join: [" ", [hello, {get_param: who}]]}}}
outputs: {greeting: {value: {get_attr: [word, value]}}}
"""
ENVIRONMENT = "resource_registry: {my::type: inner.yaml}\nparameters: {who: you}\n"
WAITING = """
heat_template_version: 2018-08-31
resources:
  handle: {type: OS::Heat::WaitConditionHandle}
  wait: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: 3600}}
"""


#: What comes before the address of the project.
LOGIN = ("--os-auth-type", "none", "--os-endpoint")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("client")
    for name, text in {
        "plain.yaml": TEMPLATE,
        "nesting.yaml": NESTING,
        "inner.yaml": INNER,
        "environment.yaml": ENVIRONMENT,
        "note.txt": "a note",
        "waiting.yaml": WAITING,
        "greet.sh": '#!/bin/sh\necho "hello $who"\n',
        "greet.yaml": "inputs: [{name: who, default: all}]\noutputs: [{name: said}]\noptions: {as: root}\n",
    }.items():
        (directory / name).write_text(text)
    return directory


@pytest.fixture(scope="module")
def endpoint(files: Path) -> Iterator[str]:
    port = free_port()
    environment = {"ISOTHERM_API_URL": f"http://127.0.0.1:{port}/v1"}
    with serving(files, f"--auth none --port {port}", environment=environment) as (url, _):
        yield f"{url}/default"


@pytest.fixture(scope="module")
def openstack(files: Path, endpoint: str) -> Iterator[Openstack]:
    client = Openstack(files, *LOGIN, endpoint)
    yield client
    client.close()


def test_stack_is_created_shown_updated_and_deleted(openstack: Openstack) -> None:
    said = openstack.run(
        "stack", "create", "--wait", "--poll", "1", "-t", "plain.yaml", "--tags", "a,b", "web"
    )
    assert "CREATE_COMPLETE  Stack CREATE completed successfully" in said
    shown = openstack.data("stack", "show", "web")
    assert (shown["stack_status"], shown["tags"], shown["parameters"]["length"]) == (
        "CREATE_COMPLETE",
        ["a", "b"],
        "8",
    )
    assert len(shown["outputs"][0]["output_value"]) == 8
    (listed,) = openstack.data("stack", "list", "--tags", "a", "--property", "name=web")
    assert listed["Stack Name"] == "web"
    changes = openstack.data("stack", "update", "--existing", "--dry-run", "--parameter", "length=9", "web")
    assert [each["resource_name"] for each in changes["replaced"]] == ["text"]
    openstack.run("stack", "update", "--existing", "--parameter", "length=9", "web")
    openstack.wait("web", "UPDATE_COMPLETE")
    assert len(openstack.data("stack", "output", "show", "web", "word")["output_value"]) == 9
    openstack.run("stack", "update", "-t", "plain.yaml", "--parameter", "length=7", "--tags", "c", "web")
    openstack.wait("web", "UPDATE_COMPLETE")
    assert openstack.data("stack", "show", "web", "-c", "tags")["tags"] == ["c"]
    assert "has a stack 'web' already" in openstack.refusal("stack", "create", "-t", "plain.yaml", "web")
    openstack.run("stack", "delete", "--yes", "--wait", "web")
    assert "Stack not found: web" in openstack.refusal("stack", "show", "web")


def test_files_and_environments_are_sent(openstack: Openstack) -> None:
    openstack.run(
        "stack", "create", "-t", "nesting.yaml", "-e", "environment.yaml", "--timeout", "9", "hello"
    )
    openstack.wait("hello", "CREATE_COMPLETE")
    outputs = openstack.data("stack", "show", "hello", "-c", "outputs")["outputs"]
    assert {each["output_key"]: each["output_value"] for each in outputs} == {
        "greeting": "hello you",
        "note": "a note",
    }
    assert openstack.data("stack", "environment", "show", "hello")["parameters"] == {"who": "you"}
    listed = openstack.data("stack", "file", "list", "hello")
    assert any(name.endswith("inner.yaml") for name in listed["files"])
    nested = openstack.data("stack", "resource", "list", "-n", "2", "hello")
    assert {each["resource_name"] for each in nested} == {"inner", "note", "word"}
    assert "get_file" in openstack.run("stack", "template", "show", "hello")
    openstack.run("stack", "update", "--existing", "--parameter", "who=all", "hello")
    openstack.wait("hello", "UPDATE_COMPLETE")
    assert openstack.data("stack", "output", "show", "hello", "greeting")["output_value"] == "hello all"
    document = openstack.data("stack", "abandon", "hello")
    assert set(document["resources"]) == {"inner", "note"}


def test_resources_and_events_are_looked_at(openstack: Openstack) -> None:
    openstack.run("stack", "create", "-t", "plain.yaml", "looked")
    openstack.wait("looked", "CREATE_COMPLETE")
    assert {each["resource_name"] for each in openstack.data("stack", "resource", "list", "looked")} == {
        "text",
        "copy",
    }
    (one,) = openstack.data("stack", "resource", "list", "--filter", "name=text", "--long", "looked")
    assert one["resource_type"] == "OS::Heat::RandomString"
    shown = openstack.data("stack", "resource", "show", "--with-attr", "value", "looked", "text")
    assert (shown["required_by"], len(shown["attributes"]["value"])) == (["copy"], 8)
    assert openstack.data("stack", "resource", "metadata", "looked", "text") == {}
    events = openstack.data("stack", "event", "list", "looked")
    assert [(each["resource_name"], each["resource_status"]) for each in (events[0], events[-1])] == [
        ("looked", "CREATE_IN_PROGRESS"),
        ("looked", "CREATE_COMPLETE"),
    ]
    of_text = openstack.data("stack", "event", "list", "--resource", "text", "looked")
    event = openstack.data("stack", "event", "show", "looked", "text", of_text[-1]["id"])
    assert (event["resource_status"], event["resource_type"]) == ("CREATE_COMPLETE", "OS::Heat::RandomString")
    assert openstack.data("stack", "output", "list", "looked") == [
        {"output_key": "word", "description": "the text"}
    ]
    assert "word" in openstack.run("stack", "output", "show", "--all", "looked")
    assert openstack.run("stack", "failures", "list", "looked").strip() == ""
    openstack.run("stack", "resource", "mark", "unhealthy", "looked", "copy", "smoke")
    (marked,) = openstack.data("stack", "resource", "list", "--filter", "name=copy", "looked")
    assert marked["resource_status"] == "CHECK_FAILED"
    openstack.run("stack", "resource", "mark", "unhealthy", "--reset", "looked", "copy")
    assert "take no signals" in openstack.refusal("stack", "resource", "signal", "looked", "text")


def test_stack_is_acted_on(openstack: Openstack) -> None:
    openstack.run("stack", "create", "-t", "plain.yaml", "acted")
    openstack.wait("acted", "CREATE_COMPLETE")
    for action in ("check", "suspend", "resume"):
        openstack.run("stack", action, "acted")
        openstack.wait("acted", f"{action.upper()}_COMPLETE")
    made = openstack.data("stack", "snapshot", "create", "--name", "first", "acted")
    openstack.wait("acted", "SNAPSHOT_COMPLETE")
    (listed,) = openstack.data("stack", "snapshot", "list", "acted")
    assert (listed["id"], listed["name"]) == (made["ID"], "first")
    assert (
        openstack.data("stack", "snapshot", "show", "acted", made["ID"])["snapshot"]["status"] == "COMPLETE"
    )
    openstack.run("stack", "snapshot", "restore", "acted", made["ID"])
    openstack.wait("acted", "RESTORE_COMPLETE")
    openstack.run("stack", "snapshot", "delete", "--yes", "acted", made["ID"])
    until(lambda: openstack.data("stack", "snapshot", "list", "acted") == [])
    assert openstack.data("stack", "export", "acted")["name"] == "acted"


def test_adopted_stack_has_the_objects_of_the_one_that_was_abandoned(
    openstack: Openstack, files: Path
) -> None:
    openstack.run("stack", "create", "-t", "plain.yaml", "left")
    openstack.wait("left", "CREATE_COMPLETE")
    value = openstack.data("stack", "output", "show", "left", "word")["output_value"]
    openstack.run("stack", "abandon", "--output-file", "left.json", "left")
    assert json.loads((files / "left.json").read_text())["name"] == "left"
    openstack.run("stack", "adopt", "--adopt-file", "left.json", "taken")
    openstack.wait("taken", "ADOPT_COMPLETE")
    assert openstack.data("stack", "output", "show", "taken", "word")["output_value"] == value


def test_wait_condition_is_signalled_and_an_operation_cancelled(openstack: Openstack) -> None:
    for name in ("signalled", "cancelled"):
        openstack.run("stack", "create", "-t", "waiting.yaml", name)
    until(lambda: len(openstack.data("stack", "resource", "list", "--filter", "name=wait", "signalled")))
    data = json.dumps({"status": "SUCCESS", "id": "1", "reason": "done", "data": "all"})
    openstack.run("stack", "resource", "signal", "--data", data, "signalled", "handle")
    openstack.wait("signalled", "CREATE_COMPLETE")
    openstack.run("stack", "cancel", "--no-rollback", "cancelled")
    openstack.wait("cancelled", "CREATE_FAILED")
    (failure,) = openstack.data("stack", "list", "--property", "status=FAILED")
    assert failure["Stack Name"] == "cancelled"


def test_wait_condition_is_signalled_by_its_curl_command_alone(openstack: Openstack) -> None:
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    openstack.run("stack", "create", "-t", "waiting.yaml", "curled")
    until(lambda: openstack.data("stack", "resource", "list", "--filter", "name=wait", "curled"))
    shown = openstack.data("stack", "resource", "show", "curled", "handle")
    said = subprocess.run(
        f'{shown["attributes"]["curl_cli"]} --silent --data-binary \'{{"status": "SUCCESS"}}\'',
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.startswith("HTTP/1.1 200 OK")
    openstack.wait("curled", "CREATE_COMPLETE")


def test_hook_is_polled_and_cleared(openstack: Openstack) -> None:
    openstack.run("stack", "create", "-t", "plain.yaml", "--pre-create", "copy", "held")
    until(lambda: openstack.data("stack", "hook", "poll", "held"))
    openstack.run("stack", "hook", "clear", "--pre-create", "held", "copy")
    openstack.wait("held", "CREATE_COMPLETE")


def greeting(openstack: Openstack) -> str:
    """Return the id of a new software config."""
    files = ("--config-file", "greet.sh", "--definition-file", "greet.yaml")
    made = openstack.data("software", "config", "create", *files, "--group", "script", "greet")
    assert (made["group"], made["options"]) == ("script", {"as": "root"})
    found: str = made["id"]
    return found


def test_software_config_is_created_shown_listed_and_deleted(openstack: Openstack) -> None:
    first, second = greeting(openstack), openstack.data("software", "config", "create", "empty")["id"]
    shown = openstack.data("software", "config", "show", first)
    assert (shown["inputs"][0]["default"], shown["outputs"][0]["name"]) == ("all", "said")
    assert 'echo "hello $who"' in openstack.run("software", "config", "show", "--config-only", first)
    (listed,) = openstack.data("software", "config", "list", "--limit", "1")
    assert (listed["id"], listed["name"], listed["group"]) == (second, "empty", "Heat::Ungrouped")
    (behind,) = openstack.data("software", "config", "list", "--marker", second)
    assert behind["id"] == first
    openstack.run("software", "config", "delete", first, second)
    assert openstack.data("software", "config", "list") == []
    assert "Configuration not found" in openstack.refusal("software", "config", "show", first)
    assert "1 of the 1" in openstack.refusal("software", "config", "delete", first)


def test_software_is_deployed_and_its_outputs_shown(openstack: Openstack, endpoint: str, files: Path) -> None:
    source, create = greeting(openstack), ("software", "deployment", "create", "--server", "web-1")
    options = ("--action", "CREATE", "--input-value", "who=you", "--input-value", "more=1", "--timeout", "5")
    made = openstack.data(*create, "--config", source, *options, "--signal-transport", "NO_SIGNAL", "first")
    assert (made["action"], made["status"], made["server_id"]) == ("CREATE", "IN_PROGRESS", "web-1")
    other = openstack.data(*create[:-1], "web-2", "--signal-transport", "NO_SIGNAL", "second")
    (metadata,) = json.loads(openstack.run("software", "deployment", "metadata", "show", "web-1"))
    values = {each["name"]: each["value"] for each in metadata["inputs"]}
    assert (metadata["name"], metadata["group"]) == ("first", "script")
    assert values == {
        "who": "you",
        "more": "1",
        "deploy_server_id": "web-1",
        "deploy_action": "CREATE",
        "deploy_signal_transport": "NO_SIGNAL",
    }
    assert {each["id"] for each in openstack.data("software", "deployment", "list")} == {
        made["id"],
        other["id"],
    }
    (listed,) = openstack.data("software", "deployment", "list", "--server", "web-1", "--long")
    assert (listed["id"], listed["status_reason"]) == (made["id"], None)
    report = {"status": "COMPLETE", "output_values": {"said": "hello you", "deploy_stdout": "a\nb"}}
    address = f"{endpoint}/software_deployments/{made['id']}"
    assert httpx.put(address, json=report, timeout=PATIENCE_SECONDS).status_code == 200
    shown = openstack.data("software", "deployment", "show", "--long", made["id"])
    assert (shown["status"], shown["output_values"]) == ("COMPLETE", report["output_values"])
    for words, said in (
        ((made["id"], "said"), "said: hello you"),
        (("--all", "--long", made["id"]), "deploy_stdout: |"),
    ):
        # It writes where its first command did.
        another = Openstack(files, *LOGIN, endpoint)
        assert said in another.run("software", "deployment", "output", "show", *words)
        another.close()
    missing = openstack.refusal("software", "deployment", "output", "show", made["id"], "none")
    assert "does not exist" in missing
    # The configs that the client derived go with the deployments; the one that they were made of stays.
    openstack.run("software", "deployment", "delete", made["id"], other["id"])
    assert [each["id"] for each in openstack.data("software", "config", "list")] == [source]
    assert "not found" in openstack.refusal("software", "deployment", "show", made["id"])
    openstack.run("software", "config", "delete", source)


def test_deployment_with_a_signal_that_needs_another_service_is_refused(openstack: Openstack) -> None:
    create = ("software", "deployment", "create", "--server", "web-1", "never")
    assert "Unsupported signal transport" in openstack.refusal(*create, "--signal-transport", "HEAT_SIGNAL")
    # The client would write into an object store, which needs keystone to be found.
    openstack.refusal(*create, "--container", "signals")
    assert openstack.data("software", "deployment", "list", "--server", "web-1") == []


def test_create_is_previewed(openstack: Openstack) -> None:
    shown = openstack.data("stack", "create", "--dry-run", "-t", "plain.yaml", "never")
    assert {each["resource_name"] for each in shown["resources"]} == {"text", "copy"}
    assert "Stack not found" in openstack.refusal("stack", "show", "never")


def test_what_is_wrong_with_a_template_is_said(openstack: Openstack, files: Path) -> None:
    (files / "wrong.yaml").write_text(TEMPLATE.replace("RandomString", "RandomStrin"))
    assert "OS::Heat::RandomString" in openstack.refusal("stack", "create", "-t", "wrong.yaml", "wrong")
    assert "resources.text" in openstack.refusal("orchestration", "template", "validate", "-t", "wrong.yaml")


def test_language_and_types_are_listed(openstack: Openstack) -> None:
    found = openstack.data(
        "orchestration",
        "template",
        "validate",
        "--show-nested",
        "-t",
        "nesting.yaml",
        "-e",
        "environment.yaml",
    )
    assert found["NestedParameters"]["inner"]["Parameters"]["who"]["Type"] == "String"
    versions = {each["Version"] for each in openstack.data("orchestration", "template", "version", "list")}
    assert {"heat_template_version.2018-08-31", "HeatTemplateFormatVersion.2012-12-12"} <= versions
    functions = openstack.data(
        "orchestration", "template", "function", "list", "--with_conditions", "heat_template_version.rocky"
    )
    assert "get_attr" in {each["Functions"] for each in functions}
    types = openstack.data(
        "orchestration", "resource", "type", "list", "--filter", "name=OS::Heat::Random.*", "--long"
    )
    assert [each["Resource Type"] for each in types] == ["OS::Heat::RandomString"]
    assert openstack.data("orchestration", "resource", "type", "show", "OS::Heat::Delay")["support_status"]
    for kind in ("hot", "cfn"):
        words = ("orchestration", "resource", "type", "show", "--template-type", kind, "OS::Heat::Delay")
        assert openstack.data(*words)
    assert openstack.data("orchestration", "build", "info")["engine"]
    (service,) = openstack.data("orchestration", "service", "list")
    assert service["Status"] == "up"
