"""Preview a create: the resources, parameters and outputs that a job would make; a database is not needed."""

from contextlib import closing

from hooks.stack import FrozenStack
from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.engine.plan_changes import KNOWN_LATER, kept
from orchestrator.engine.project_limits import present_store, refuse_to_add
from orchestrator.lifecycle.frozen_stacks import definition_shown
from orchestrator.lifecycle.previews import advice_of
from orchestrator.model.messages import StackJob
from orchestrator.model.names import check_project, check_stack_name
from orchestrator.model.tags import check_tags
from orchestrator.placement.joining import previewing_plugins
from orchestrator.planning.preparation import prepared_of
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.sandbox.budget import evaluation
from orchestrator.template.definitions import ResolveError, ResourceDefinition
from orchestrator.template.expressions import Expression
from orchestrator.validation.examiner import Examined
from orchestrator.validation.job import examine_job
from orchestrator.validation.warnings import warnings_of
from orchestrator.views.stacks import ResourcePreview, StackPreview


def preview_job(job: StackJob, settings: Settings, clients: Clients | None = None) -> StackPreview:
    """Return the preview of a job's create, without storing anything.

    Where there is a database, the limits that were set for the project hold; else those of the settings.

    Queries other systems with ``clients``, or with clients made of the settings, and the enabled lifecycle plugins.

    Raises:
        InvalidInput: the job has problems; all are listed, and a create would report the same.
        Conflict: a lifecycle plugin would refuse, or the project would have more than a limit allows.
        NotVerified: another system that validation queries did not answer.
    """
    check_stack_name(job.name)
    check_project(job.project)
    check_tags(job.tags)
    with evaluation(Limits.of(settings)), closing(clients or Clients(settings)) as open_clients:
        types = ResourceTypes.on_demand()
        examined = examine_job(job, types, settings, clients=open_clients)
        template = examined.template
        with present_store(settings) as store:
            refuse_to_add(
                store, settings, job, dict.fromkeys(template.resources) | dict(examined.nested), is_new=True
            )

        def shown() -> FrozenStack:
            return definition_shown(prepared_of(job, examined, types), tags=job.tags or ())

        with previewing_plugins(settings) as plugins:
            advice = advice_of(plugins, shown, None, "CREATE", frozenset(examined.types.values()))
        return StackPreview(
            name=job.name,
            description=template.description,
            tags=job.tags or (),
            parameters=examined.parameters.shown(),
            resources=resources_of(examined),
            disabled=tuple(sorted(template.disabled)),
            outputs={
                name: kept(_shown(output.expression, examined)) for name, output in template.outputs.items()
            },
            warnings=(*warnings_of(examined, types), *advice.warnings),
            annotations=advice.annotations,
        )


def resources_of(examined: Examined) -> tuple[ResourcePreview, ...]:
    """Return what a create makes of the resources of a definition, in the order of the template."""
    return tuple(_resource(name, each, examined) for name, each in examined.template.resources.items())


def _resource(name: str, definition: ResourceDefinition, examined: Examined) -> ResourcePreview:
    nested = examined.nested.get(name)
    return ResourcePreview(
        name=name,
        type=definition.type,
        actual_type=examined.types[name],
        action="CREATE" if definition.external_id is None else "ADOPT",
        properties=_properties(_shown(definition.properties_expression, examined)),
        requires=tuple(sorted(definition.requirements)),
        implied=tuple(sorted(definition.implied)),
        deletion_policy=definition.deletion_policy,
        resources=resources_of(nested) if nested else (),
    )


def _properties(shown: object) -> dict[str, object]:
    """Return properties by name; those known only as a whole are under ``*``."""
    if isinstance(shown, dict):
        return {name: kept(value) for name, value in shown.items()}
    return {} if shown is None else {"*": kept(shown)}


def _shown(expression: Expression, examined: Examined) -> object:
    try:
        return expression.shown(examined.blank, examined.parameters.hidden, later=KNOWN_LATER)
    except ResolveError as error:
        return f"(error: {error.problem.message})"
