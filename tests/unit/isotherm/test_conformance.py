"""The types, clients, lifecycle plugins and sinks that ship pass the tests that packages of others run."""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from hooks.builtin.license import License
from hooks.builtin.limits import Limits
from hooks.builtin.policy.plugin import Policy
from hooks.builtin.sinks.log import LogSink
from hooks.builtin.sinks.prometheus import PrometheusSink
from hooks.builtin.sinks.webhook import WebhookSink
from hooks.builtin.webhook import Webhook
from isotherm.testing import (
    ClientConformance,
    EventSinkConformance,
    LifecycleConformance,
    ResourceConformance,
)
from tests.services.http_api import HttpApi
from tests.services.licence_server import SECRET, LicenceServer
from tests.services.receiver import Receiver, Reply
from workers.clients.http import HttpClient
from workers.clients.nodes import NodesClient

ONE = {"type": "OS::Heat::TestResource"}
GROUP = {"min_size": 1, "max_size": 3, "resource": ONE}
NESTED = "heat_template_version: 2021-04-16\nresources: {a: {type: OS::Heat::TestResource}}\n"
#: Deployments that wait for no signal, at every action.
UNSIGNALLED = {
    "signal_transport": "NO_SIGNAL",
    "actions": ["CREATE", "UPDATE", "SUSPEND", "RESUME", "DELETE"],
}
#: By type, what is said of it; what they make is in the engine itself, or nowhere.
TYPES: Mapping[str, Mapping[str, Any]] = {
    "OS::Heat::None": {"properties": {"anything": 1}},
    "OS::Heat::Value": {"properties": {"value": "a"}, "changes": {"value": "b"}},
    "OS::Heat::CloudConfig": {
        "properties": {"cloud_config": {"a": 1}},
        "changes": {"cloud_config": {"a": 2}},
    },
    "OS::Heat::Delay": {"properties": {"min_wait": 5}, "changes": {"min_wait": 6}},
    "OS::Heat::MultipartMime": {
        "properties": {"parts": [{"config": "a"}]},
        "changes": {"parts": [{"config": "b"}]},
    },
    "OS::Heat::SoftwareConfig": {"properties": {"config": "a"}, "changes": {"config": "b"}},
    "OS::Heat::StructuredConfig": {"properties": {"config": {"a": 1}}, "changes": {"config": {"a": 2}}},
    "OS::Heat::RandomString": {"properties": {"length": 12}, "changes": {"length": 13, "salt": "x"}},
    "OS::Heat::TestResource": {
        "properties": {"value": "a", "wait_secs": 2},
        "changes": {"value": "b", "update_replace_value": "c"},
    },
    "OS::Heat::UpdateWaitConditionHandle": {},
    "OS::Heat::WaitConditionHandle": {},
    "OS::Heat::WaitCondition": {
        "properties": {"handle": {"get_resource": "handle"}, "timeout": 60},
        "others": {"handle": {"type": "OS::Heat::WaitConditionHandle"}},
        "signals": {"handle": {"status": "SUCCESS"}},
        "changes": {"timeout": 90},
    },
    "AWS::CloudFormation::WaitConditionHandle": {},
    "AWS::CloudFormation::WaitCondition": {
        "properties": {"Handle": {"get_resource": "handle"}, "Timeout": 60},
        "others": {"handle": {"type": "AWS::CloudFormation::WaitConditionHandle"}},
        "signals": {"handle": {"Status": "SUCCESS"}},
        "changes": {"Timeout": 90},
    },
    "OS::Heat::ResourceGroup": {
        "properties": {"count": 2, "resource_def": ONE},
        "changes": {"count": 3},
    },
    "OS::Heat::ResourceChain": {
        "properties": {"resources": ["OS::Heat::TestResource"]},
        "changes": {"resources": ["OS::Heat::None"]},
    },
    "OS::Heat::SoftwareDeployment": {
        "properties": {"config": {"get_resource": "script"}, "server": "one", **UNSIGNALLED},
        "others": {"script": {"type": "OS::Heat::SoftwareConfig", "properties": {"config": "a"}}},
        "changes": {"input_values": {"b": 1}, "server": "two"},
    },
    "OS::Heat::StructuredDeployment": {
        "properties": {"server": "one", **UNSIGNALLED},
        "changes": {"input_key": "get"},
    },
    "OS::Heat::SoftwareDeploymentGroup": {
        "properties": {"servers": {"one": "1", "two": "2"}, **UNSIGNALLED},
        "changes": {"servers": {"two": "2", "three": "3"}, "name": "x"},
    },
    **{
        f"OS::Heat::{name}": {"properties": {"servers": {"one": "1"}, **UNSIGNALLED}}
        for name in ("StructuredDeploymentGroup", "SoftwareDeployments", "StructuredDeployments")
    },
    "OS::Heat::AutoScalingGroup": {"properties": GROUP, "changes": {"max_size": 4}},
    "OS::Heat::ScalingPolicy": {
        "properties": {
            "adjustment_type": "change_in_capacity",
            "scaling_adjustment": 1,
            "auto_scaling_group_id": {"get_resource": "group"},
        },
        "others": {"group": {"type": "OS::Heat::AutoScalingGroup", "properties": GROUP}},
        "changes": {"scaling_adjustment": 2},
    },
    "OS::Heat::Stack": {"properties": {"template": NESTED}},
    "Isotherm::Placement::Group": {"properties": {"policy": "same_host"}},
}
#: Tried by classes of their own below.
BELOW = {"Isotherm::Node::File", "Isotherm::Http::Object", "Isotherm::Stack::Output"}
#: What these run takes programs that not every machine has, and time.
ELSEWHERE = {"Isotherm::Node::Instance", "Isotherm::Node::Process", "Isotherm::Node::Volume"}


