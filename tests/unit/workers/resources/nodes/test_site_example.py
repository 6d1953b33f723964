"""The example ``examples/site``: its template, carried out resource by resource, brings a real site."""

import base64
import http.client
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.limits import Limits
from orchestrator.definition import NodeData, ResourceProxy, StackDefinition
from orchestrator.plugins.properties import check_properties, convert_properties
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import ResourceState
from orchestrator.template.environment import Environment
from orchestrator.template.files import load_stack
from orchestrator.template.template import Template
from tests.services.process import free_port
from tests.unit.orchestrator.template.settling import settled
from tests.unit.workers.resources.nodes.direct import clients_of
from tests.unit.workers.resources.nodes.machine import Machine
from tests.waiting import PATIENCE_SECONDS
from workers.resources.core.random_string import RandomString
from workers.resources.nodes.file import NodeFile
from workers.resources.nodes.process import NodeProcess

SITE = Path(__file__).parents[5] / "examples" / "site" / "site.yaml"
TYPES = ResourceTypes(
    {
        "OS::Heat::RandomString": RandomString,
        "Isotherm::Node::File": NodeFile,
        "Isotherm::Node::Process": NodeProcess,
    }
)


class Site:
    """A stack of the example: what an engine does, for one stack, one resource after the other."""

    def __init__(self, machine: Machine, parameters: Mapping[str, Any]) -> None:
        self.machine = machine
        limits = Limits.of(machine.settings)
        loaded = load_stack(str(SITE), limits=limits)
        files = loaded.files
        self.template = Template.parse(loaded.template, file=str(SITE), files=files, limits=limits)
        environment = Environment.of_parameters(parameters)
        self.files = files
        self.parameters = settled(self.template, environment, pseudo={"OS::stack_name": "site"}).values
        self.states: dict[str, ResourceState] = {}
        self.data: dict[str, NodeData] = {}

    def stack(self) -> StackDefinition:
        proxies = {
            name: ResourceProxy(name=name, type=definition.type, data=self.data.get(name))
            for name, definition in self.template.resources.items()
        }
        return StackDefinition(
            name="site", id="stack-1", parameters=self.parameters, files=self.files, resources=proxies
        )

    def resource(self, name: str) -> Resource:
        definition = self.template.resources[name]
        cls = TYPES.find(definition.type)
        given = definition.resolve_properties(self.stack())
        resource = cls(
            name=name,
            type_name=definition.type,
            state=self.states.setdefault(name, ResourceState(uuid=f"row-{name}")),
            properties=convert_properties(cls.properties_schema, given),
            stack=self.stack(),
            settings=self.machine.settings,
            now=self.machine.now,
        )
        resource.clients = clients_of(self.machine.settings, self.machine.nodes)
        return resource

    def create(self) -> None:
        while missing := [name for name in self.template.resources if name not in self.data]:
            name = next(
                name for name in missing if self.template.resources[name].requirements <= self.data.keys()
            )
            token = self.resource(name).handle_create()
            self.machine.poll(lambda name=name, token=token: self.resource(name).check_create_complete(token))  # type: ignore[misc]
            resource = self.resource(name)
            self.data[name] = NodeData(
                uuid=resource.state.uuid,
                name=name,
                action="CREATE",
                status="COMPLETE",
                physical_id=resource.state.physical_id,
                reference_id=resource.reference_id(),
                attributes={(key,): resource.attribute(key) for key in resource.attributes_schema},
            )

    def delete(self) -> None:
        for name in reversed(list(self.data)):
            token = self.resource(name).handle_delete()
            self.machine.poll(lambda name=name, token=token: self.resource(name).check_delete_complete(token))  # type: ignore[misc]

    def output(self, name: str) -> Any:
        return self.template.outputs[name].resolve(self.stack())


def ask(port: int, path: str, credentials: str = "") -> tuple[int, str]:
    """Return status and body of a page."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    headers = {"Authorization": "Basic " + base64.b64encode(credentials.encode()).decode()}
    connection.request("GET", path, headers=headers if credentials else {})
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body


def test_the_example_brings_a_site_and_takes_it_away(machine: Machine) -> None:
    port = free_port()
    site = Site(machine, {"port": port, "title": "Our site", "greeting": "Hello, you."})
    site.create()
    status, page = ask(port, "/")
    assert status == 200
    assert "<h1>Our site</h1>" in page
    assert "<p>Hello, you.</p>" in page
    assert "%" not in page
    password = site.output("admin_password")
    assert len(password) == 24
    assert ask(port, "/admin")[0] == 401
    assert ask(port, "/admin", "admin:wrong")[0] == 401
    assert ask(port, "/admin", f"admin:{password}") == (200, "Welcome, administrator.\n")
    assert site.output("url") == f"http://127.0.0.1:{port}/"
    assert site.output("pid") == int(site.states["server"].physical_id or 0)
    site.delete()
    assert list(machine.files.iterdir()) == []
    with pytest.raises(ConnectionRefusedError):
        ask(port, "/")


def test_the_password_is_in_no_place_the_server_shows(machine: Machine) -> None:
    port = free_port()
    site = Site(machine, {"port": port})
    site.create()
    configuration = machine.files / "site/site.json"
    assert configuration.stat().st_mode & 0o777 == 0o600
    assert json.loads(configuration.read_text())["password"] == site.output("admin_password")
    for path in ("/site.json", "/../site.json", "/server.py", "/%2e%2e/site.json"):
        assert ask(port, path)[0] == 404


def test_the_templates_references_and_properties_are_sound(machine: Machine) -> None:
    site = Site(machine, {})
    assert site.template.check_references() == []
    for definition in site.template.resources.values():
        given = definition.resolve_properties(site.stack())
        cls = TYPES.find(definition.type)
        assert check_properties(cls.properties_schema, given) == []
        cls.validate(convert_properties(cls.properties_schema, given))
