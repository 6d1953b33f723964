"""Update plan: the changes that an update would make, with the advice of lifecycle plugins."""

from dataclasses import replace
from functools import partial

from orchestrator.config.hooks import lifecycle_plugins
from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.engine.nested_plan import NestedPlans
from orchestrator.engine.project_limits import refuse_to_add
from orchestrator.engine.stack_actions import refuse_deleted, refuse_partial_beside, refuse_suspended
from orchestrator.engine.update_preview import DryRun
from orchestrator.errors import IsothermError, Problem
from orchestrator.lifecycle.engine_plugin import joined
from orchestrator.lifecycle.frozen_stacks import comparison_shown, stack_shown, with_names
from orchestrator.lifecycle.previews import advice_of
from orchestrator.model.messages import StackJob
from orchestrator.placement.joining import engine_of
from orchestrator.planning.comparing import compare
from orchestrator.planning.comparison import Comparison
from orchestrator.planning.decision import Action
from orchestrator.planning.stored_templates import load_template
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.examination_clients import ExaminationClients
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.sandbox.budget import shared_time
from orchestrator.store.stacks.output_readers import sentence_of
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.template.template import Template
from orchestrator.views.stacks import ResourcePlan, UpdatePlan


def update_plan(
    store: Store,
    stack: StackRow,
    job: StackJob,
    settings: Settings,
    *,
    clients: Clients | None,
    state: str,
    nested: bool = True,
) -> UpdatePlan:
    """Return the changes that an update of a stack would make, without making any.

    Resources of nested stacks have a path as their name; without ``nested``, they are left out.

    ``clients`` query other systems; with None that is left to the coordinator that carries the update out.

    Raises:
        InvalidInput: something is wrong with the job.
        Conflict: the stack is being deleted, or is suspended, or is busy and the job names resources; or a lifecycle
            plugin would refuse, or the project would have more than a limit allows.
        NotVerified: another system that validation queries did not answer.
    """
    plan, _, inside = compared_plan(store, stack, job, settings, clients=clients, state=state)
    if not nested:
        return plan
    resources = [part for each in plan.resources for part in (each, *map(ResourcePlan.of, inside.of(each)))]
    return replace(plan, resources=tuple(resources))


def compared_plan(
    store: Store, stack: StackRow, job: StackJob, settings: Settings, *, clients: Clients | None, state: str
) -> tuple[UpdatePlan, Comparison, NestedPlans]:
    """Return the changes that an update would make, the comparison behind them, and the plans of nested stacks.

    The changes are those of :func:`update_plan` without what is done inside of nested stacks.

    Raises:
        IsothermError: as :func:`update_plan`.
    """
    refuse_deleted(stack)
    refuse_suspended(stack)
    refuse_partial_beside(store, stack, job)
    with shared_time(Limits.of(settings)):
        return _compared_plan(store, stack, job, settings, clients=clients, state=state)


def _compared_plan(
    store: Store, stack: StackRow, job: StackJob, settings: Settings, *, clients: Clients | None, state: str
) -> tuple[UpdatePlan, Comparison, NestedPlans]:
    types = ResourceTypes.on_demand()
    named = replace(job, name=stack.name)
    compared = compare(store, stack, named, types, settings, clients=clients)
    made = [name for name, match in compared.matches.items() if match.row is None]
    refuse_to_add(store, settings, named, {name: compared.prepared.nested.get(name) for name in made})
    credential = compared.prepared.credential
    project_clients = ExaminationClients(clients.of(stack.project, credential)) if clients else None
    tags = stack.tags if job.tags is None else job.tags
    run = DryRun(compared, types, Limits.of(settings), store.templates.file, project_clients)
    plan = run.plan(state, tags)
    nested = NestedPlans(store, stack, run, compared, types=types, clients=project_clients)
    advice = advice_of(
        joined(lifecycle_plugins(settings), engine_of(settings, store=lambda: store, types=lambda: types)),
        partial(comparison_shown, store, stack, compared, settings, tags=tags),
        with_names(stack_shown(store, stack, settings), compared.moved.before, compared.moved.transfers),
        "UPDATE",
        {*compared.prepared.types.values(), *(row.type for row in compared.rows)},
        moved=compared.moved.names_before,
    )
    advised = replace(
        plan,
        targets=job.targets,
        replaces=job.replaces,
        partial=tuple(sorted(compared.part.left)) if compared.part else (),
        has_changes=_has_changes(store, stack, compared, plan),
        warnings=(*plan.warnings, *_of_readers(store, stack, compared, plan), *advice.warnings),
        annotations=advice.annotations,
    )
    return advised, compared, nested


def _of_readers(store: Store, stack: StackRow, compared: Comparison, plan: UpdatePlan) -> tuple[Problem, ...]:
    """Return a warning for each output that other stacks read and that may have another value after the update."""
    readers = store.output_readers.of_source(stack.id)
    if not readers:
        return ()
    earlier = load_template(store, stack.template_id, compared.context, compared.settings).outputs
    outputs, values = compared.prepared.template.outputs, compared.prepared.parameters.values
    changed = {each.name for each in plan.resources if each.action != Action.KEEP}
    has_other_values = values != compared.context["parameters"]
    warnings = []
    for name in sorted({each.output for each in readers}):
        new, old = outputs.get(name), earlier.get(name)
        if new is None:
            what = "is no output of the new definition"
        elif (
            has_other_values
            or old is None
            or new.expression.plain != old.expression.plain
            or not changed.isdisjoint(new.requirements)
        ):
            what = "may change"
        else:
            continue
        read = sentence_of([each for each in readers if each.output == name], stack.project)
        warnings.append(Problem(path=f"outputs.{name}", message=f"it {what}, and {read}"))
    return tuple(warnings)


def _has_changes(store: Store, stack: StackRow, compared: Comparison, plan: UpdatePlan) -> bool:
    """Return whether an update would change anything of the stack, or may."""
    if stack.status != "COMPLETE" or plan.tags != tuple(stack.tags):
        return True
    if compared.moved.paths or any(each.action != Action.KEEP for each in plan.resources):
        return True
    if not all(match.clean for match in compared.matches.values()):
        # Such as another deletion policy, which no resource type gets to see.
        return True
    prepared, context = compared.prepared, compared.context
    if prepared.parameters.values != context["parameters"]:
        return True
    try:
        earlier = load_template(store, stack.template_id, context, compared.settings)
    except IsothermError:
        # It calls a function that is not installed any more.
        return True
    return _without_resources(earlier) != _without_resources(prepared.template)


def _without_resources(template: Template) -> object:
    """Return the parts of a template besides its resources and parameters."""
    outputs = {name: (each.description, each.expression.plain) for name, each in template.outputs.items()}
    return template.description, outputs
