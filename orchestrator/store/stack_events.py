"""What happened to stacks themselves, written down in the transaction in which it happens."""

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
    """Write down what happened to a stack itself."""
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
