"""Cancellation of a stack's operation under way: with a rollback to its last complete definition, or without."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from orchestrator.config.caller import caller
from orchestrator.engine.operation_end import last_complete
from orchestrator.engine.publisher import Publisher, publish_or_leave
from orchestrator.engine.stack_actions import refuse_nested
from orchestrator.engine.traversal_starter import TraversalStarter
from orchestrator.errors import Conflict, NotFound
from orchestrator.model.actions import OPERATIONS
from orchestrator.model.messages import CancelJob
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store


class Cancellation:
    """Cancels operations; running steps are finished."""

    def __init__(
        self,
        store: Store,
        publisher: Publisher,
        begin: TraversalStarter,
        *,
        fence: Callable[[StackRow], None],
    ) -> None:
        """Keep the arguments; ``fence`` stops the traversal that made a plan outdated."""
        self._store, self._publisher, self._begin, self._fence = store, publisher, begin, fence

    def cancel(self, job: CancelJob, *, inner: bool = False) -> str:
        """Cancel a stack's operation under way; return the stack's id. The same job again changes nothing.

        With a rollback, the stack's last complete definition is restored, if the operation was changing it. ``inner``
        is set for a nested stack.

        Raises:
            NotFound: there is no such stack.
            Conflict: nothing that can be cancelled is under way, or a lifecycle plugin refused.
        """
        if done := self._store.stacks.accepted(job.job_id):
            return done
        stack = self._store.stacks.find(job.name, project=job.project)
        if not inner:
            refuse_nested(stack)
        if stack.status != "IN_PROGRESS" or stack.action == "DELETE":
            raise Conflict(
                f"stack {stack.name!r} is {stack.action}_{stack.status}: there is nothing to cancel"
            )
        if not job.rollback or stack.action in OPERATIONS:
            comment = caller().comment
            # The cancelled operation has a comment of its own, if any.
            reason = f"Stack {stack.action} cancelled{f': {comment}' if comment else ''}"
            order = self._store.traversals.cancel(stack.traversal_id, reason=reason, job_id=job.job_id)
            publish_or_leave(self._publisher, (order,) if order else ())
            for child in self._store.families.children(stack.id):
                if child.status == "IN_PROGRESS" and child.action != "DELETE":
                    # One that is over by now must not keep the others going.
                    with suppress(Conflict, NotFound):
                        self.cancel(
                            CancelJob(name=child.id, project=child.project, rollback=False), inner=True
                        )
        elif stack.action == "ROLLBACK":
            raise Conflict(f"stack {stack.name!r} is being rolled back already")
        elif not self._cancel_and_roll_back(stack, job):
            raise Conflict(f"stack {stack.name!r} is being changed by others; try again")
        return stack.id

    def _cancel_and_roll_back(self, stack: StackRow, job: CancelJob) -> bool:
        """Restore the last complete definition of a stack; False if another operation took the stack first."""
        options = self._store.traversals.options(stack.traversal_id)
        unprotect = job.unprotect or bool(options.get("unprotect"))
        completed = replace(last_complete(self._store, stack, job.job_id), unprotect=unprotect)
        if self._begin.update(stack, completed, action="ROLLBACK"):
            return True
        self._fence(stack)
        now = self._store.stacks.find(stack.id, project=stack.project)
        if now.traversal_id != stack.traversal_id:
            return False
        if now.status == "COMPLETE":
            raise Conflict(
                f"stack {now.name!r} is {now.action}_{now.status} by now: there is nothing to cancel"
            )
        completed = replace(last_complete(self._store, now, job.job_id), unprotect=unprotect)
        return self._begin.update(now, completed, action="ROLLBACK") is not None
