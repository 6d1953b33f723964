"""Import of existing objects into a stack that exists: whether the stack's state allows it, and its beginning."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from orchestrator.engine.stack_actions import (
    refuse_busy,
    refuse_nested,
    refuse_partial_stack,
    refuse_suspended,
)
from orchestrator.errors import Conflict
from orchestrator.model.messages import ImportJob
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store

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
        if begin(stack, as_imported(job, stack)):
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
    refuse_partial_stack(stack, "an import")
    if stack.status != "COMPLETE" or stack.template_id != stack.completed_template_id:
        raise Conflict(
            f"stack {stack.name!r} is {stack.action}_{stack.status}: an import needs a stack that is complete; "
            "update it first"
        )


def as_imported(job: ImportJob, stack: StackRow) -> ImportJob:
    """Return a job by the stack's name, which compares no other object and is rolled back if it fails.

    The stack keeps its time-out, unless the job has another.
    """
    return replace(
        job,
        name=stack.name,
        rollback=True,
        refresh=False,
        unprotect=False,
        timeout_minutes=stack.timeout_minutes if job.timeout_minutes is None else job.timeout_minutes,
    )
