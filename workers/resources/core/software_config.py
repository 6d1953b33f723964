"""``OS::Heat::SoftwareConfig`` and ``OS::Heat::StructuredConfig``: configurations for other resources.

A config does nothing by itself. Others use its text (the attribute ``config``) or refer to it by its id, under which
deployments find it, and since every change makes a replacement, an id stands for the same text forever.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from orchestrator.definition import UNKNOWN, is_unknown
from orchestrator.plugins.constraints import AllowedValues, Length
from orchestrator.plugins.properties import Attribute, Property, PropertyError, PropertyType
from orchestrator.plugins.steps import Busy
from workers.resources.core.row import RowResource
from workers.resources.core.value import typed
from workers.resources.schemas import anything, boolean, listing, mapping, text

#: The default group.
UNGROUPED: Final = "Heat::Ungrouped"
#: The types of inputs and outputs, by their names in ``typed``.
_TYPES: Final = {
    "String": "string",
    "Number": "number",
    "CommaDelimitedList": "comma_delimited_list",
    "Json": "json",
    "Boolean": "boolean",
}


def group() -> Property:
    """Return the schema of the property ``group``."""
    return text("The kind of the config, by which its users can decide how to apply it.", default=UNGROUPED)


def _ports(of_what: str, **more: Property) -> Property:
    return listing(
        f"The {of_what}s, each with a name of its own.",
        schema=mapping(
            schema={
                "name": text("Its name.", required=True, constraints=(Length(min=1),)),
                "description": text("What it is for."),
                "type": text("Its type.", default="String", constraints=(AllowedValues(tuple(_TYPES)),)),
                **more,
            }
        ),
    )


_off: Final = partial(boolean, default=False)


class _Config(RowResource):
    """The base of both types."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "group": group(),
        "options": mapping("Options of the tool that the config is made for."),
        "inputs": _ports(
            "input",
            default=anything("Its default value, of the type above."),
            replace_on_change=_off("Whether a change of its value causes another deployment."),
        ),
        "outputs": _ports("output", error_output=_off("Whether the presence of the output means a failure.")),
    }

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check that names are unique, and that defaults match their declared types."""
        for section in ("inputs", "outputs"):
            ports = properties.get(section)
            if isinstance(ports, Sequence):
                _refuse_repeated(section, ports)
        inputs = properties.get("inputs")
        for index, port in enumerate(inputs if isinstance(inputs, Sequence) else ()):
            if port is not UNKNOWN and not is_unknown((port["type"], port["default"])):
                _check_default(("inputs", index, "default"), port["default"], port["type"])

    def handle_create(self) -> Any:
        """Keep the config where deployments find it."""
        self._put()
        return super().handle_create()

    def handle_adopt(self) -> None:
        """Keep the config as if it were made here."""
        self._put()

    def _put(self) -> None:
        given = self.properties
        self.software.put_config(
            {
                "name": f"{self.stack.name}-{self.name}-{self.state.uuid[:8]}",
                "group": given["group"],
                "config": given["config"],
                "inputs": [_declared(each) for each in given["inputs"] or ()],
                "outputs": [_declared(each) for each in given["outputs"] or ()],
                "options": given["options"] or {},
            }
        )

    def handle_delete(self) -> None:
        """Remove the config.

        Raises:
            Busy: a deployment that was made through the API uses it.
        """
        if (user := self.software.remove()) is not None:
            raise Busy(f"it is used by the software deployment {user!r}")

    def attribute(self, name: str) -> Any:
        """Return the config as it was given."""
        return self.properties["config"] if name == "config" else None


def _declared(port: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in port.items() if value is not None}


def _refuse_repeated(section: str, ports: Sequence[Any]) -> None:
    first: dict[str, int] = {}
    for index, port in enumerate(ports):
        name = UNKNOWN if port is UNKNOWN else port["name"]
        if name is UNKNOWN:
            continue
        if first.setdefault(name, index) != index:
            message = f"{section}[{first[name]}] has the name {name!r} already"
            veiled = f"{section}[{first[name]}] has the same name already"
            raise PropertyError((section, index, "name"), message, veiled=veiled)


def _check_default(path: tuple[str | int, ...], value: object, type_name: str) -> None:
    try:
        typed(value, _TYPES[type_name])
    except PropertyError as error:
        inside = (*path, *error.path[1:])
        raise PropertyError(inside, error.message, error.hint, veiled=error.veiled) from error


class SoftwareConfig(_Config):
    """A text, such as a script, with its inputs and outputs."""

    description = "Holds a text, such as a script, that configures other resources."
    example = """\
heat_template_version: 2021-04-16
resources:
  greeting:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      inputs:
        - name: who
          default: world
      outputs:
        - name: greeting
      config: |
        #!/bin/sh
        echo "hello $who" > "$heat_outputs_path.greeting"
outputs:
  script:
    value: {get_attr: [greeting, config]}
"""
    properties_schema = {
        **_Config.properties_schema,
        "config": text("The text.", default=""),
    }
    attributes_schema = {"config": Attribute("The text.", PropertyType.STRING)}


class StructuredConfig(_Config):
    """A map, in which ``{get_input: NAME}`` stands for the value of an input when it is used."""

    description = "Holds a map that configures other resources; {get_input: NAME} in it stands for an input."
    example = """\
heat_template_version: 2021-04-16
resources:
  web_server:
    type: OS::Heat::StructuredConfig
    properties:
      group: os-apply-config
      inputs:
        - name: port
          type: Number
          default: 8080
      config:
        listen: {get_input: port}
        workers: 4
"""
    properties_schema = {
        **_Config.properties_schema,
        "config": mapping("The map.", default={}),
    }
    attributes_schema = {"config": Attribute("The map.", PropertyType.MAP)}
