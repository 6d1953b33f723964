"""Stacks as JSON documents, for receivers in any language."""

import math
from collections.abc import Mapping
from typing import Any, Final

from hooks.stack import FrozenResource, FrozenStack
from hooks.values.frozen import thawed
from hooks.values.unknown import UNKNOWN

#: Stands for a value that is unknown until a resource exists: a map, because any text might be the value.
UNKNOWN_DOCUMENT: Final[Mapping[str, Any]] = {"$unknown": True}


def definition_document(stack: FrozenStack, *, has_values: bool) -> dict[str, Any]:
    """Return a stack's new definition; without ``has_values``, parameters and properties are left out."""
    values = {"parameters": _document(stack.parameters)} if has_values else {}
    return {
        **_heading(stack),
        **values,
        "resources": {
            each.name: {
                "type": each.type,
                "requires": list(each.requires),
                **({"properties": _document(each.properties)} if has_values else {}),
            }
            for each in stack.resources.values()
        },
    }


def presence_document(stack: FrozenStack) -> dict[str, Any]:
    """Return what exists of a stack, in brief, without values."""
    return {
        **_heading(stack),
        "resources": {
            each.name: {**_presence(each), "others": list(map(_presence, each.others))}
            for each in stack.resources.values()
            if each.uuid or each.others
        },
    }


def _presence(resource: FrozenResource) -> dict[str, Any]:
    return {
        "type": resource.type,
        "id": resource.uuid,
        "action": resource.action,
        "status": resource.status,
        "physical_id": resource.physical_id,
    }


def _heading(stack: FrozenStack) -> dict[str, Any]:
    return {
        "id": stack.id,
        "name": stack.name,
        "parent_id": stack.parent_id,
        "root_id": stack.root_id,
        "tags": list(stack.tags),
    }


def _document(value: Any) -> Any:
    # Most values are of these types, and there may be a hundred thousand.
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, (dict, Mapping)):
        return {str(name): _document(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_document(each) for each in value]
    if value is UNKNOWN:
        return thawed(UNKNOWN_DOCUMENT)
    return value if isinstance(value, float) and math.isfinite(value) else str(value)
