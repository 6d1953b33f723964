"""Operator health marks of resources (``mark-unhealthy``), recorded under the stack's lock."""

from collections.abc import Sequence

import sqlalchemy as sa

from orchestrator.model.actions import CHECK
from orchestrator.store import tables
from orchestrator.store.database import Database, database_time, retrying
from orchestrator.store.stacks.stacks import ResourceRow, StackRow


class Health:
    """Writes of health marks."""

    def __init__(self, database: Database) -> None:
        self._db = database

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

        Args:
            row: The resource.
            stacks: The resource's stack and those that it is nested in, innermost first, each with the id of its row
                that the next update must visit as well (None for the first).
            unhealthy: Whether it is unhealthy.
            reason: The reason, for users.
        """
        with self._db.write() as connection:
            now = database_time(connection, self._db)
            # Each stack is locked before the first write, so that no operation begins meanwhile.
            if not all(self._is_quiet(connection, stack) for stack, _ in stacks):
                return False
            if not self._write(connection, row, now, unhealthy=unhealthy, reason=reason):
                return False
            if unhealthy:
                outer = [row_id for _, row_id in stacks if row_id is not None]
                self._doubt(connection, outer, f"resources.{row.name}: {reason}")
            self._record(connection, row, stacks[0][0], now, unhealthy=unhealthy, reason=reason)
        return True

    @staticmethod
    def _is_quiet(connection: sa.Connection, stack: StackRow) -> bool:
        found = connection.execute(
            sa.select(tables.stack.c.traversal_id, tables.stack.c.status)
            .where(tables.stack.c.id == stack.id)
            .with_for_update()
        ).first()
        return found is not None and (found.traversal_id, found.status) == (stack.traversal_id, stack.status)

    @staticmethod
    def _write(
        connection: sa.Connection, row: ResourceRow, now: float, *, unhealthy: bool, reason: str
    ) -> bool:
        resource = tables.resource
        as_read = (
            (resource.c.id == row.id)
            & (resource.c.action == row.action)
            & (resource.c.status == row.status)
            & resource.c.lock_traversal.is_(None)
        )
        written = connection.execute(
            resource.update()
            .where(as_read)
            .values(
                action=CHECK,
                status="FAILED" if unhealthy else "COMPLETE",
                reason=reason,
                unhealthy=unhealthy,
                updated_at=now,
            )
        )
        return written.rowcount == 1

    @staticmethod
    def _doubt(connection: sa.Connection, row_ids: Sequence[str], reason: str) -> None:
        """Mark complete rows so that the next update visits them."""
        resource = tables.resource
        in_order = resource.c.id.in_(row_ids) & (resource.c.status == "COMPLETE")
        connection.execute(
            resource.update().where(in_order).values(action=CHECK, status="FAILED", reason=reason)
        )

    @staticmethod
    def _record(
        connection: sa.Connection,
        row: ResourceRow,
        stack: StackRow,
        now: float,
        *,
        unhealthy: bool,
        reason: str,
    ) -> None:
        connection.execute(
            tables.event.insert().values(
                at=now,
                stack_id=row.stack_id,
                traversal_id=stack.traversal_id,
                resource=row.name,
                resource_id=row.id,
                type=row.type,
                action=CHECK,
                status="FAILED" if unhealthy else "COMPLETE",
                reason=reason,
                physical_id=row.physical_id,
            )
        )
