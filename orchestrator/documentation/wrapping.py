"""Provider templates: a template with one resource of a type, parameters for its properties, outputs for attributes."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.documentation.group import least_given, paths_in_groups
from orchestrator.documentation.hot_constraint import hot_constraint
from orchestrator.documentation.schema import plain, text
from orchestrator.plugins.constraints import AllowedPattern, AllowedValues, Constraint, Length
from orchestrator.plugins.properties import Attribute, Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.template.parameter_types import KINDS, ParameterType

#: The first version of the language in which an ``if`` may leave a property out.
VERSION: Final = "2021-04-16"
#: The output that ``get_resource`` resolves to where a template is used as a type.
_REFERENCE: Final = "OS::stack_id"

_TYPES: Final[Mapping[PropertyType, ParameterType]] = {
    PropertyType.STRING: ParameterType.STRING,
    PropertyType.INTEGER: ParameterType.NUMBER,
    PropertyType.NUMBER: ParameterType.NUMBER,
    PropertyType.BOOLEAN: ParameterType.BOOLEAN,
    PropertyType.MAP: ParameterType.JSON,
    PropertyType.LIST: ParameterType.JSON,
    PropertyType.ANY: ParameterType.JSON,
}
#: Parameters of these types cannot be empty: an optional one is a text, which the property converts.
_WORDS: Final[Mapping[PropertyType, tuple[str, dict[str, Any]]]] = {
    PropertyType.INTEGER: ("A whole number, or nothing.", {"allowed_pattern": "(-?[0-9]+)?"}),
    PropertyType.NUMBER: (
        "A number, or nothing.",
        {"allowed_pattern": r"(-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?)?"},
    ),
    PropertyType.BOOLEAN: ("true, false, or nothing.", {"allowed_values": ["", "true", "false"]}),
}


def resource_name(type_name: str) -> str:
    """Return a name for a resource of a type, such as ``random_string`` for ``OS::Heat::RandomString``."""
    last = type_name.rpartition("::")[2]
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", last)
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_") or "resource"


def wrapping_template(name: str, kind: type[Resource]) -> dict[str, Any]:
    """Return a HOT template with one resource of a type, and parameters for all properties of the type.

    An optional property without a default has a parameter that may be empty: then the property is not given. So has a
    property in a properties group, if its parameter keeps the default. Hidden and unsupported properties are left out.
    """
    resource = resource_name(name)
    while resource in kind.properties_schema:
        # Parameters, conditions and resources share their names.
        resource = f"{resource}_resource"
    in_groups = frozenset(path.steps[0] for path in paths_in_groups(kind.properties_groups))
    must_be_given = frozenset(path.steps[0] for path in next(least_given(kind), ()))
    inputs = {
        key: _Input.of(key, schema, in_group=key in in_groups, must_be_given=key in must_be_given)
        for key, schema in kind.properties_schema.items()
        if key in must_be_given or (schema.implemented and _can_be_used(schema))
    }
    outputs = {
        key: {**_about(schema.description), "value": {"get_attr": [resource, key]}}
        for key, schema in kind.attributes_schema.items()
        if _can_be_used(schema)
    }
    reference = {
        "description": f"What get_resource gives of {resource}.",
        "value": {"get_resource": resource},
    }
    sections: dict[str, Any] = {
        "description": f"A resource of the type {name}. {text(kind.description)}".strip(),
        "parameters": {each.name: each.parameter for each in inputs.values()},
        "conditions": {each.condition: each.is_given for each in inputs.values() if each.condition},
        "resources": {
            resource: {
                "type": name,
                **_without_empty(properties={key: each.value for key, each in inputs.items()}),
            }
        },
        "outputs": {**outputs, _REFERENCE: reference},
    }
    whole: dict[str, Any] = plain({"heat_template_version": VERSION, **_without_empty(**sections)})
    return whole


@dataclass(frozen=True, slots=True, kw_only=True)
class _Input:
    name: str
    parameter: dict[str, Any]
    #: The value of the property.
    value: Any
    #: The name of the condition under which the property is given; empty: it always is.
    condition: str = ""
    is_given: Any = None

    @classmethod
    def of(cls, key: str, schema: Property, *, in_group: bool, must_be_given: bool) -> "_Input":
        # Names with the prefixes of pseudo parameters are refused.
        name = key.replace("::", "_") if key.startswith(("OS::", "AWS::")) else key
        value = {"get_param": name}
        if schema.required:
            return cls(name=name, parameter=_declared(schema), value=value)
        if schema.default is not None and not in_group:
            return cls(name=name, parameter=_declared(schema, default=_default(schema)), value=value)
        if schema.default is not None:
            whole = isinstance(schema.default, (dict, list))
            parameter = _declared(schema, default=_default(schema))
            nothing = schema.default if whole else schema.absent()
        else:
            parameter, nothing = _optional(schema)
        if must_be_given:
            # The group requires one of its properties: without a default the user has to choose.
            del parameter["default"]
        condition = f"{name}_given"
        return cls(
            name=name,
            parameter=parameter,
            value={"if": [condition, value]},
            condition=condition,
            is_given={"not": {"equals": [value, nothing]}},
        )


def _can_be_used(schema: Property | Attribute) -> bool:
    return not (schema.support_status.is_hidden or schema.support_status.is_refused)


def _without_empty(**sections: object) -> dict[str, Any]:
    return {name: section for name, section in sections.items() if section}


def _about(description: object) -> dict[str, str]:
    return _without_empty(description=text(description))


def _type_of(schema: Property) -> ParameterType:
    items = schema.schema
    if schema.type is PropertyType.LIST and isinstance(items, Property) and items.type is PropertyType.STRING:
        return ParameterType.LIST
    return _TYPES[schema.type]


def _declared(schema: Property, **default: object) -> dict[str, object]:
    kind = _type_of(schema)
    return {
        "type": str(kind),
        **_about(schema.description),
        **default,
        **_without_empty(immutable=schema.immutable, constraints=_constraints(schema, kind)),
    }


def _default(schema: Property) -> object:
    """Return the default as a parameter's value: one of type any takes scalars as JSON text."""
    if schema.type is PropertyType.ANY and not isinstance(schema.default, (dict, list)):
        return json.dumps(plain(schema.default))
    return schema.default


