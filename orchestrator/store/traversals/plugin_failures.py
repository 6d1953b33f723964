"""Stacks that are FAILED because of a lifecycle plugin: before an operation began, or after it was complete."""

from hooks.values.dataclass import dataclass
from orchestrator.store import tables
from orchestrator.store.nodes.failing import hold_stack
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.stack_events import insert_event


@dataclass(frozen=True, slots=True, kw_only=True)
class Unbegun:
    """An operation on an existing stack that a lifecycle plugin refused, so that it never began."""

    stack_id: str
    #: The traversal that the stack had when the plugin was called.
    expected: str
    operation_id: str
    action: str
    reason: str
    job_id: str | None


class PluginFailures(Repository):
    """Failures of stacks by lifecycle plugins; nothing of a resource is changed."""

    @retrying
    def fail_unbegun(self, it: Unbegun) -> bool:
        """Fail a stack at rest whose operation was refused, and accept its job; False if another operation has it.

        The definition, and what is in service, stay.
        """
        stack, job = tables.stack, tables.job
        mine = (stack.c.id == it.stack_id) & (stack.c.traversal_id == it.expected)
        resting = mine & (stack.c.status != "IN_PROGRESS") & stack.c.deleted_at.is_(None)
        with self._db.timed_write() as (connection, now):
            values = {"action": it.action, "status": "FAILED", "reason": it.reason, "updated_at": now}
            if connection.execute(stack.update().where(resting).values(**values)).rowcount != 1:
                return False
            event = {"action": it.action, "status": "FAILED", "reason": it.reason}
            insert_event(connection, now, stack_id=it.stack_id, traversal_id=it.operation_id, **event)
            if it.job_id:
                accepted = {"id": it.job_id, "stack_id": it.stack_id, "status": "accepted"}
                connection.execute(job.insert().values(**accepted, created_at=now))
        return True

    @retrying
    def fail_complete(self, traversal_id: str, reason: str) -> None:
        """Fail a complete traversal and its stack; the definition stays in service. Safe to repeat.

        Nothing changes if another traversal has the stack, or the stack is deleted.
        """
        traversal, stack = tables.traversal, tables.stack
        with self._db.timed_write() as (connection, now):
            stack_id = hold_stack(connection, traversal_id)
            if stack_id is None:
                return
            complete = (traversal.c.id == traversal_id) & (traversal.c.status == "COMPLETE")
            mine = (stack.c.id == stack_id) & stack.c.deleted_at.is_(None)
            values = {"status": "FAILED", "reason": reason}
            failed = connection.execute(
                stack.update()
                .where(mine, stack.c.status == "COMPLETE")
                .values(**values, updated_at=now)
                .returning(stack.c.action)
            ).scalar_one_or_none()
            if failed is None:
                return
            connection.execute(traversal.update().where(complete).values(**values, options="{}"))
            event = {"action": failed, "status": "FAILED", "reason": reason}
            insert_event(connection, now, stack_id=stack_id, traversal_id=traversal_id, **event)
