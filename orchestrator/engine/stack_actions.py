"""Operations without a new definition: check, suspend and resume a stack.

Pure functions decide whether a stack's state allows one; :func:`operate` reads the rows, calls them, and begins.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.errors import Conflict, InvalidInput, Problem
from orchestrator.model.actions import CHECK, RESUME, SUSPEND, is_fit, is_suspended
from orchestrator.model.messages import OperateJob, StackJob
from orchestrator.model.names import listed
from orchestrator.model.nested_stack import AtRest, Fence
from orchestrator.model.plan import Plan, plan_operate
from orchestrator.planning.matching import plan_row
from orchestrator.planning.rows import names_of
from orchestrator.store.stacks.snapshots import NewSnapshot
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store
from orchestrator.store.traversals.new_traversal import NewTraversal

#: Begins a traversal in the place of the stack's present one; False if another operation took the stack first.
Begin = Callable[[StackRow, NewTraversal], bool]


def operate(store: Store, job: OperateJob, begin: Begin, fence: Fence | AtRest | None = None) -> str:
    """Begin a job's operation on a stack; return the stack's id.

    The same job delivered again begins nothing, nor does a suspend of a suspended stack, or a resume of a resumed one.
    ``fence`` is set for a nested stack, on which only its parent resource operates.

    Raises:
        NotFound: there is no such stack.
        Conflict: the stack is busy, or its state does not allow it; or a lifecycle plugin refused.
        Fenced: the attempt of the parent resource is over.
    """
    if done := store.stacks.accepted(job.job_id):
        return done
    stack = store.stacks.find(job.name, project=job.project)
    if fence is None:
        refuse_nested(stack)
        refuse_busy(store, stack, job.action)
    rows = store.stacks.resources(stack.id)
    if _is_done(stack, job.action) or (fence and _needs_nothing(stack, job.action, rows)):
        store.stacks.accept_job(job.job_id, stack.id)
        return stack.id
    refuse_unfit(stack, job.action, rows)
    taking_part = [row for row in rows if takes_part(job.action, row)]
    new = operation(store, stack, rows, taking_part, job.action, job_id=job.job_id, fence=fence)
    if not begin(stack, new):
        raise Conflict(f"stack {stack.name!r} is being changed by others; try again")
    return stack.id


def _is_done(stack: StackRow, action: str) -> bool:
    return action in (SUSPEND, RESUME) and (stack.action, stack.status) == (action, "COMPLETE")


def _needs_nothing(stack: StackRow, action: str, rows: Sequence[ResourceRow]) -> bool:
    """Return whether a nested stack is being operated on already, or is to be resumed and never was suspended."""
    if (stack.action, stack.status) == (action, "IN_PROGRESS"):
        return True
    return action == RESUME and not _is_suspended(stack, rows)


def _is_suspended(stack: StackRow, rows: Sequence[ResourceRow]) -> bool:
    return stack.action in (SUSPEND, RESUME) or any(is_suspended(row.action, row.status) for row in rows)


def operation(
    store: Store,
    stack: StackRow,
    rows: Sequence[ResourceRow],
    taking_part: Sequence[ResourceRow],
    action: str,
    *,
    options: Mapping[str, object] | None = None,
    snapshot: NewSnapshot | None = None,
    job_id: str | None = None,
    fence: Fence | AtRest | None = None,
) -> NewTraversal:
    """Return the traversal of an operation on some of a stack's rows."""
    planned = store.histories.planned(stack.id)
    visited = [plan_row(row, _marks(row, planned.get(row.id, {}))) for row in taking_part]
    new = without_definition(store, stack, rows, plan_operate(visited, action=action))
    return replace(new, options=options or {}, snapshot=snapshot, job_id=job_id or None, fence=fence)


def without_definition(
    store: Store, stack: StackRow, rows: Sequence[ResourceRow], plan: Plan
) -> NewTraversal:
    """Return a traversal that gives a stack no new definition; ``rows`` are all its rows."""
    return NewTraversal(
        id=str(uuid.uuid4()),
        stack_id=stack.id,
        stack=stack.name,
        project=stack.project,
        template_id=stack.template_id,
        timeout_minutes=stack.timeout_minutes,
        plan=plan,
        context=store.traversals.context(stack.traversal_id),
        new_types={},
        known={row.id for row in rows},
    )


