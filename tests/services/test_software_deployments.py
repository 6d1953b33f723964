"""Software deployments as a server sees them: with os-collect-config, and signals as heat-config-notify sends them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.config.settings import Settings
from orchestrator.model.collectors import Collector
from orchestrator.service import Service
from tests.services.api_process import serving
from tests.services.os_collect_config import collected, inputs_of, notify
from tests.services.process import free_port
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.slow

#: Any resource with a key can stand for a server: os-collect-config reads the metadata of that.
TEMPLATE: dict[str, Any] = {
    "heat_template_version": "2021-04-16",
    "resources": {
        "server": {"type": "OS::Heat::WaitConditionHandle", "metadata": {"role": "web"}},
        "script": {
            "type": "OS::Heat::SoftwareConfig",
            "properties": {
                "group": "script",
                "inputs": [{"name": "who", "default": "nobody"}],
                "outputs": [{"name": "greeting"}, {"name": "trouble", "error_output": True}],
                "config": "#!/bin/sh\necho hello $who\n",
            },
        },
        "settings": {
            "type": "OS::Heat::StructuredConfig",
            "properties": {"config": {"port": {"get_input": "port"}}, "group": "os-apply-config"},
        },
        "greet": {
            "type": "OS::Heat::SoftwareDeployment",
            "properties": {
                "name": "20-greet",
                "config": {"get_resource": "script"},
                "server": {"get_resource": "server"},
                "input_values": {"who": "world", "more": [1, 2]},
                "actions": ["CREATE", "UPDATE", "DELETE"],
                "signal_transport": "HEAT_SIGNAL",
            },
        },
        "set": {
            "type": "OS::Heat::StructuredDeployment",
            "properties": {
                "name": "10-set",
                "config": {"get_resource": "settings"},
                "server": {"get_resource": "server"},
                "input_values": {"port": 8080},
                "signal_transport": "NO_SIGNAL",
            },
        },
    },
    "outputs": {
        "greeting": {"value": {"get_attr": ["greet", "greeting"]}},
        "code": {"value": {"get_attr": ["greet", "deploy_status_code"]}},
    },
}


class Installation:
    """An API with its engine, and the server of a stack."""

    def __init__(self, directory: Path, url: str) -> None:
        self.directory, self.url = directory, url
        self.client = httpx.Client(base_url=url, timeout=PATIENCE_SECONDS)

    def ask(self, method: str, path: str, **given: Any) -> Any:
        answer = self.client.request(method, f"/default{path}", **given)
        assert answer.status_code < 400, answer.text
        return answer.json() if answer.content else None

    def create(self, name: str) -> str:
        made = self.ask("POST", "/stacks", json={"stack_name": name, "template": TEMPLATE})
        return f"/stacks/{name}/{made['stack']['id']}"

    def state(self, path: str) -> str:
        return str(self.ask("GET", path)["stack"]["stack_status"])

    def options(self, path: str) -> Mapping[str, Any]:
        """Return what the user data of a real server would have."""
        _, _, name, stack_id = path.split("/")
        with Service.open(Settings(state_directory=self.directory / "state")) as service:
            row = service._store.stacks.resource(stack_id, "server")
        found = Collector.of(
            self.url, row.data, project="default", stack=name, stack_id=stack_id, resource="server"
        )
        assert found is not None
        return found.options

    def deployments(self, path: str) -> dict[str, Any]:
        """Return the deployments that os-collect-config prints, by name."""
        found = collected(self.directory, self.options(path))
        assert found["role"] == "web"
        names = [each["name"] for each in found.get("deployments", ())]
        assert names == sorted(names)
        return {each["name"]: each for each in found.get("deployments", ())}


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    directory, port = tmp_path_factory.mktemp("deployments"), free_port()
    url = f"http://127.0.0.1:{port}/v1"
    with serving(directory, f"--auth none --port {port}", environment={"ISOTHERM_API_URL": url}):
        installation = Installation(directory, url)
        with installation.client:
            yield installation


@pytest.fixture
def path(installation: Installation, request: pytest.FixtureRequest) -> str:
    """A stack whose deployments are on the server; one waits for its signal."""
    path = installation.create(request.node.name.replace("_", "-")[:60])
    until(lambda: len(shown(installation, path)) == 2)
    return path


def shown(installation: Installation, path: str) -> list[Any]:
    found: list[Any] = installation.ask("GET", f"{path}/resources/server/metadata")["metadata"].get(
        "deployments", []
    )
    return found


def actions(deployments: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    return {each["name"]: inputs_of(each)["deploy_action"] for each in deployments}


def test_server_collects_its_deployments_and_its_signal_completes_the_stack(
    installation: Installation, path: str
) -> None:
    found = installation.deployments(path)
    assert set(found) == {"10-set", "20-greet"}
    assert found["10-set"]["config"] == {"port": 8080}
    greet = found["20-greet"]
    assert (greet["group"], greet["config"]) == ("script", "#!/bin/sh\necho hello $who\n")
    inputs = inputs_of(greet)
    assert (inputs["who"], inputs["more"], inputs["deploy_action"]) == ("world", [1, 2], "CREATE")
    assert inputs["deploy_stack_id"] == path.removeprefix("/stacks/")
    assert installation.state(path) == "CREATE_IN_PROGRESS"
    assert notify(greet, deploy_stdout="hello world", deploy_status_code=0, greeting="hi") == 200
    until(lambda: installation.state(path) == "CREATE_COMPLETE")
    outputs = installation.ask("GET", path)["stack"]["outputs"]
    assert {each["output_key"]: each["output_value"] for each in outputs} == {"greeting": "hi", "code": 0}
    (done,) = (
        each
        for each in installation.ask("GET", "/software_deployments")["software_deployments"]
        if each["config_id"] == greet["id"]
    )
    assert (done["status"], done["output_values"]["greeting"]) == ("COMPLETE", "hi")


def test_update_is_another_config_and_a_delete_waits_for_its_own_signal(
    installation: Installation, path: str
) -> None:
    first = installation.deployments(path)["20-greet"]
    notify(first, deploy_status_code=0)
    until(lambda: installation.state(path) == "CREATE_COMPLETE")
    changed = {**TEMPLATE["resources"]["greet"]}
    changed["properties"] = {**changed["properties"], "input_values": {"who": "you"}}
    template = {**TEMPLATE, "resources": {**TEMPLATE["resources"], "greet": changed}}
    installation.ask("PUT", path, json={"template": template})
    until(lambda: installation.deployments(path)["20-greet"]["id"] != first["id"])
    second = installation.deployments(path)["20-greet"]
    assert (inputs_of(second)["who"], inputs_of(second)["deploy_action"]) == ("you", "UPDATE")
    assert notify(first, deploy_status_code=0) == 403, "an address ends with its action"
    assert installation.state(path) == "UPDATE_IN_PROGRESS"
    notify(second, deploy_status_code=0)
    until(lambda: installation.state(path) == "UPDATE_COMPLETE")
    installation.ask("DELETE", path)
    until(lambda: actions(shown(installation, path)) == {"20-greet": "DELETE"})
    last = installation.deployments(path)["20-greet"]
    assert installation.state(path) == "DELETE_IN_PROGRESS"
    assert notify(last, deploy_status_code=0) == 200
    until(lambda: installation.state(path) == "DELETE_COMPLETE")
    configs = {each["id"] for each in installation.ask("GET", "/software_configs")["software_configs"]}
    assert not configs & {first["id"], second["id"], last["id"]}


@pytest.mark.parametrize(
    ("outputs", "reason"),
    [
        (
            {"deploy_status_code": 3, "deploy_stderr": "no such file"},
            "the tool ended with status 3: no such file",
        ),
        ({"deploy_status_code": 0, "trouble": "it burns"}, "trouble: it burns"),
    ],
)
def test_failure_has_the_words_of_the_tool(
    installation: Installation, outputs: dict[str, Any], reason: str
) -> None:
    path = installation.create(f"failing-{outputs['deploy_status_code']}")
    until(lambda: len(shown(installation, path)) == 2)
    assert notify(installation.deployments(path)["20-greet"], **outputs) == 200
    until(lambda: installation.state(path) == "CREATE_FAILED")
    assert reason in installation.ask("GET", path)["stack"]["stack_status_reason"]
