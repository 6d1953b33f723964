"""What is asked of a stack as it is, without a new definition: check it, suspend it, resume it.

Whether a stack lends itself to it is decided by pure functions; :func:`operate` reads, asks them, and begins.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from orchestrator.errors import Conflict
from orchestrator.model.actions import CHECK, RESUME, SUSPEND, is_fit, is_suspended
from orchestrator.model.messages import OperateJob
from orchestrator.model.plan import plan_operate
from orchestrator.planning.comparison import refuse_nested
from orchestrator.planning.matching import plan_row
from orchestrator.store.stacks.snapshots import NewSnapshot
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store
from orchestrator.store.traversals.new_traversal import NewTraversal

#: How many resources a refusal names.
_NAMED: Final = 5

#: Begins a traversal in the place of the stack's present one; False if another operation took the stack first.
Begin = Callable[[StackRow, NewTraversal], bool]


def operate(store: Store, job: OperateJob, begin: Begin, *, inner: bool = False) -> str:
    """Begin what the job asks of a stack; return the stack's id.

    The same job delivered again begins nothing. Nor does what is done already: a suspend of a stack that is suspended,
    a resume of one that was resumed. It is asked of a stack in a stack through the outermost one, whose resource says
    so with ``inner``.

    Raises:
        NotFound: there is no such stack.
        Conflict: the stack is busy, or does not lend itself to it; or a lifecycle plugin refused.
        Fenced: the attempt in whose name this is done is over.
    """
    if done := store.stacks.accepted(job.job_id):
        return done
    stack = store.stacks.find(job.name, project=job.project)
    if not inner:
        refuse_nested(stack)
        refuse_busy(store, stack, job.action)
    rows = store.stacks.resources(stack.id)
    if _is_done(stack, job.action) or (inner and _needs_nothing(stack, job.action, rows)):
        store.stacks.accept_job(job.job_id, stack.id)
        return stack.id
    refuse_unfit(stack, job.action, rows)
    taking_part = [row for row in rows if takes_part(job.action, row)]
    new = operation(store, stack, rows, taking_part, job.action, job_id=job.job_id)
    if not begin(stack, new):
        raise Conflict(f"stack {stack.name!r} is being changed by others; try again")
    return stack.id


def _is_done(stack: StackRow, action: str) -> bool:
    return action in (SUSPEND, RESUME) and (stack.action, stack.status) == (action, "COMPLETE")


def _needs_nothing(stack: StackRow, action: str, rows: Sequence[ResourceRow]) -> bool:
    """Whether a stack in a stack is being operated on already, or never was suspended when it is to be resumed."""
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
    options: Mapping[str, Any] | None = None,
    snapshot: NewSnapshot | None = None,
    job_id: str | None = None,
) -> NewTraversal:
    """Return the traversal that does something with some of a stack's rows as they are."""
    planned = store.histories.planned(stack.id)
    told = [plan_row(row, _told(row, planned.get(row.id, {}))) for row in taking_part]
    return NewTraversal(
        id=str(uuid.uuid4()),
        stack_id=stack.id,
        stack=stack.name,
        project=stack.project,
        template_id=stack.template_id,
        timeout_minutes=stack.timeout_minutes,
        plan=plan_operate(told, action=action),
        context=store.traversals.context(stack.traversal_id),
        new_types={},
        known={row.id for row in rows},
        options=options or {},
        snapshot=snapshot,
        job_id=job_id or None,
    )


def _told(row: ResourceRow, latest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an operation must be told of a row besides the row itself."""
    told: dict[str, Any] = {}
    if latest.get("definition", {}).get("e") is not None:
        told["external"] = True
    if row.unhealthy:
        told["unhealthy"] = row.reason
    return told


def takes_part(action: str, row: ResourceRow) -> bool:
    """Whether an operation visits a row.

    A check visits all there are. What is about to be cleaned up is neither suspended nor resumed, and what was never
    made, or is not suspended, is as it should be.
    """
    if action == CHECK:
        return True
    if action == RESUME:
        return is_suspended(row.action, row.status)
    return row.action not in ("INIT", "DELETE") and row.replaced_by is None


def refuse_busy(store: Store, stack: StackRow, action: str) -> None:
    """Refuse to do something with a stack as it is while another operation has it, or will have it next.

    Raises:
        Conflict: one has.
    """
    state = f"stack {stack.name!r} is {stack.action}_{stack.status}"
    if stack.action == "DELETE":
        raise Conflict(f"{state}; only a delete can follow")
    if stack.status == "IN_PROGRESS":
        raise Conflict(f"{state}: wait until that is over, or cancel it, and then {action.lower()} it")
    if store.traversals.owes_rollback(stack.traversal_id):
        raise Conflict(f"{state} and is about to be rolled back: wait until that is over")


def refuse_suspended(stack: StackRow) -> None:
    """Refuse what cannot be done with a suspended stack.

    Raises:
        Conflict: it is suspended, or was being suspended.
    """
    if stack.action == SUSPEND:
        raise Conflict(f"stack {stack.name!r} is {stack.action}_{stack.status}: resume it first")


def refuse_unfit(stack: StackRow, action: str, rows: Sequence[ResourceRow]) -> None:
    """Refuse an operation that could only fail, before anything is touched.

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
    """Refuse to suspend what was left half-way: nobody could tell later what it was in the middle of."""
    unfit = [row for row in rows if not is_fit(SUSPEND, row.action, row.status)]
    if unfit:
        shown = ", ".join(f"{row.name!r} is {row.action}_{row.status}" for row in unfit[:_NAMED])
        more = f" and {len(unfit) - _NAMED} more" if len(unfit) > _NAMED else ""
        raise Conflict(
            f"stack {stack.name!r} cannot be suspended: resource {shown}{more}; "
            "update the stack, so that it is repaired"
        )
