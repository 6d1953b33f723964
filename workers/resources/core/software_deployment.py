"""``OS::Heat::SoftwareDeployment`` and ``OS::Heat::StructuredDeployment``: configs that are applied on servers.

At each of its actions a deployment derives a config of its own, which the server finds in its metadata. The server
applies it and signals the outputs; until then the action goes on.
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.constraints import AllowedValues, Length
from orchestrator.plugins.properties import Attribute, Property, PropertyError
from orchestrator.plugins.steps import Busy, PropertyChanges, ResourceFailure, Wait
from workers.resources.core.derived_config import (
    OUTPUTS,
    MissingInput,
    Source,
    an_input,
    changed_inputs,
    failure_of,
    outputs_of,
    substituted,
)
from workers.resources.core.row import RowResource
from workers.resources.core.signalled import renew_key, signal_address_of
from workers.resources.schemas import listing, live, mapping, text

NO_SIGNAL: Final = "NO_SIGNAL"
_ACTIONS: Final = ("CREATE", "UPDATE", "DELETE", "SUSPEND", "RESUME")
#: Transports that would need another service, and that service.
_REFUSED: Final = {"TEMP_URL_SIGNAL": "object storage", "ZAQAR_SIGNAL": "message queues"}
#: The name in the metadata under which a signal is kept.
_SIGNAL: Final = "deployment_signal"
#: How long to wait for a signal, which wakes the action, before looking again.
_LOOK_SECONDS: Final = 3600.0

#: The properties that deployments to one server have in common with those to several.
COMMON: Final[Mapping[str, Property]] = {
    "config": text("The config: get_resource of it, or the id of one.", update_allowed=True),
    "input_values": mapping("Values of the config's inputs, by their names.", update_allowed=True),
    "actions": listing(
        "The actions of the deployment at which the config is applied.",
        default=["CREATE", "UPDATE"],
        update_allowed=True,
        schema=text(constraints=(AllowedValues(_ACTIONS),)),
    ),
    "name": text(
        "The name of the derived config; a server applies its configs in the order of their names. By default that of "
        "the config.",
        update_allowed=True,
    ),
    "signal_transport": text(
        "NO_SIGNAL: no signal is waited for. All others are signalled in the same way, at a signed address; "
        "TEMP_URL_SIGNAL and ZAQAR_SIGNAL are refused.",
        default="CFN_SIGNAL",
        constraints=(AllowedValues(("AUTO", "CFN_SIGNAL", "HEAT_SIGNAL", NO_SIGNAL, *_REFUSED)),),
    ),
}
#: Those of deployments of maps.
STRUCTURED: Final[Mapping[str, Property]] = {
    "input_key": text(
        "The key that stands for the value of an input, in a map without other keys.",
        default="get_input",
        constraints=(Length(min=1),),
    ),
    "input_values_validate": text(
        "STRICT: an input that the config refers to must have a value; LAX: it is null without one.",
        default="LAX",
        constraints=(AllowedValues(("LAX", "STRICT")),),
    ),
}


def check_transport(properties: Mapping[str, Any]) -> None:
    """Refuse transports of signals that there are not.

    Raises:
        PropertyError: it is one of them.
    """
    transport = properties["signal_transport"]
    if transport is not UNKNOWN and transport in _REFUSED:
        message = f"{transport} is not supported: it needs a service for {_REFUSED[transport]}"
        hint = "use CFN_SIGNAL: servers post their signals to the address of Isotherm's API"
        raise PropertyError(("signal_transport",), message, hint)


class SoftwareDeployment(RowResource):
    """A config that is applied on a server."""

    description = "Applies a config on a server, and waits until the server signals the outputs."
    example = """\
heat_template_version: 2021-04-16
parameters:
  server: {type: string, default: an-id}
resources:
  greeting:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      inputs: [{name: who}]
      outputs: [{name: greeting}]
      config: |
        #!/bin/sh
        echo "hello $who" > "$heat_outputs_path.greeting"
  greet:
    type: OS::Heat::SoftwareDeployment
    properties:
      config: {get_resource: greeting}
      server: {get_param: server}
      input_values: {who: world}
outputs:
  greeting: {value: {get_attr: [greet, greeting]}}
  log: {value: {get_attr: [greet, deploy_stdout]}}
