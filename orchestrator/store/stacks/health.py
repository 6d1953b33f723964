"""Operator health marks of resources (``mark-unhealthy``), recorded under the stack's lock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator.model.actions import CHECK
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import chunked
from orchestrator.store.stack_events import insert_resource_event
from orchestrator.store.stacks.stacks import ResourceRow, StackRow


class Health(Repository):
    """Writes of health marks."""

    @retrying
    def mark(
        self,
        row: ResourceRow,
        stacks: Sequence[tuple[StackRow, str | None]],
        *,
        unhealthy: bool,
        reason: str,
    ) -> bool:
        """Mark a resource as unhealthy or healthy; False if a row has changed since it was read.

        ``stacks`` are the resource's and those that it is nested in, innermost first, each with the id of its row that
        the next update must visit as well (None for the first).
        """
        resource = tables.resource
        mark = {"action": CHECK, "status": "FAILED" if unhealthy else "COMPLETE", "reason": reason}
        as_read = (
            (resource.c.id == row.id)
            & (resource.c.action == row.action)
            & (resource.c.status == row.status)
            & resource.c.lock_traversal.is_(None)
        )
        with self._db.timed_write() as (connection, now):
            # Each stack is locked before the first write, so that no operation begins meanwhile.
            if not are_quiet(connection, [stack for stack, _ in stacks]):
                return False
            marked = resource.update().where(as_read).values(**mark, unhealthy=unhealthy, updated_at=now)
            if connection.execute(marked).rowcount != 1:
                return False
            if unhealthy:
                outer = [row_id for _, row_id in stacks if row_id is not None]
                doubt(connection, outer, f"resources.{row.name}: {reason}")
            insert_resource_event(connection, row, now, traversal_id=stacks[0][0].traversal_id, **mark)
        return True


def are_quiet(connection: sa.Connection, stacks: Sequence[StackRow]) -> bool:
    """Lock stacks in the order of their ids; return whether none has begun or ended an operation since it was read."""
    stack = tables.stack
    sql = sa.select(stack.c.id, stack.c.traversal_id, stack.c.status).order_by(stack.c.id).with_for_update()
    as_read = {each.id: (each.traversal_id, each.status) for each in stacks}
    found = {
        row.id: (row.traversal_id, row.status)
        for some in chunked(sorted(as_read))
        for row in connection.execute(sql.where(stack.c.id.in_(some)))
    }
    return found == as_read


def doubt(connection: sa.Connection, row_ids: Iterable[str], reason: str) -> None:
    """Mark the complete ones of some rows so that the next update visits them."""
    resource = tables.resource
    for some in chunked(sorted(row_ids)):
        complete = resource.c.id.in_(some) & (resource.c.status == "COMPLETE")
        connection.execute(
            resource.update().where(complete).values(action=CHECK, status="FAILED", reason=reason)
        )
