"""``OS::Heat::SoftwareDeployment`` and ``OS::Heat::StructuredDeployment``."""

from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.steps import Busy, PropertyChanges, ResourceFailure, ResourceState, Wait
from tests.unit.workers.resources.core.made import STARTED, UUID, MemorySoftware, make, validate
from workers.resources.core.software_deployment import SoftwareDeployment, StructuredDeployment

URL = "https://heat.example.com/v1"
ACTIONS = ("CREATE", "UPDATE", "DELETE", "SUSPEND", "RESUME")


class Deployed:
    """A deployment whose steps are taken as the engine does: the state goes on, and nothing else."""

    def __init__(
        self,
        kind: type[SoftwareDeployment] = SoftwareDeployment,
        *,
        url: str = URL,
        config: Mapping[str, Any] | None = None,
        **properties: Any,
    ) -> None:
        self.kind, self.properties = kind, {"server": "one", "config": "c", **properties}
        self.settings = Settings(api_url=url)
        self.state = ResourceState(uuid=UUID, started_at=STARTED)
        self.software = MemorySoftware(UUID)
        self.software.add("c", **(config or {}))

    def resource(self) -> SoftwareDeployment:
        resource = make(self.kind, self.properties, state=self.state)
        resource.settings, resource.software_of = self.settings, lambda: self.software
        return resource

    def run(self, action: str = "create", **outputs: Any) -> int:
        """Take the steps of an action, with a signal once it waits; return how many there were."""
        self.state.action, self.state.status = action.upper(), "IN_PROGRESS"
        self.state.started_at += 1
        resource = self.resource()
        handle = getattr(resource, f"handle_{action}")
        changes = PropertyChanges(before={}, after=resource.properties)
        token = handle(changes) if action == "update" else handle()
        for steps in range(1, 9):
            answer = getattr(resource, f"check_{action}_complete")(token)
            if answer is True:
                self.state.status = "COMPLETE"
                return steps
            assert isinstance(answer, Wait)
            token = answer.next_token(token)
            if answer.seconds:
                self.resource().handle_signal(outputs)
            resource = self.resource()
        raise AssertionError("it never ends")

    @property
    def deployment(self) -> dict[str, Any]:
        assert self.software.deployment is not None
        return self.software.deployment

    @property
    def config(self) -> Any:
        return self.software.configs[self.deployment["config_id"]]

    @property
    def inputs(self) -> dict[str, Any]:
        return {each["name"]: each["value"] for each in self.config.inputs}


def test_config_for_the_server_has_the_values_of_inputs_and_where_to_signal() -> None:
    inputs = [{"name": "a", "type": "String", "default": 1}, {"name": "b", "type": "String", "default": 2}]
    it = Deployed(config={"name": "source", "inputs": inputs}, input_values={"b": 3, "c": 4})
    it.run(deploy_status_code=0)
    assert (it.config.name, it.config.group) == ("source", "script")
    assert {name: it.inputs[name] for name in "abc"} == {"a": 1, "b": 3, "c": 4}
    assert it.inputs["deploy_server_id"] == "one"
    assert it.inputs["deploy_action"] == "CREATE"
    assert it.inputs["deploy_stack_id"] == "stack/1"
    assert it.inputs["deploy_resource_name"] == "it"
    assert it.inputs["deploy_signal_id"].startswith(f"{URL}/")
    assert it.inputs["deploy_signal_verb"] == "POST"
    assert (it.deployment["status"], it.deployment["server_id"]) == ("COMPLETE", "one")


@pytest.mark.parametrize("transport", ["CFN_SIGNAL", "HEAT_SIGNAL", "AUTO"])
def test_transports_of_signals_are_all_signed_addresses(transport: str) -> None:
    it = Deployed(signal_transport=transport)
    it.run(deploy_status_code=0)
    assert it.inputs["deploy_signal_transport"] == transport
    assert "signature=" in it.inputs["deploy_signal_id"]


@pytest.mark.parametrize("transport", ["TEMP_URL_SIGNAL", "ZAQAR_SIGNAL"])
def test_transports_that_need_another_service_are_refused(transport: str) -> None:
    with pytest.raises(PropertyError, match=f"{transport} is not supported") as refused:
        validate(SoftwareDeployment, {"server": "one", "signal_transport": transport})
    assert "CFN_SIGNAL" in str(refused.value.hint)


def test_without_signals_it_is_complete_at_once_even_without_an_api() -> None:
    it = Deployed(url="", signal_transport="NO_SIGNAL")
    assert it.run() == 1
    assert it.deployment["status"] == "COMPLETE"
    assert "deploy_signal_id" not in it.inputs


def test_without_an_api_it_fails_before_anything_is_kept() -> None:
    it = Deployed(url="")
    with pytest.raises(ResourceFailure, match="the setting api_url is empty"):
        it.run()
    assert it.software.deployment is None


def test_key_is_stored_before_the_server_sees_what_is_signed_with_it() -> None:
    it = Deployed()
    resource = it.resource()
    token = resource.handle_create()
    assert resource.check_create_complete(token) == Wait(0)
    assert it.software.deployment is None
    assert it.state.data["signal_key"]


def test_config_that_does_not_exist_is_named() -> None:
    it = Deployed()
    it.properties["config"] = "other"
    with pytest.raises(ResourceFailure, match="no software config with the id 'other'"):
        it.run()