def conformance(name: str, said: Mapping[str, Any]) -> type[ResourceConformance]:
    (entry,) = entry_points(group="isotherm.resources", name=name)
    words = {"type": entry.load(), "exists_outside": False, "__module__": __name__, **said}
    return type(f"Test{name.replace('::', '')}", (ResourceConformance,), words)


globals().update({made.__name__: made for made in (conformance(*each) for each in TYPES.items())})


def test_every_type_that_ships_is_tried() -> None:
    names = {
        entry.name
        for entry in entry_points(group="isotherm.resources")
        # The types of OpenStack are tried in tests/services/openstack.
        if not entry.name.startswith("Testing") and ".openstack." not in entry.value
    }
    assert names == {*TYPES, *BELOW, *ELSEWHERE}


SIGNALLED = {
    "settings": {"api_url": "https://heat.example.com/v1"},
    "properties": {"server": "one"},
    "signals": {"it": {"deploy_status_code": 0}},
    "changes": {"name": "x"},
}


class TestSignalledDeployment(conformance("OS::Heat::SoftwareDeployment", SIGNALLED)):  # type: ignore[misc]  # as below
    """With a server that signals."""


class TestNodeFile(conformance("Isotherm::Node::File", {"exists_outside": True})):  # type: ignore[misc]  # made here
    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path: Path) -> None:
        self.directory = tmp_path / "files"
        self.directory.mkdir()
        self.settings = {"node_directories": (self.directory,), "state_directory": tmp_path}
        self.properties = {"path": str(self.directory / "one"), "content": "a"}
        self.changes = {"content": "b", "path": str(self.directory / "two")}

    def objects(self) -> Collection[str]:
        return {path.name for path in self.directory.iterdir()}


class TestHttpObject(conformance("Isotherm::Http::Object", {"exists_outside": True})):  # type: ignore[misc]  # made here
    @pytest.fixture(autouse=True)
    def _api(self, http_api: HttpApi) -> None:
        self.api = http_api
        self.settings = {"clients": {"http": {"base_url": http_api.url}}}
        self.properties = {
            "body": {"name": "a"},
            "create": {"path": "/things", "token_header": "Idempotency-Key"},
            "update": {"method": "PATCH"},
            "compare": {"name": "name"},
        }
        self.changes = {"body": {"name": "b"}}

    def objects(self) -> Collection[str]:
        return set(self.api.objects("/things"))


READ = {
    "properties": {"stack": "source", "output": "a"},
    "changes": {"output": "b", "stack": "other", "project": "default"},
}


class TestStackOutput(conformance("Isotherm::Stack::Output", READ)):  # type: ignore[misc]  # made here
    @contextmanager
    def _engine(self) -> Iterator[Any]:
        outputs = "outputs: {a: {value: 1}, b: {value: {c: [2]}}}"
        with super()._engine() as engine:
            for name in ("source", "other"):
                engine.create(name, f"heat_template_version: 2021-04-16\n{outputs}\n")
            yield engine


class TestHttpClient(ClientConformance):
    client = HttpClient

    @pytest.fixture(autouse=True)
    def _api(self, http_api: HttpApi) -> None:
        http_api.put("/images/cirros")
        self.options = {"base_url": http_api.url}
        self.known = {"path": ("/images/cirros", "default:/images/cirros")}


class TestNodesClient(ClientConformance):
    client = NodesClient


class TestLimits(LifecycleConformance):
    plugin = Limits
    options = {"resources": {"refuse": 10}}


class TestPolicy(LifecycleConformance):
    plugin = Policy

    @pytest.fixture(autouse=True)
    def _rules(self, tmp_path: Path) -> None:
        pytest.importorskip("re2")
        (tmp_path / "rules.yaml").write_text('rules: [{name: known, allow_types: ["OS::Heat::*"]}]\n')
        self.options = {"files": [str(tmp_path / "rules.yaml")]}


class TestLicense(LifecycleConformance):
    plugin = License

    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        with LicenceServer({"OS::Heat::TestResource": 5}) as server:
            self.server = server
            self.options = {"url": server.url, "secrets": [SECRET], "types": ["OS::Heat::TestResource"]}
            yield

    def kept(self) -> Any:
        return {stack: held for stack, held in self.server.licences.shown().items() if any(held.values())}


class TestWebhook(LifecycleConformance):
    plugin = Webhook

    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        with Receiver(lambda _: Reply(status=204)) as receiver:
            self.options = {"url": f"http://127.0.0.1:{receiver.port}", "secrets": ["sixteen characters"]}
            yield


class TestLogSink(EventSinkConformance):
    sink = LogSink

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.file = tmp_path / "events.jsonl"
        self.options = {"file": str(self.file)}

    def received(self) -> Collection[int]:
        return [json.loads(line)["id"] for line in self.file.read_text().splitlines()]


class TestWebhookSink(EventSinkConformance):
    sink = WebhookSink

    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        with Receiver() as receiver:
            self.receiver = receiver
            self.options = {"url": f"http://127.0.0.1:{receiver.port}", "secrets": ["sixteen characters"]}
            yield

    def received(self) -> Collection[int]:
        return [event["id"] for message in self.receiver.messages for event in message.document["events"]]


class TestPrometheusSink(EventSinkConformance):
    sink = PrometheusSink

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.options = {"textfile": str(tmp_path / "isotherm.prom")}
