"""Software deployments in whole stacks: signals of servers, groups of deployments, and templates of other people."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from isotherm.testing.engine import Engine
from orchestrator.engine.signals import Signals
from orchestrator.errors import Conflict, NotFound
from orchestrator.model.messages import DeleteJob, StackJob
from orchestrator.plugins.properties import Attribute
from orchestrator.views.software import SoftwareConfigView, SoftwareDeploymentView
from orchestrator.views.stacks import StackView
from workers.resources.core.row import RowResource

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "heat-templates" / "hot" / "software-config"
DONE = {"deploy_status_code": 0, "deploy_stdout": "done"}


class StandIn(RowResource):
    """Whatever there is in a cloud."""

    description = "A stand-in."
    accepts_anything = True
    attributes_schema = {"first_address": Attribute("Nothing.")}


@pytest.fixture
def engine() -> Iterator[Engine]:
    types = {"OS::Nova::Server": StandIn, "OS::Neutron::SecurityGroup": StandIn}
    with closing(Engine(types=types, settings={"api_url": "https://heat.example.com/v1"})) as engine:
        yield engine


def deployed(engine: Engine) -> list[tuple[SoftwareDeploymentView, SoftwareConfigView]]:
    """Return all deployments, in the order in which they were made, with their configs."""
    software = engine.store.software
    return [(each, software.config(each.config_id, "default")) for each in software.deployments("default")]


def outputs(stack: StackView | None, state: str = "CREATE_COMPLETE") -> Mapping[str, Any]:
    assert stack is not None
    assert stack.state == state, stack.reason
    return {each.key: each.value for each in stack.outputs}


def template(properties: Mapping[str, Any], policy: Mapping[str, Any] | None = None) -> str:
    """Return a group of deployments that wait for no signals."""
    config = {"inputs": [{"name": "a"}], "outputs": [{"name": "size"}], "config": "text"}
    resources = {
        "config": {"type": "OS::Heat::SoftwareConfig", "properties": config},
        "group": {
            "type": "OS::Heat::SoftwareDeploymentGroup",
            "properties": {"config": {"get_resource": "config"}, **properties},
            "update_policy": policy or {},
        },
    }
    read = ("deploy_stdouts", "deploy_status_codes", "size")
    shown = {name: {"value": {"get_attr": ["group", name]}} for name in read}
    shown["one"] = {"value": {"get_attr": ["group", "deploy_stdouts", "a"]}}
    return json.dumps({"heat_template_version": "2021-04-16", "resources": resources, "outputs": shown})


def servers_of(engine: Engine) -> dict[str, str]:
    return {each.server_id: each.action for each, _ in deployed(engine)}


def test_group_has_a_deployment_to_each_server(engine: Engine) -> None:
    quiet = {"signal_transport": "NO_SIGNAL"}
    engine.create("s", template({"servers": {"a": "1", "b": "2"}, **quiet}))
    assert servers_of(engine) == {"1": "CREATE", "2": "CREATE"}
    policy = {"rolling_update": {"max_batch_size": 1}}
    changed = {"servers": {"b": "2", "c": "3"}, "input_values": {"a": 1}, **quiet}
    outputs(engine.update("s", template(changed, policy)), "UPDATE_COMPLETE")
    assert servers_of(engine) == {"2": "UPDATE", "3": "CREATE"}
    moved = {**changed, "servers": {"b": "2", "c": "4"}}
    outputs(engine.update("s", template(moved, policy)), "UPDATE_COMPLETE")
    assert set(servers_of(engine)) == {"2", "4"}
    engine.run(DeleteJob(name="s"))
    assert deployed(engine) == []
    assert engine.store.software.configs("default") == []


def test_group_shows_outputs_by_the_names_of_its_servers(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def signal(waiting: dict[str, Mapping[str, Any]]) -> bool:
        """Signal the deployments in the group's stack, once it has begun."""
        inside = engine.store.stacks.by_id(engine.resource("s", "group").physical_id or "")
        for name in list(waiting if inside else ()):
            with suppress(Conflict, NotFound):
                signals = Signals(engine.store, engine.types, engine.settings)
                assert inside is not None
                engine.publish(signals.send(inside, name, waiting[name]))
                del waiting[name]
                return True
        return False

    monkeypatch.setattr(engine, "_signal", signal)
    given = {name: {**DONE, "deploy_stdout": f"on {name}", "size": 1} for name in "ab"}
    assert outputs(engine.create("s", template({"servers": {"a": "1", "b": "2"}}), **given)) == {
        "deploy_stdouts": {"a": "on a", "b": "on b"},
        "deploy_status_codes": {"a": 0, "b": 0},
        "size": {"a": 1, "b": 1},
        "one": "on a",
    }


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of templates is not beside the repository")
class TestCorpus:
    """Templates of other people, unchanged, whose servers are stand-ins and signal at once."""

    def made(
        self, engine: Engine, name: str, *signalled: str, files: Mapping[str, str] | None = None
    ) -> StackView:
        given = {"key_name": "k", "flavor": "f", "image": "i"}
        text = (CORPUS / "example-templates" / name).read_text()
        engine._run(  # files cannot be given to create()
            StackJob(name="s", template=text, parameters=given, files=files or {}),
            "s",
            {each: {**DONE, "deploy_stdout": each, "result": f"result of {each}"} for each in signalled},
        )
        (made,) = engine.queries.stacks()
        return engine.queries.stack(made.id)

    def test_deployments_wait_for_each_other(self, engine: Engine) -> None:
        names = ("deployment_a", "deployment_b", "deployment_c")
        outputs(self.made(engine, "example-deploy-sequence.yaml", *names))
        found = [
            (inputs["deploy_resource_name"], inputs["previous"])
            for _, config in deployed(engine)
            for inputs in [{each["name"]: each["value"] for each in config.inputs}]
        ]
        assert sorted(found) == [
            ("deployment_a", "NONE"),
            ("deployment_b", "deployment_a"),
            ("deployment_c", "deployment_b"),
        ]

    def test_outputs_are_those_of_the_server(self, engine: Engine) -> None:
        made = self.made(
            engine,
            "example-script-template.yaml",
            "deployment",
            "other_deployment",
            files={"config-scripts/example-script.sh": "#!/bin/sh\n"},
        )
        assert outputs(made) == {
            "result": "result of deployment",
            "stdout": "deployment",
            "stderr": None,
            "status_code": 0,
            "other_result": "result of other_deployment",
        }

    def test_structured_configs_have_the_values_of_inputs(self, engine: Engine) -> None:
        self.made(engine, "example-structured-template.yaml")
        found = sorted(config.config["config_value_foo"] for _, config in deployed(engine))
        assert found == ["fooooo", "fu"]