def _marks(row: ResourceRow, latest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fragment of an operation's node: whether the resource is external, or marked unhealthy."""
    marks: dict[str, Any] = {**names_of(row)}
    if latest.get("definition", {}).get("e") is not None:
        marks["external"] = True
    if row.unhealthy:
        marks["unhealthy"] = row.reason
    return marks


def takes_part(action: str, row: ResourceRow) -> bool:
    """Return whether an operation visits a row.

    A check visits every row, a resume the suspended ones. A suspend or a snapshot skips rows that were never made, are
    being deleted, or are replaced.
    """
    if action == CHECK:
        return True
    if action == RESUME:
        return is_suspended(row.action, row.status)
    return row.action not in ("INIT", "DELETE") and row.replaced_by is None


def refuse_busy(store: Store, stack: StackRow, action: str) -> None:
    """Refuse an operation while another is under way or a rollback is due.

    Raises:
        Conflict: the stack is busy, or being deleted.
    """
    state = f"stack {stack.name!r} is {stack.action}_{stack.status}"
    if stack.action == "DELETE":
        raise Conflict(f"{state}; only a delete can follow")
    if stack.status == "IN_PROGRESS":
        raise Conflict(f"{state}: wait until that is over, or cancel it, and then {action.lower()} it")
    if store.traversals.owes_rollback(stack.traversal_id):
        raise Conflict(f"{state} and is about to be rolled back: wait until that is over")


def refuse_deleted(stack: StackRow) -> None:
    """Refuse a stack that is deleted or being deleted.

    Raises:
        Conflict: it is.
    """
    if stack.action == "DELETE":
        raise Conflict(f"stack {stack.name!r} is {stack.action}_{stack.status}; only a delete can follow")


def refuse_nested(stack: StackRow) -> None:
    """Refuse a nested stack, which only its parent stack may change.

    Raises:
        Conflict: it is one.
    """
    if stack.parent_id is not None:
        raise Conflict(f"stack {stack.name!r} is a part of another stack: change that one")


def refuse_partial(job: StackJob, operation: str) -> None:
    """Refuse targets and replacements in a job of another operation than an update.

    Raises:
        InvalidInput: the job has some.
    """
    given = [name for name in ("targets", "replaces") if getattr(job, name)]
    if given:
        raise InvalidInput(
            Problem(path=name, message=f"{operation} is of a whole stack", hint="only an update takes them")
            for name in given
        )


def refuse_partial_beside(store: Store, stack: StackRow, job: StackJob) -> None:
    """Refuse an update that names resources while another operation is under way: what it leaves must be at rest.

    Raises:
        Conflict: the stack is busy, or being deleted, and the job names some.
    """
    if job.is_partial:
        refuse_busy(store, stack, "update parts of")


def refuse_partial_stack(stack: StackRow, operation: str) -> None:
    """Refuse an operation on a stack that an update with targets has converged in part.

    Raises:
        Conflict: it has.
    """
    if stack.partial:
        raise Conflict(
            f"stack {stack.name!r} was converged in part, without {listed(stack.partial)}: {operation} needs the "
            "whole stack; update it without targets first"
        )


def refuse_suspended(stack: StackRow) -> None:
    """Refuse an operation on a suspended stack.

    Raises:
        Conflict: it is suspended, or was being suspended.
    """
    if stack.action == SUSPEND:
        raise Conflict(f"stack {stack.name!r} is {stack.action}_{stack.status}: resume it first")


def refuse_unfit(stack: StackRow, action: str, rows: Sequence[ResourceRow]) -> None:
    """Refuse an operation that the state of the stack or of its resources does not allow.

    Raises:
        Conflict: the stack is suspended, or is not, or has resources in a state that does not allow it.
    """
    if action not in (SUSPEND, RESUME):
        refuse_suspended(stack)
    if action == RESUME and not _is_suspended(stack, rows):
        raise Conflict(f"stack {stack.name!r} is {stack.action}_{stack.status}: it is not suspended")
    if action == SUSPEND:
        _refuse_half_done(stack, [row for row in rows if takes_part(action, row)])


def _refuse_half_done(stack: StackRow, rows: Sequence[ResourceRow]) -> None:
    """Refuse to suspend resources whose last action failed or is unfinished: SUSPEND would overwrite that state."""
    unfit = [row for row in rows if not is_fit(SUSPEND, row.action, row.status)]
    if unfit:
        shown = listed([f"{row.name!r} is {row.action}_{row.status}" for row in unfit])
        raise Conflict(
            f"stack {stack.name!r} cannot be suspended: resource {shown}; update the stack, so that it is repaired"
        )
