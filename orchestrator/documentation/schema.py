"""Descriptions of the schemas of properties and attributes, in plain types."""

import json
from collections.abc import Mapping
from typing import Any, Final

from orchestrator.documentation.hot_constraint import hot_constraint
from orchestrator.errors import cut
from orchestrator.plugins.constraints import Constraint
from orchestrator.plugins.properties import Attribute, Property
from orchestrator.plugins.support import SupportStatus

#: Longer descriptions are cut.
LONGEST_TEXT: Final = 4_000
#: A schema that is nested deeper is a mistake, most likely one that contains itself.
DEEPEST: Final = 20
#: The name of a list's item schema among children.
ITEM: Final = "*"


def text(value: object, longest: int = LONGEST_TEXT) -> str:
    """Return a plugin's text stripped, cut where it is too long, and encodable as UTF-8."""
    return cut(str(value).strip(), longest).encode(errors="backslashreplace").decode()


def plain(value: object) -> Any:
    """Return a plugin's value as JSON types; values of other types become text.

    Raises:
        ValueError: it contains itself.
    """
    return json.loads(json.dumps(value, default=str))


def describe_properties(schemas: Mapping[str, Property], depth: int = 0) -> dict[str, object]:
    """Return descriptions of properties by name, without hidden ones.

    Raises:
        ValueError: they are nested too deep.
    """
    return {
        text(name): describe_property(schema, depth)
        for name, schema in schemas.items()
        if not schema.support_status.is_hidden
    }


def describe_property(schema: Property, depth: int = 0) -> dict[str, object]:
    """Return the description of a property; its ``schema`` has the children by name, of a list the item as ``*``.

    Raises:
        ValueError: it is nested too deep.
    """
    if depth > DEEPEST:
        raise ValueError(f"its schema is nested deeper than {DEEPEST} levels")
    return {
        "type": str(schema.type),
        "description": text(schema.description),
        "required": schema.required,
        "default": plain(schema.default),
        "update_allowed": schema.update_allowed,
        "immutable": schema.immutable,
        "implemented": schema.implemented,
        "support_status": describe_support(schema.support_status),
        "constraints": [describe_constraint(constraint) for constraint in schema.constraints],
        "schema": describe_properties(_children(schema), depth + 1),
    }


def _children(schema: Property) -> Mapping[str, Property]:
    if isinstance(schema.schema, Mapping):
        return schema.schema
    return {} if schema.schema is None else {ITEM: schema.schema}


def describe_constraint(constraint: Constraint) -> dict[str, object]:
    """Return a constraint as templates declare it, with its rule; if they cannot declare it, the rule alone."""
    return {**plain(hot_constraint(constraint) or {}), "description": text(constraint.describe())}


def describe_attributes(schemas: Mapping[str, Attribute]) -> dict[str, object]:
    """Return descriptions of attributes by name, without hidden ones."""
    return {
        text(name): {
            "type": str(schema.type) if schema.type else None,
            "description": text(schema.description),
            "cache_mode": str(schema.cache_mode),
            "support_status": describe_support(schema.support_status),
        }
        for name, schema in schemas.items()
        if not schema.support_status.is_hidden
    }


def describe_support(status: SupportStatus) -> dict[str, object]:
    """Return the description of a support status; its ``description`` is empty if it is supported."""
    return {
        "status": str(status.status),
        "version": text(status.version),
        "substitute": text(status.substitute),
        "description": text(status.describe()),
    }