def _optional(schema: Property) -> tuple[dict[str, object], object]:
    words, rule = _WORDS.get(schema.type, ("Empty: not given.", None))
    kind = ParameterType.STRING if rule else _type_of(schema)
    nothing: Any = ""
    if kind is ParameterType.LIST or (kind is ParameterType.JSON and schema.type is PropertyType.LIST):
        nothing = []
    elif schema.type is PropertyType.MAP:
        nothing = {}
    constraints = [{**rule, "description": words}] if rule else _constraints(schema, kind, or_empty=True)
    declared = {
        "type": str(kind),
        "description": f"{text(schema.description)} {words}".strip(),
        "default": nothing,
        **_without_empty(immutable=schema.immutable, constraints=constraints),
    }
    return declared, nothing


def _constraints(schema: Property, kind: ParameterType, *, or_empty: bool = False) -> list[dict[str, object]]:
    """Return the constraints that a parameter can declare; the property itself checks the others."""
    constraints = list(schema.constraints)
    if kind is ParameterType.LIST and isinstance(schema.schema, Property):
        # These check each item of a list.
        constraints += [
            each
            for each in schema.schema.constraints
            if "list" in each.valid_for and not isinstance(each, Length)
        ]
    found = []
    for constraint in constraints:
        entry = _or_empty(constraint, kind) if or_empty else hot_constraint(constraint)
        if entry and KINDS[kind] <= constraint.valid_for and _can_be_read(entry):
            found.append({**entry, **_about(constraint.description)})
    return found


def _or_empty(constraint: Constraint, kind: ParameterType) -> dict[str, object] | None:
    """Return a constraint that also allows the empty value; None if HOT cannot express it."""
    entry = hot_constraint(constraint)
    if entry is None or (kind is ParameterType.LIST and isinstance(constraint, AllowedValues)):
        return entry
    match constraint:
        case AllowedValues():
            return {"allowed_values": ["", *constraint.values]}
        case AllowedPattern():
            return {"allowed_pattern": f"(?:{constraint.pattern})?"}
        case Length(max=int() as most):
            return {"length": {"max": most}}
    return None


def _can_be_read(entry: Mapping[str, object]) -> bool:
    """Whether a template can contain the entry: it can be written as JSON, and its pattern compiles."""
    try:
        json.dumps(entry)
        re.compile(str(entry.get("allowed_pattern", "")))
    except (TypeError, ValueError, re.error):
        return False
    return True
