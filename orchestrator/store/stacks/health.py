"""Operator health marks of resources (``mark-unhealthy``), recorded under the stack's lock."""

from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from orchestrator.model.actions import CHECK
from orchestrator.store import tables
from orchestrator.store.database import retrying
from orchestrator.store.repository import Repository
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
            if not all(is_quiet(connection, stack) for stack, _ in stacks):
                return False
            marked = resource.update().where(as_read).values(**mark, unhealthy=unhealthy, updated_at=now)
            if connection.execute(marked).rowcount != 1:
                return False
            if unhealthy:
                outer = [row_id for _, row_id in stacks if row_id is not None]
                doubt(connection, outer, f"resources.{row.name}: {reason}")
            insert_resource_event(connection, row, now, traversal_id=stacks[0][0].traversal_id, **mark)
        return True


def is_quiet(connection: sa.Connection, stack: StackRow) -> bool:
    """Lock a stack, and return whether no operation has begun or ended on it since it was read."""
    found = connection.execute(
        sa.select(tables.stack.c.traversal_id, tables.stack.c.status)
        .where(tables.stack.c.id == stack.id)
        .with_for_update()
    ).first()
    return found is not None and (found.traversal_id, found.status) == (stack.traversal_id, stack.status)


def doubt(connection: sa.Connection, row_ids: Iterable[str], reason: str) -> None:
    """Mark the complete ones of some rows so that the next update visits them."""
    resource = tables.resource
    for some in chunked(sorted(row_ids)):
        complete = resource.c.id.in_(some) & (resource.c.status == "COMPLETE")
        connection.execute(
            resource.update().where(complete).values(action=CHECK, status="FAILED", reason=reason)
        )