def test_outputs_are_attributes_and_others_are_null() -> None:
    it = Deployed(config={"outputs": [{"name": "port"}]})
    it.run(port=80, deploy_stdout="out", deploy_status_code="0", other=1)
    read = {
        name: it.resource().attribute(name) for name in ("port", "deploy_stdout", "deploy_stderr", "other")
    }
    assert read == {"port": 80, "deploy_stdout": "out", "deploy_stderr": None, "other": None}


@pytest.mark.parametrize(
    ("outputs", "reason"),
    [
        ({"deploy_status_code": 2, "deploy_stderr": "bad\n"}, "failed: the tool ended with status 2: bad$"),
        ({"deploy_status_code": "1"}, "failed: the tool ended with status 1$"),
        ({"deploy_status_code": 0, "error": "lost"}, "failed: error: lost$"),
    ],
)
def test_failure_on_the_server_fails_it(outputs: dict[str, Any], reason: str) -> None:
    it = Deployed(config={"outputs": [{"name": "error", "error_output": True}]})
    with pytest.raises(ResourceFailure, match=reason):
        it.run(**outputs)
    assert it.deployment["status"] == "FAILED"
    assert it.resource().attribute("deploy_status_code") == outputs["deploy_status_code"]


def test_each_action_is_another_config_with_another_key() -> None:
    it = Deployed(actions=list(ACTIONS))
    seen = set()
    for action in ("create", "update", "suspend", "resume"):
        it.run(action, deploy_status_code=0)
        assert it.inputs["deploy_action"] == action.upper()
        seen |= {(it.deployment["config_id"], it.inputs["deploy_signal_id"])}
    assert len({each for pair in seen for each in pair}) == 8
    assert it.run("delete", deploy_status_code=0) == 3
    assert it.software.deployment is None


def test_actions_that_are_not_wanted_do_nothing() -> None:
    it = Deployed(actions=["UPDATE"])
    for action in ("create", "suspend", "resume", "delete"):
        assert it.run(action) == 1
        assert it.software.deployment is None


def test_component_says_itself_for_which_actions_it_is() -> None:
    component = {"configs": [{"actions": ["UPDATE"], "config": "", "tool": "script"}]}
    it = Deployed(config={"group": "component", "config": component})
    assert it.run() == 1
    assert it.software.deployment is None
    assert it.run("update", deploy_status_code=0) == 3


def test_signals_are_refused_while_none_is_awaited() -> None:
    it = Deployed()
    it.run(deploy_status_code=0)
    with pytest.raises(ResourceFailure, match="no signal is awaited"):
        it.resource().handle_signal({"deploy_status_code": 0})


@pytest.mark.parametrize("lacking", ["server is replaced", "config", "api"])
def test_last_action_is_left_out_where_it_could_not_end(lacking: str) -> None:
    it = Deployed(actions=["CREATE", "DELETE"])
    it.run(deploy_status_code=0)
    it.software.replaced = lacking == "server is replaced"
    if lacking == "config":
        del it.software.configs["c"]
    if lacking == "api":
        it.settings = Settings()
    assert it.run("delete") == 1
    assert it.software.deployment is None


def test_config_that_another_deployment_uses_stays() -> None:
    it = Deployed()
    it.run(deploy_status_code=0)
    it.software.user = "another"
    with pytest.raises(Busy, match="'another'"):
        it.run("delete")


@pytest.mark.parametrize(("flag", "is_replaced"), [(True, True), (False, False)])
def test_input_may_need_another_deployment_when_it_changes(*, flag: bool, is_replaced: bool) -> None:
    it = Deployed(config={"inputs": [{"name": "a", "replace_on_change": flag}]}, input_values={"a": 1})
    it.run(deploy_status_code=0)
    before = it.properties
    for value, expected in ((1, False), (2, is_replaced)):
        it.properties = {**before, "name": "n", "input_values": {"a": value}}
        changes = PropertyChanges(before=before, after=it.resource().properties)
        assert it.resource().needs_replace(changes) is expected


class TestStructured:
    CONFIG: Mapping[str, Any] = {
        "config": {"a": {"get_input": "x"}, "b": [{"get_input": "y"}, "z"], "c": {"get_input": "x", "d": 1}},
        "inputs": [{"name": "x", "type": "String"}],
    }

    def deployed(self, **properties: Any) -> Deployed:
        return Deployed(StructuredDeployment, config=self.CONFIG, signal_transport="NO_SIGNAL", **properties)

    def test_values_of_inputs_are_put_in(self) -> None:
        it = self.deployed(input_values={"x": {"any": 1}, "y": 2})
        it.run()
        assert it.config.config == {"a": {"any": 1}, "b": [2, "z"], "c": {"get_input": "x", "d": 1}}

    def test_input_without_a_value_is_null_unless_that_is_strict(self) -> None:
        it = self.deployed()
        it.run()
        assert it.config.config["b"] == [None, "z"]
        it = self.deployed(input_values_validate="STRICT")
        with pytest.raises(ResourceFailure, match="the input 'y', which has no value"):
            it.run()

    def test_another_key_leaves_get_input_alone(self) -> None:
        it = self.deployed(input_key="value_of")
        it.run()
        assert it.config.config == self.CONFIG["config"]

    def test_without_a_config_it_is_an_empty_map(self) -> None:
        it = Deployed(StructuredDeployment, signal_transport="NO_SIGNAL")
        it.properties["config"] = None
        it.run()
        assert it.config.config == {}
