"""Events, recorded in the transaction of the change: of stacks themselves, and of their resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hooks.values.texts import storable
from orchestrator.config.caller import caller
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.direct import Direct

if TYPE_CHECKING:
    from orchestrator.store.direct import Transaction


def insert_event(transaction: Transaction, now: float, *, reason: str, **values: str) -> None:
    """Record an event of a stack itself, in the caller's transaction; ``values`` are its other columns."""
    direct = Direct.of(transaction)
    user = storable(caller().identity.user)
    event = {"at": now, "type": "stack", "user_name": user, "reason": direct.sealed(reason), **values}
    direct.insert("event", [event])


def resource_event(row: Any, now: float, **values: str) -> dict[str, object]:
    """Return the columns of an event of a resource; ``row`` is the resource's, or as good as that."""
    return {
        "at": now,
        "stack_id": row.stack_id,
        "resource": row.name,
        "resource_id": row.id,
        "type": row.type,
        "physical_id": row.physical_id,
        **values,
    }


def insert_resource_event(connection: sa.Connection, row: Any, now: float, **values: str) -> None:
    """Record an event of a resource, in the caller's transaction; see :func:`resource_event`."""
    connection.execute(tables.event.insert(), resource_event(row, now, **values))