"""
    any_attribute = True
    awaits_signals = True
    properties_schema: ClassVar[Mapping[str, Property]] = {
        **COMMON,
        "server": text("The id of the server.", required=True, constraints=(Length(min=1),)),
    }
    attributes_schema: ClassVar[Mapping[str, Attribute]] = {
        name: live(f"{description} Declared outputs of the config are attributes too.")
        for name, description in OUTPUTS.items()
    }
    #: What stands for the text or map of a deployment without one.
    nothing: ClassVar[Any] = ""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        #: Whether this step began the action.
        self._has_begun = False

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check that there is the transport of signals."""
        check_transport(properties)

    # -- actions -----------------------------------------------------------------------------------------------

    def handle_create(self) -> Any:
        """Begin to apply the config."""
        token = self._begin("CREATE")
        super().handle_create()
        return token

    def check_create_complete(self, token: Any) -> bool | Wait:
        """Return whether it is applied.

        Raises:
            ResourceFailure: it could not be applied.
        """
        return self._go_on(token)

    def needs_replace(self, changes: PropertyChanges) -> bool:
        """Return whether an input changes that is declared to need another deployment."""
        config_id = self.state.data.get("config")
        if not changes.names & {"config", "input_values"} or config_id is None:
            return False
        before = self.software.config(config_id)
        after = self._source().with_values(self._values)
        return before is not None and any(changed_inputs(before.inputs, after))

    def handle_update(self, changes: PropertyChanges) -> Any:  # noqa: ARG002 (the contract's signature)
        """Begin to apply what has changed."""
        return self._begin("UPDATE")

    check_update_complete = check_create_complete

    def handle_suspend(self) -> Any:
        """Begin to apply the config, if that is to be done at this action."""
        return self._begin("SUSPEND")

    check_suspend_complete = check_create_complete

    def handle_resume(self) -> Any:
        """Begin to apply the config, if that is to be done at this action."""
        return self._begin("RESUME")

    check_resume_complete = check_create_complete

    def handle_delete(self) -> Any:
        """Begin to apply the config, if that is to be done at this action, and can be."""
        wanted = "DELETE" in (self.properties["actions"] or ())
        if not wanted or self.state.physical_id is None or not self._can_be_signalled:
            return None
        # Signals reach the resource that is in force under this name.
        if self.software.is_replaced():
            return None
        config_id = self.properties["config"]
        if config_id and self.software.config(config_id) is None:
            return None
        return self._begin("DELETE")

    def check_delete_complete(self, token: Any) -> bool | Wait:
        """Take the deployment off the server once its last action is complete.

        Raises:
            Busy: another deployment uses its config.
        """
        answer = self._go_on(token)
        if answer is True and (user := self.software.remove()) is not None:
            raise Busy(f"its config is used by the deployment {user!r}")
        return answer

    def _begin(self, action: str) -> Any:
        """Prepare an action: its key is stored before the server sees anything that is signed with it."""
        source = self._source()
        if action not in source.actions(self.properties["actions"] or ()):
            return None
        if self._waits:
            if not self._can_be_signalled:
                raise ResourceFailure(
                    "the server could not signal: the setting api_url is empty; set it to the address of "
                    f"'isotherm api' as servers reach it, or signal_transport to {NO_SIGNAL}"
                )
            renew_key(self)
        self.state.data["seen"] = self._signal.get("id")
        self._has_begun = True
        name = f"{self.state.uuid}/{action}/{self.state.started_at!r}"
        # Another id each time, by which the server knows that it is to be applied again.
        return {"action": action, "config": str(uuid.uuid5(uuid.NAMESPACE_OID, name))}

    def _go_on(self, token: Any) -> bool | Wait:
        if token is None:
            return True
        if "deployed" not in token:
            if self._waits and self._has_begun:
                return Wait(0)
            token = self._deploy(token)
            if not self._waits:
                return True
        signal = self._signal
        if signal.get("id") == self.state.data.get("seen"):
            return Wait(_LOOK_SECONDS, token=token)
        declared = token["deployed"]
        outputs = outputs_of(signal.get("outputs") or {}, declared)
        reason = failure_of(outputs, declared)
        self.state.data["outputs"] = outputs
        self.software.conclude("FAILED" if reason else "COMPLETE", reason or "signalled", outputs)
        if reason:
            raise ResourceFailure(f"the deployment to server {self.properties['server']!r} failed: {reason}")
        return True

    def _deploy(self, token: Mapping[str, Any]) -> dict[str, Any]:
        source = self._source()
        inputs = [*source.with_values(self._values), *self._own_inputs(token["action"])]
        config = source.derived(
            self._name, inputs, lambda given: self.substituted(given or self.nothing, inputs)
        )
        if self.properties["name"]:
            config["name"] = self.properties["name"]
        state = (
            ("IN_PROGRESS", "the server is to apply it")
            if self._waits
            else ("COMPLETE", "no signal is awaited")
        )
        deployment = {
            "server_id": self.properties["server"],
            "action": token["action"],
            "status": state[0],
            "status_reason": state[1],
            "input_values": dict(self._values),
            "output_values": self.state.data.get("outputs") or {},
        }
        self.software.deploy(deployment, token["config"], config)
        self.state.data["config"] = token["config"]
        return {**token, "deployed": config["outputs"]}

    def substituted(self, config: Any, inputs: Sequence[Mapping[str, Any]]) -> Any:  # noqa: ARG002 (for subclasses)
        """Return the text or map of the derived config."""
        return config

    # -- signals and attributes --------------------------------------------------------------------------------

    def handle_signal(self, details: Mapping[str, Any]) -> str:
        """Keep the outputs; what they mean is decided by the action that waits for them.

        Raises:
            ResourceFailure: none does, or it has them already.
        """
        is_awaited = "seen" in self.state.data and self._signal.get("id") == self.state.data["seen"]
        if self.state.status != "IN_PROGRESS" or not is_awaited:
            raise ResourceFailure("no signal is awaited")
        kept = {"id": str(uuid.uuid4()), "outputs": dict(details)}
        self.state.metadata = {**self.state.metadata, _SIGNAL: kept}
        return "the server has signalled"

    def attribute(self, name: str) -> Any:
        """Return an output as it was last signalled."""
        return (self.state.data.get("outputs") or {}).get(name)

    # -- the parts of a derived config -------------------------------------------------------------------------

    def _source(self) -> Source:
        config_id = self.properties["config"]
        if not config_id:
            return Source(config=self.nothing)
        config = self.software.config(config_id)
        if config is None:
            raise ResourceFailure(f"there is no software config with the id {config_id!r}")
        return Source.of(config)

    @property
    def _signal(self) -> Mapping[str, Any]:
        signal = self.state.metadata.get(_SIGNAL)
        return signal if isinstance(signal, Mapping) else {}

    @property
    def _waits(self) -> bool:
        return bool(self.properties["signal_transport"] != NO_SIGNAL)

    @property
    def _can_be_signalled(self) -> bool:
        return bool(self.settings.api_url) or not self._waits

    @property
    def _values(self) -> Mapping[str, Any]:
        return self.properties["input_values"] or {}

    @property
    def _name(self) -> str:
        return f"{self.stack.name}-{self.name}-{self.state.uuid[:8]}"

    def _own_inputs(self, action: str) -> list[dict[str, Any]]:
        own = [
            an_input("deploy_server_id", self.properties["server"], "The id of the server."),
            an_input("deploy_action", action, "The action at which it is applied."),
            an_input("deploy_stack_id", f"{self.stack.name}/{self.stack.id}", "The stack of the deployment."),
            an_input("deploy_resource_name", self.name, "The name of the deployment in its stack."),
            an_input(
                "deploy_signal_transport", self.properties["signal_transport"], "The transport of signals."
            ),
        ]
        if self._waits:
            own += [
                an_input("deploy_signal_id", signal_address_of(self), "Where outputs are sent to."),
                an_input("deploy_signal_verb", "POST", "How they are sent."),
            ]
        return own


