"""Events of stacks themselves, recorded in the transaction of the change."""

from typing import Final

import sqlalchemy as sa

from orchestrator.store import tables

_INSERT: Final = tables.event.insert()


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
    values = {
        "at": now,
        "stack_id": stack_id,
        "traversal_id": traversal_id,
        "type": "stack",
        "action": action,
        "status": status,
        "reason": reason,
    }
    connection.execute(_INSERT, values)
