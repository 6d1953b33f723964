"""``OS::Heat::Stack``: a stack of a template, as a resource of another stack."""

from collections.abc import Mapping
from typing import Any, Final

from orchestrator.definition import UNKNOWN, AttributePath, follow
from orchestrator.errors import NotFound
from orchestrator.plugins.asking import NamedClients
from orchestrator.plugins.client_plugin import ClientMisconfigured
from orchestrator.plugins.constraints import Length, Range
from orchestrator.plugins.properties import Attribute, PropertyError, PropertyType
from orchestrator.plugins.stack_resource import Blueprint, Child, StackResource, member_attributes
from orchestrator.plugins.steps import ResourceFailure
from workers.resources.schemas import boolean, mapping, number, text

#: What the context may have in Heat, and why it is refused here.
_REFUSED: Final = {
    "credential_secret_id": "a stack cannot act by a credential in the key manager; it acts as the stack around it",
    "ca_cert": "which certificates are trusted is a setting of the operator, in clouds.yaml",
    "insecure": "whether certificates are checked is a setting of the operator, in clouds.yaml",
}


class Stack(StackResource):
    """A stack of a template's text."""

    description = "Makes a stack of a template that is given as text."
    example = """\
heat_template_version: 2021-04-16
resources:
  inner:
    type: OS::Heat::Stack
    properties:
      parameters: {length: 12}
      template: |
        heat_template_version: 2021-04-16
        parameters:
          length: {type: number}
        resources:
          password:
            type: OS::Heat::RandomString
            properties: {length: {get_param: length}}
        outputs:
          password:
            value: {get_attr: [password, value]}
outputs:
  password:
    value: {get_attr: [inner, outputs, password]}
"""
    properties_schema = {
        "template": text(
            "The template's text.", required=True, update_allowed=True, constraints=(Length(min=1),)
        ),
        "parameters": mapping("The values of its parameters.", default={}, update_allowed=True),
        "timeout": number(
            "Minutes that an operation on it may take, within the time-out of this stack.",
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
        "context": mapping(
            "Where the stack is made: in the region in which all stacks here act.",
            schema={
                "region_name": text("The region. It must be that of this installation's cloud."),
                "credential_secret_id": text("Refused: the stack acts as the stack around it."),
                "ca_cert": text("Refused: the operator's clouds.yaml says it."),
                "insecure": boolean("Refused if true: the operator's clouds.yaml says it.", default=False),
            },
        ),
    }
    attributes_schema = {
        "stack_name": Attribute("The name of the stack.", PropertyType.STRING),
        "outputs": Attribute("Its outputs, by name.", PropertyType.MAP),
    }

    @classmethod
    def blueprint(cls, name: str, properties: Mapping[str, Any]) -> Blueprint | None:
        """Return the stack, if its template is known."""
        template, parameters = properties["template"], properties["parameters"]
        if template is UNKNOWN or parameters is UNKNOWN:
            return None
        return Blueprint(
            child=Child(template=template, file=_file(name), parameters=parameters), place=("parameters",)
        )

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse another login or other ways to another installation.

        Raises:
            PropertyError: one is given.
        """
        context = properties["context"]
        if not isinstance(context, Mapping):
            return
        for name, why in _REFUSED.items():
            if context.get(name) and context[name] is not UNKNOWN:
                raise PropertyError(("context", name), why, "take it away")

    @classmethod
    def unsupported(cls, given: Mapping[str, Any], clients: NamedClients) -> list[PropertyError]:
        """Return an error if the region is not the one in which stacks here act."""
        context = given.get("context")
        wanted = context.get("region_name") if isinstance(context, Mapping) else None
        if not wanted or wanted is UNKNOWN:
            return []
        fault = _region_fault(str(wanted), clients)
        return [PropertyError(("context", "region_name"), fault)] if fault else []

    def child(self) -> Child:
        """Return the stack of the properties.

        Raises:
            ResourceFailure: it is to be made in another region, which was not known when it was validated.
        """
        wanted = (self.properties["context"] or {}).get("region_name")
        if wanted and (fault := _region_fault(wanted, self.clients)):
            raise ResourceFailure(fault)
        return Child(
            template=self.properties["template"],
            file=_file(self.name),
            parameters=self.properties["parameters"],
            parameters_from=("parameters",),
            asks=member_attributes(self.wanted),
            timeout_minutes=self.properties["timeout"],
        )

    def attribute_at(self, path: AttributePath) -> object:
        """Return the value at ``path``; an output's error is reported too."""
        if path[0] == "outputs" and len(path) > 1:
            return follow(self.stacks.output(str(path[1])), path[2:])
        return super().attribute_at(path)

    def attribute(self, name: str) -> Any:
        """Return the stack's name, or its outputs."""
        if name == "stack_name":
            state = self.stacks.state()
            return None if state is None else state.name
        return self.stacks.outputs() if name == "outputs" else None


def _region_fault(wanted: str, clients: NamedClients) -> str:
    """Return why a stack cannot be made in a region; empty if it can.

    Raises:
        Exception: the cloud could not be asked for its regions.
    """
    try:
        client: Any = clients.get("openstack")
    except (ClientMisconfigured, NotFound):
        return f"there is no region {wanted!r}: no OpenStack cloud is set up here"
    if wanted == client.region:
        return ""
    known = client.regions()
    if not client.region and known == {wanted}:
        return ""
    if wanted not in known:
        names = ", ".join(map(repr, sorted(known))) or "none"
        return f"there is no region {wanted!r}; there are: {names}"
    own = client.region or "the first one that the cloud names"
    return f"a stack cannot be made in another region than {own!r}, in which all stacks here act"


def _file(name: str) -> str:
    return f"{name} (its template)"
