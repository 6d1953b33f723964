"""Validation report of a template under its environment, without a database or other systems."""

from collections.abc import Iterator

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.definition import is_unknown
from orchestrator.errors import Problem
from orchestrator.model.messages import StackJob
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.sandbox.budget import evaluation
from orchestrator.template.hiding import HIDDEN
from orchestrator.template.parameters import ParameterSchema
from orchestrator.template.template import Template
from orchestrator.validation.examiner import Examined
from orchestrator.validation.job import examine_job
from orchestrator.validation.warnings import warnings_of
from orchestrator.views.stacks import TemplateView


def validate_job(job: StackJob, settings: Settings) -> TemplateView:
    """Validate a template under its environment without other systems, and return a view of its declarations.

    Parameters may have no value; values that depend on them stay open. Constraints that query other systems are
    skipped; so are those that are not installed, with a warning.

    Raises:
        InvalidInput: the template is invalid; with every problem found.
    """
    with evaluation(Limits.of(settings)):
        return view_of(examined_alone(job, settings))


def view_of(examined: Examined) -> TemplateView:
    """Return the view of the declarations of a template that was examined."""
    conditions = examined.template.verdicts()
    warnings = warnings_of(examined, ResourceTypes.on_demand())
    template, shown = examined.template, examined.parameters.shown()
    missing = {name for name, value in examined.parameters.values.items() if is_unknown(value)}
    return TemplateView(
        version=template.version,
        description=template.description,
        parameters=tuple(
            _declared(schema, shown[name], required=name in missing)
            for name, schema in template.parameters.items()
        ),
        parameter_groups=tuple(
            {"label": group.label, "description": group.description, "parameters": list(group.parameters)}
            for group in template.draft.parameter_groups
        ),
        conditions=conditions,
        resources=tuple((name, each.type) for name, each in template.resources.items()),
        disabled=tuple(sorted(template.disabled)),
        outputs=tuple(template.outputs),
        warnings=(*warnings, *_left_out(template)),
    )


def examined_alone(job: StackJob, settings: Settings) -> Examined:
    """Return what a template is found to be under its environment, as :func:`validate_job` validates it.

    Raises:
        InvalidInput: the template is invalid; with every problem found.
    """
    with evaluation(Limits.of(settings)):
        return examine_job(job, ResourceTypes.on_demand(), settings, offline=True, values_required=False)


def _left_out(template: Template) -> Iterator[Problem]:
    """Yield a warning for each constraint of a parameter that is not installed: its name may be wrong."""
    for schema in template.parameters.values():
        for constraint in schema.constraints:
            if isinstance(constraint, Custom) and not constraint.is_available:
                message = f"it was not checked: {constraint.unknown()}"
                yield template.problem(schema.path, message)


def _declared(schema: ParameterSchema, value: object, *, required: bool) -> dict[str, object]:
    return {
        "name": schema.name,
        "type": str(schema.type),
        "label": schema.label,
        "description": schema.description,
        "default": HIDDEN if schema.hidden and schema.default is not None else schema.default,
        "hidden": schema.hidden,
        "immutable": schema.immutable,
        "tags": list(schema.tags),
        "constraints": [constraint.describe() for constraint in schema.constraints],
        "required": required,
        "value": None if required else value,
    }
