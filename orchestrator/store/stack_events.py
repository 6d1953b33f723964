"""Events, recorded in the transaction of the change: of stacks themselves, and of their resources."""

import functools
from typing import Any

import sqlalchemy as sa

from orchestrator.store import tables


@functools.cache
def _insert() -> sa.Insert:
    return tables.event.insert()


def insert_event(connection: sa.Connection, now: float, **values: str) -> None:
    """Record an event of a stack itself, in the caller's transaction; ``values`` are its other columns."""
    connection.execute(_insert(), {"at": now, "type": "stack", **values})


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
    connection.execute(_insert(), resource_event(row, now, **values))
