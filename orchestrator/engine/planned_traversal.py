"""Traversals as they are planned: from a definition, a plan, and what rows of the stack require."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.messages import StackJob
from orchestrator.model.nested_stack import NestedJob
from orchestrator.model.plan import Plan, Row
from orchestrator.planning.preparation import Prepared
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store
from orchestrator.store.traversals.new_traversal import NewTraversal

if TYPE_CHECKING:
    from orchestrator.model.plan_binding import PlanBinding

#: What rows require, by id. Between the reading of the rows and the transaction that begins the new traversal, the old
#: one goes on: a row that it writes by then may require others, and the traversal is planned again.
Required = Mapping[str, tuple[str, ...]]


def traversal_of(
    job: StackJob, prepared: Prepared, plan: Plan, made: Mapping[str, str], settings: Settings
) -> NewTraversal:
    """Return the traversal of a plan; ``made`` are the types of the rows to be made, by id."""
    return NewTraversal(
        id=str(uuid.uuid4()),
        stack_id=prepared.stack_id,
        stack=job.name,
        project=job.project,
        template_id=prepared.stored.id,
        timeout_minutes=job.timeout_minutes or settings.stack_timeout_minutes,
        plan=plan,
        context=prepared.context,
        new_types=made,
        # A rollback after a failure is permitted what the operation was.
        options={name: True for name in ("rollback", "unprotect") if getattr(job, name)},
        tags=job.tags,
        job_id=job.job_id or None,
        family=job.family if isinstance(job, NestedJob) else None,
        fence=job.fence if isinstance(job, NestedJob) else None,
        event_sinks=prepared.event_sinks,
        observation=prepared.observation,
    )


def applying(new: NewTraversal, applies: "PlanBinding | None") -> NewTraversal:
    """Return a traversal that applies a saved plan; the same one if there is none."""
    if applies is None:
        return new
    return replace(
        new, applies=applies, options={**new.options, "plan": applies.id, "planned_by": applies.user}
    )


def refuse_too_many(store: Store, settings: Settings, job: StackJob, prepared: Prepared) -> None:
    """Refuse a nested stack with which the whole tree would have too many resources.

    Nested stacks known when the root stack was validated were counted then.

    Raises:
        InvalidInput: it would.
    """
    if not isinstance(job, NestedJob):
        return
    most = settings.max_resources_per_stack
    others = store.families.count_in_tree(job.family.root_id, besides=job.stack_id)
    count = others + len(prepared.template.resources)
    if count > most:
        message = (
            f"with these there would be {count} resources in all stacks together; at most {most} are allowed"
        )
        hint = "raise the setting max_resources_per_stack, or make several stacks of it"
        raise InvalidInput([Problem(message=message, hint=hint)])


def may_change(stack: StackRow, rows: Sequence[ResourceRow]) -> Required:
    """Return the requirements of rows that may still change before the next traversal begins.

    The stack was read before the rows: the rows of a stack that was complete then do not change.
    """
    return {} if stack.status == "COMPLETE" else {row.id: row.requires for row in rows}


def planned_by(rows: Sequence[Row], plan: Callable[[Sequence[Row]], Plan]) -> Callable[[Required], Plan]:
    """Return a function that plans by the requirements given, and by those of ``rows`` for rows not given."""
    return lambda required: plan(
        [replace(row, requires=required[row.id]) if row.id in required else row for row in rows]
    )