class StructuredDeployment(SoftwareDeployment):
    """A config that is a map, in which ``{get_input: NAME}`` stands for the value of an input."""

    description = "Applies a config that is a map on a server, with the values of inputs put into it."
    example = """\
heat_template_version: 2021-04-16
parameters:
  server: {type: string, default: an-id}
resources:
  listener:
    type: OS::Heat::StructuredConfig
    properties:
      group: os-apply-config
      inputs: [{name: port, type: Number}]
      config: {listen: {get_input: port}, workers: 4}
  web:
    type: OS::Heat::StructuredDeployment
    properties:
      config: {get_resource: listener}
      server: {get_param: server}
      input_values: {port: 8080}
      signal_transport: NO_SIGNAL
"""
    properties_schema = {**SoftwareDeployment.properties_schema, **STRUCTURED}
    nothing = {}

    def substituted(self, config: Any, inputs: Sequence[Mapping[str, Any]]) -> Any:
        """Return the map with the values of inputs in it.

        Raises:
            ResourceFailure: an input has no value that must have one.
        """
        given = self.properties
        values = {each["name"]: each["value"] for each in inputs}
        try:
            return substituted(
                config, values, given["input_key"], strict=given["input_values_validate"] == "STRICT"
            )
        except MissingInput as error:
            message = f"the config refers to the input {str(error)!r}, which has no value"
            raise ResourceFailure(message) from error
