"""Events of stacks themselves, recorded in the transaction of the change."""

import sqlalchemy as sa

from orchestrator.store import tables


def insert_event(
    connection: sa.Connection,
    now: float,
    *,
    stack_id: str,
    traversal_id: str,
    action: str,
    status: str,
    reason: str,
) -> None:
    """Record an event of a stack itself, in the caller's transaction."""
    connection.execute(
        tables.event.insert().values(
            at=now,
            stack_id=stack_id,
            traversal_id=traversal_id,
            type="stack",
            action=action,
            status=status,
            reason=reason,
        )
    )
