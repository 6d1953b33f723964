"""Import of existing objects into a stack that exists: whether its state allows it, and what it would do."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from orchestrator.config.hooks import lifecycle_plugins
from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.engine.ownership import refuse_owned
from orchestrator.engine.project_limits import refuse_to_add
from orchestrator.engine.stack_actions import refuse_busy, refuse_suspended
from orchestrator.errors import Conflict
from orchestrator.lifecycle.engine_plugin import joined
from orchestrator.lifecycle.frozen_stacks import definition_shown, stack_shown
from orchestrator.lifecycle.previews import advice_of
from orchestrator.model.graph import Graph
from orchestrator.model.messages import ImportJob
from orchestrator.placement.joining import engine_of
from orchestrator.planning.comparison import Comparison, compare, refuse_nested
from orchestrator.planning.decision import Action
from orchestrator.planning.imports import with_imports
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.sandbox.budget import shared_time
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.store.traversals.new_traversal import Adopted
from orchestrator.views.stacks import ResourcePlan, UpdatePlan

#: The action of the traversal, and of the imported resources.
ADOPT: Final = "ADOPT"

#: Begins the traversal of a job in the place of the stack's present one; false if another operation was faster, on this
#: stack or with an object.
Begin = Callable[[StackRow, ImportJob], bool]


def import_objects(store: Store, job: ImportJob, begin: Begin, *, tries: int) -> str:
    """Begin to import a job's objects; return the stack's id. The same job delivered again begins nothing.

    A failed import is always rolled back: the stack is what it was, and the objects are left alone.

    Raises:
        InvalidInput: an object has an owner, or the definition would change something else; nothing was changed.
        NotFound: there is no such stack.
        Conflict: the stack is not complete, other operations were faster so many ``tries`` times, or a lifecycle plugin
            refused.
    """
    for _ in range(tries):
        # What took the stack first may have been the same job, delivered twice.
        if done := store.stacks.accepted(job.job_id):
            return done
        stack = store.stacks.find(job.name, project=job.project)
        require_complete(store, stack)
        if begin(stack, _as_imported(job, stack)):
            return stack.id
    raise Conflict(f"stack {job.name!r} is being changed by others; try again")


def require_complete(store: Store, stack: StackRow) -> None:
    """Refuse an import into a stack that is not at rest and complete: its rollback would change more than it did.

    Raises:
        Conflict: the stack is nested, busy, deleted, suspended, or failed.
    """
    refuse_nested(stack)
    refuse_busy(store, stack, "import into")
    refuse_suspended(stack)
    if stack.status != "COMPLETE" or stack.template_id != stack.completed_template_id:
        raise Conflict(
            f"stack {stack.name!r} is {stack.action}_{stack.status}: an import needs a stack that is complete; "
            "update it first"
        )


def examine_import(
    store: Store, stack: StackRow, job: ImportJob, settings: Settings
) -> tuple[Comparison, Mapping[str, Adopted]]:
    """Return the comparison behind an import, and the objects by the id of the new row; no other system is called.

    Raises:
        InvalidInput: as :func:`import_objects`.
        Conflict: the stack is not complete, or the project would have more than a limit allows.
    """
    require_complete(store, stack)
    types = ResourceTypes.on_demand()
    wanted = _as_imported(job, stack)
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
        InvalidInput: as :func:`import_objects`.
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


def _as_imported(job: ImportJob, stack: StackRow) -> ImportJob:
    """Return a job by the stack's name, which compares no other object and is rolled back if it fails.

    The stack keeps its time-out, unless the job has another.
    """
    timeout_minutes = stack.timeout_minutes if job.timeout_minutes is None else job.timeout_minutes
    given = {"rollback": True, "refresh": False, "unprotect": False, "timeout_minutes": timeout_minutes}
    return replace(job, name=stack.name, **given)
