"""``OS::Heat::Stack``: a stack of a template, as a resource of another stack."""

from collections.abc import Mapping
from typing import Any

from orchestrator.definition import UNKNOWN, AttributePath, follow
from orchestrator.plugins.constraints import Length, Range
from orchestrator.plugins.properties import Attribute, PropertyError, PropertyType
from orchestrator.plugins.stack_resource import Blueprint, Child, StackResource, member_attributes
from workers.resources.schemas import mapping, number, text


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
        "context": mapping("Refused: the stack cannot be made in another installation.", update_allowed=True),
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
        """Refuse to make the stack in another region.

        Raises:
            PropertyError: the context is given.
        """
        if properties["context"]:
            raise PropertyError(
                ("context",),
                "a stack cannot be made in another installation or region",
                "take it away; the stack is made where this one is",
            )

    def child(self) -> Child:
        """Return the stack of the properties."""
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


def _file(name: str) -> str:
    return f"{name} (its template)"
