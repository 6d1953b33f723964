"""The schemas of properties and attributes in plain types."""

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
#: A schema that is nested deeper is a mistake, most likely one that holds itself.
DEEPEST: Final = 20
#: What stands for every item of a list among the names of children.
ITEM: Final = "*"


def text(said: object, longest: int = LONGEST_TEXT) -> str:
    """Return what a plugin says as text that can be written as UTF-8, its ends trimmed, cut where it is too long."""
    return cut(str(said).strip(), longest).encode(errors="backslashreplace").decode()


def plain(value: Any) -> Any:
    """Return a value of a plugin's as JSON types; what JSON cannot say becomes text.

    Raises:
        ValueError: it holds itself.
    """
    return json.loads(json.dumps(value, default=str))


def describe_properties(schemas: Mapping[str, Property], depth: int = 0) -> dict[str, Any]:
    """Return what properties may be, by name, without hidden ones.

    Raises:
        ValueError: they are nested too deep.
    """
    return {
        text(name): describe_property(schema, depth)
        for name, schema in schemas.items()
        if not schema.support_status.is_hidden
    }


def describe_property(schema: Property, depth: int = 0) -> dict[str, Any]:
    """Return what a property may be; ``schema`` has its children by name, of a list those of ``*``: every item.

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


def describe_constraint(constraint: Constraint) -> dict[str, Any]:
    """Return a constraint as a template would declare it, or of one that no template can declare, the rule alone."""
    return {**plain(hot_constraint(constraint) or {}), "description": text(constraint.describe())}


def describe_attributes(schemas: Mapping[str, Attribute]) -> dict[str, Any]:
    """Return what attributes are, by name, without hidden ones."""
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


def describe_support(status: SupportStatus) -> dict[str, Any]:
    """Return how far something can be relied on; ``description`` is empty of what is supported."""
    return {
        "status": str(status.status),
        "version": text(status.version),
        "substitute": text(status.substitute),
        "description": text(status.describe()),
    }
