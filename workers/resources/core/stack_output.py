"""``Isotherm::Stack::Output``: an output of another stack, as it was when this one was updated last."""

from collections.abc import Mapping
from typing import Any, Final

from orchestrator.plugins.constraints import Length
from orchestrator.plugins.properties import Attribute
from orchestrator.plugins.steps import PropertyChanges
from workers.resources.core.row import RowResource
from workers.resources.schemas import text

#: What is observed in place of another value: the value itself may be a secret.
ANOTHER: Final = "another value than was read"


class StackOutput(RowResource):
    """Reads an output of another stack; the stack that is read is then not deleted.

    The value is a secret here, because it may be one there.
    """

    description = "Reads an output of another stack, which records that its output is read."
    always_updates = True
    reads_outputs = True
    example = """\
heat_template_version: 2021-04-16
parameters:
  network_stack: {type: string, default: network}
resources:
  network:
    type: Isotherm::Stack::Output
    properties:
      stack: {get_param: network_stack}
      output: network_id
  address:
    type: OS::Heat::Value
    properties:
      value: {get_attr: [network, value]}
"""
    properties_schema = {
        "stack": text(
            "The stack, by name or id. It cannot be one that is nested in another.",
            required=True,
            constraints=(Length(min=1),),
        ),
        "output": text("The name of the output.", required=True, constraints=(Length(min=1),)),
        "project": text(
            "The project of the stack, which must share the output (isotherm stack output share). "
            "By default the project of this stack, whose outputs need not be shared.",
            constraints=(Length(min=1),),
        ),
    }
    attributes_schema = {
        "value": Attribute(
            "The value of the output when this stack was created or updated last.", sensitive=True
        )
    }

    def handle_create(self) -> None:
        """Read the output, and record that it is read."""
        self._read()
        super().handle_create()

    def handle_update(self, changes: PropertyChanges) -> None:  # noqa: ARG002  # all is read again
        """Read the output again."""
        self._read()

    def needs_replace_failed(self) -> bool:
        """Return whether it was never read: otherwise it is read again in place."""
        return self.state.physical_id is None

    def _read(self) -> None:
        stack, output, project = self._place
        self.state.data["value"] = self.outputs.read(stack, output, project=project)

    @property
    def _place(self) -> tuple[str, str, str]:
        """The stack, the output and the project."""
        given = self.properties
        return given["stack"], given["output"], given["project"] or ""

    def observe(self) -> Mapping[str, Any] | None:
        """Return the properties, and that the output has another value than was read, if it has.

        Raises:
            ResourceFailure: the output cannot be read any more.
        """
        if not self.state.physical_id:
            return None
        stack, output, project = self._place
        if self.outputs.value(stack, output, project=project) == self.state.data.get("value"):
            return self.properties
        return {**self.properties, "value": ANOTHER}

    def attribute(self, name: str) -> Any:
        """Return the value that was read."""
        return self.state.data.get("value") if name == "value" else None
