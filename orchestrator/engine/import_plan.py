"""Import plan: what an import of objects would do, with the advice of lifecycle plugins."""

from collections.abc import Mapping
from functools import partial

from orchestrator.config.hooks import lifecycle_plugins
from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.engine.imports import ADOPT, as_imported, require_complete
from orchestrator.engine.ownership import refuse_owned
from orchestrator.engine.project_limits import refuse_to_add
from orchestrator.lifecycle.engine_plugin import joined
from orchestrator.lifecycle.frozen_stacks import definition_shown, stack_shown
from orchestrator.lifecycle.previews import advice_of
from orchestrator.model.graph import Graph
from orchestrator.model.messages import ImportJob
from orchestrator.placement.joining import engine_of
from orchestrator.planning.comparing import compare
from orchestrator.planning.comparison import Comparison
from orchestrator.planning.decision import Action
from orchestrator.planning.imports import with_imports
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.sandbox.budget import shared_time
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.store.traversals.new_traversal import Adopted
from orchestrator.views.stacks import ResourcePlan, UpdatePlan


def examine_import(
    store: Store, stack: StackRow, job: ImportJob, settings: Settings
) -> tuple[Comparison, Mapping[str, Adopted]]:
    """Return the comparison behind an import, and the objects by the id of the new row; no other system is called.

    Raises:
        InvalidInput: as :func:`orchestrator.engine.imports.import_objects`.
        Conflict: the stack is not complete, or the project would have more than a limit allows.
    """
    require_complete(store, stack)
    types = ResourceTypes.on_demand()
    wanted = as_imported(job, stack)
    with shared_time(Limits.of(settings)):
        compared, adopted = with_imports(
            compare(store, stack, wanted, types, settings, renews=False), job.resources, types
        )
    taken = [each for each in compared.desired_resources if each.resource_id in adopted]
    refuse_owned(store, taken, adopted, stack.project)
    refuse_to_add(store, settings, wanted, dict.fromkeys(job.resources))
    return compared, adopted


def import_plan(store: Store, stack: StackRow, job: ImportJob, settings: Settings) -> UpdatePlan:
    """Return what an import would do, with the advice of lifecycle plugins; nothing is changed.

    Raises:
        InvalidInput: as :func:`orchestrator.engine.imports.import_objects`.
        Conflict: as :func:`examine_import`, or a lifecycle plugin would refuse.
    """
    compared, adopted = examine_import(store, stack, job, settings)
    prepared = compared.prepared
    tags = tuple(stack.tags) if job.tags is None else job.tags
    advice = advice_of(
        joined(
            lifecycle_plugins(settings),
            engine_of(settings, store=lambda: store, types=ResourceTypes.on_demand),
        ),
        partial(definition_shown, prepared, tags=tags),
        stack_shown(store, stack, settings),
        ADOPT,
        {*prepared.types.values(), *(row.type for row in compared.rows)},
    )
    desired = {each.name: each for each in compared.desired_resources}
    order = Graph({name: each.requires for name, each in desired.items()}).in_order()
    planned = []
    for name in order:
        found = adopted.get(desired[name].resource_id)
        reason = "" if found is None else f"the object {found.physical_id!r} is taken as it is"
        action = Action.KEEP.value if found is None else ADOPT
        planned.append(ResourcePlan(name=name, type=desired[name].type, action=action, reason=reason))
    return UpdatePlan(
        name=stack.name,
        state=f"{stack.action}_{stack.status}",
        tags=tags,
        parameters=prepared.parameters.shown(),
        resources=tuple(planned),
        warnings=(*prepared.warnings, *advice.warnings),
        annotations=advice.annotations,
    )
