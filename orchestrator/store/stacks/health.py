"""What people say of a resource's health, written down where no operation can come in between."""

from collections.abc import Sequence

import sqlalchemy as sa

from orchestrator.model.actions import CHECK
from orchestrator.store import tables
from orchestrator.store.database import Database, database_time, retrying
from orchestrator.store.stacks.stacks import ResourceRow, StackRow


class Health:
    """The marks that belong to no traversal."""

    def __init__(self, database: Database) -> None:
        self._db = database

    @retrying
    def mark(
        self,
        row: ResourceRow,
        around: Sequence[tuple[StackRow, str | None]],
        *,
        unhealthy: bool,
        reason: str,
    ) -> bool:
        """Write down that a resource is unhealthy, or is not; False if something has changed since it was read.

        Args:
            row: The resource.
            around: The stack that it is in, and those around that one, each with the id of the row there that is to be
                visited by the next update too: none for the first.
            unhealthy: Whether it is.
            reason: Why, for people.
        """
        with self._db.write() as connection:
            now = database_time(connection, self._db)
            # Each stack is locked before anything is written: none can begin an operation meanwhile.
            if not all(self._is_quiet(connection, stack) for stack, _ in around):
                return False
            if not self._write(connection, row, now, unhealthy=unhealthy, reason=reason):
                return False
            if unhealthy:
                outer = [row_id for _, row_id in around if row_id is not None]
                self._doubt(connection, outer, f"resources.{row.name}: {reason}")
            self._say(connection, row, around[0][0], now, unhealthy=unhealthy, reason=reason)
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
        """Let the next update visit rows that were in order."""
        resource = tables.resource
        in_order = resource.c.id.in_(row_ids) & (resource.c.status == "COMPLETE")
        connection.execute(
            resource.update().where(in_order).values(action=CHECK, status="FAILED", reason=reason)
        )

    @staticmethod
    def _say(
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
