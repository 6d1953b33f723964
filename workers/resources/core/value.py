"""``OS::Heat::Value``: a name for an expression, so that others can refer to its result."""

import json
from collections.abc import Mapping
from typing import Any, Final

from orchestrator.definition import UNKNOWN, is_unknown
from orchestrator.plugins.constraints import AllowedValues, shown
from orchestrator.plugins.properties import (
    Attribute,
    Property,
    PropertyError,
    PropertyType,
    convert_properties,
)
from workers.resources.core.row import RowResource
from workers.resources.schemas import anything, text

#: The property types, by the names of the template parameter types that this type uses.
_TYPES: Final = {
    "string": PropertyType.STRING,
    "number": PropertyType.NUMBER,
    "comma_delimited_list": PropertyType.LIST,
    "json": PropertyType.ANY,
    "boolean": PropertyType.BOOLEAN,
}
_SCHEMAS: Final = {name: {"value": Property(type=type_)} for name, type_ in _TYPES.items()}


def typed(value: object, type_name: str | None) -> object:
    """Return ``value`` converted like a property of that type; lists may be comma-separated text, and json its text.

    Raises:
        PropertyError: it cannot be converted.
    """
    if not type_name or value is None:
        return value
    if type_name == "comma_delimited_list" and isinstance(value, str):
        return value.split(",") if value else []
    if type_name == "json":
        return _parsed(value)
    return convert_properties(_SCHEMAS[type_name], {"value": value})["value"]


def _parsed(value: object) -> object:
    found = value
    if isinstance(value, str):
        try:
            found = json.loads(value)
        except ValueError as error:
            message, veiled = f"expected JSON text, found {shown(value)}", "expected JSON text"
            raise PropertyError(("value",), message, str(error), veiled=veiled) from error
    if not isinstance(found, (dict, list)):
        expected = "expected a map, a list or the JSON text of one"
        raise PropertyError(("value",), f"{expected}, found {shown(value)}", veiled=expected)
    return found


class Value(RowResource):
    """Holds one value, of any type or of a given one."""

    description = "Names a value, so that others can refer to it."
    example = """\
heat_template_version: 2021-04-16
parameters:
  name: {type: string, default: web}
resources:
  domain:
    type: OS::Heat::Value
    properties:
      type: string
      value:
        list_join: [., [{get_param: name}, example.org]]
outputs:
  domain:
    value: {get_attr: [domain, value]}
"""
    pure = True
    properties_schema = {
        "value": anything("The value.", required=True, update_allowed=True),
        "type": text(
            "The type the value is converted to; without it the value stays as it is.",
            update_allowed=True,
            constraints=(AllowedValues(tuple(_TYPES)),),
        ),
    }
    attributes_schema = {"value": Attribute("The value.")}

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check that the value can be converted to the type, as far as both are known."""
        value, type_name = properties.get("value"), properties.get("type")
        if type_name is not UNKNOWN and not is_unknown(value):
            typed(value, type_name)

    def attribute(self, name: str) -> Any:
        """Return the value, converted."""
        return typed(self.properties["value"], self.properties["type"]) if name == "value" else None
