"""Update plan: the changes that an update would make, with the advice of lifecycle plugins."""

from dataclasses import replace
from functools import partial

from orchestrator.config.hooks import lifecycle_plugins
from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.engine.stack_actions import refuse_suspended
from orchestrator.engine.update_preview import DryRun
from orchestrator.lifecycle.engine_plugin import joined
from orchestrator.lifecycle.frozen_stacks import definition_shown, stack_shown
from orchestrator.lifecycle.previews import advice_of
from orchestrator.model.messages import StackJob
from orchestrator.placement.joining import engine_of
from orchestrator.planning.comparison import compare, refuse_deleted
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.views.stacks import UpdatePlan


def update_plan(
    store: Store, stack: StackRow, job: StackJob, settings: Settings, *, clients: Clients | None, state: str
) -> UpdatePlan:
    """Return the changes that an update of a stack would make, without making any.

    ``clients`` query other systems; with None that is left to the coordinator that carries the update out.

    Raises:
        InvalidInput: something is wrong with the job.
        Conflict: the stack is being deleted, or is suspended, or a lifecycle plugin would refuse.
        NotVerified: another system that validation queries did not answer.
    """
    refuse_deleted(stack)
    refuse_suspended(stack)
    types = ResourceTypes.load()
    named = replace(job, name=stack.name)
    compared = compare(store, stack, named, types, settings, clients=clients)
    project_clients = clients.of(stack.project) if clients else None
    tags = stack.tags if job.tags is None else job.tags
    plan = DryRun(compared, types, Limits.of(settings), store.templates.file, project_clients).plan(
        state, tags
    )
    advice = advice_of(
        joined(lifecycle_plugins(settings), engine_of(settings, store=lambda: store, types=lambda: types)),
        partial(definition_shown, compared.prepared, tags=tags),
        stack_shown(store, stack, settings),
        "UPDATE",
        {*compared.prepared.types.values(), *(row.type for row in compared.rows)},
    )
    return replace(plan, warnings=(*plan.warnings, *advice.warnings), annotations=advice.annotations)
