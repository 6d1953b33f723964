"""Validation of a template without a stack: its parameters as clients show them."""

import re
from collections.abc import Mapping
from typing import Any, Final

import falcon

from orchestrator.api import definitions
from orchestrator.api.definitions import text_of
from orchestrator.api.described import described
from orchestrator.api.faults import bad_request
from orchestrator.api.reading import Query
from orchestrator.api.schemas import SAID_FLAG, TEXT, named
from orchestrator.api.shapes import PARAMETER_TYPES
from orchestrator.api.stack_parts import environment_of
from orchestrator.api.stacks import Face
from orchestrator.definition import is_unknown
from orchestrator.documentation.hot_constraint import hot_constraint
from orchestrator.errors import InvalidInput
from orchestrator.plugins.constraints import Constraint
from orchestrator.template.hiding import HIDDEN
from orchestrator.template.parameters import ParameterSchema
from orchestrator.validation.examiner import Examined
from orchestrator.validation.report import examined_alone

#: Heat's fields for the limits of a range and of a length.
_BOUNDS: Final = {
    ("range", "min"): "MinValue",
    ("range", "max"): "MaxValue",
    ("length", "min"): "MinLength",
    ("length", "max"): "MaxLength",
    ("modulo", "step"): "Step",
    ("modulo", "offset"): "Offset",
}
_QUERY: Final = {"show_nested": SAID_FLAG, "ignore_errors": TEXT}
#: The number of one of Heat's errors, such as 99001.
_ERROR: Final = re.compile(r"99\d{3}")


class Validation(Face):
    """The validation of a template."""

    @described("stacks:validate_template", named("Declarations"), body=named("Update"), query=_QUERY)
    def on_post(self, request: falcon.Request, response: falcon.Response, **_: str) -> None:
        """Validate it under its environment, without other systems; parameters need no values."""
        service = self._door.service(request, "stack.preview")
        query = Query(request)
        for error in query.words("ignore_errors"):
            # All that have a number are about what other systems have, which are not asked.
            if not _ERROR.fullmatch(error):
                raise bad_request(f"expected numbers of errors as ignore_errors, found {error[:80]!r}")
        try:
            job = definitions.trial(self._body(request), service.settings)
            examined = examined_alone(job, service.settings)
        except InvalidInput as error:
            # As in Heat: not the name of the fault.
            raise bad_request(str(error)) from error
        body = _declared(examined, with_nested=query.flag("show_nested"))
        groups = [
            {
                "label": group.label or None,
                "description": group.description or None,
                "parameters": list(group.parameters),
            }
            for group in examined.template.draft.parameter_groups
        ]
        response.media = {
            **body,
            **({"ParameterGroups": groups} if groups else {}),
            "Environment": environment_of(job, service.settings),
        }


def _declared(examined: Examined, *, with_nested: bool) -> dict[str, Any]:
    shown = examined.parameters.shown()
    missing = {name for name, value in examined.parameters.values.items() if is_unknown(value)}
    template = examined.template
    declared: dict[str, Any] = {
        "Description": template.description,
        "Parameters": {
            name: parameter(schema, None if name in missing else shown[name])
            for name, schema in template.parameters.items()
        },
    }
    if with_nested:
        declared["NestedParameters"] = {
            name: {"Type": template.resources[name].type, **_declared(each, with_nested=True)}
            for name, each in examined.nested.items()
        }
    return declared


def parameter(schema: ParameterSchema, value: object) -> dict[str, Any]:
    """Return the declaration of a parameter as clients show it; ``value`` is None where it has none."""
    default = HIDDEN if schema.hidden else schema.default
    found: dict[str, Any] = {
        "Type": PARAMETER_TYPES[str(schema.type)],
        "Description": schema.description,
        "NoEcho": "true" if schema.hidden else "false",
        "Label": schema.label or schema.name,
        **({} if schema.default is None else {"Default": default}),
        **({} if value is None else {"Value": text_of(value)}),
        **({"Tags": list(schema.tags)} if schema.tags else {}),
    }
    for constraint in schema.constraints:
        found |= _constraint(constraint)
    return found


def _constraint(constraint: Constraint) -> dict[str, Any]:
    written = hot_constraint(constraint) or {}
    found: dict[str, Any] = (
        {"ConstraintDescription": constraint.description} if constraint.description else {}
    )
    for name, rule in written.items():
        if isinstance(rule, Mapping):
            found |= {_BOUNDS[name, key]: bound for key, bound in rule.items()}
        elif name == "allowed_values":
            found["AllowedValues"] = rule
        elif name == "allowed_pattern":
            found["AllowedPattern"] = rule
        else:
            found["CustomConstraint"] = rule
    return found
