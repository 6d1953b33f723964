"""The start of an operation that lifecycle plugins agreed to: its state, their annotations and warnings."""

from __future__ import annotations

from orchestrator.model.codec import Codec
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.database import bulk_insert
from orchestrator.store.stack_events import insert_event
from orchestrator.store.traversals.operation_rows import ENTERING, UNDER_WAY, Agreed, TakenOver


def begin_operation(
    connection: sa.Connection, codec: Codec, agreed: Agreed, *, stack_id: str, action: str, now: float
) -> None:
    """Mark an operation as under way and write its plugins' annotations and warnings, in the caller's transaction.

    Raises:
        TakenOver: another process holds the operation by now; the transaction must be rolled back.
    """
    operation = tables.operation
    mine = (operation.c.id == agreed.operation_id) & (operation.c.attempt == agreed.attempt)
    begun = operation.update().where(mine, operation.c.state == ENTERING)
    if connection.execute(begun.values(state=UNDER_WAY, leased_until=None)).rowcount != 1:
        raise TakenOver(f"another process holds operation {agreed.operation_id}")
    _annotate(connection, codec, agreed, stack_id=stack_id)
    for plugin, warnings in agreed.warnings.items():
        for warning in warnings:
            reason = f"Warning of lifecycle plugin {plugin!r}: {warning}"
            event = {"action": action, "status": "IN_PROGRESS", "reason": reason}
            insert_event(connection, now, stack_id=stack_id, traversal_id=agreed.operation_id, **event)


def _annotate(connection: sa.Connection, codec: Codec, agreed: Agreed, *, stack_id: str) -> None:
    annotation = tables.annotation
    if agreed.annotations:
        before = annotation.c.plugin.in_(list(agreed.annotations))
        connection.execute(annotation.delete().where(annotation.c.stack_id == stack_id, before))
    rows = [
        {
            "stack_id": stack_id,
            "plugin": plugin,
            "resource": resource,
            "value": codec.pack(value, ("annotation", "value", stack_id, plugin, resource)),
        }
        for plugin, by_resource in agreed.annotations.items()
        for resource, value in by_resource.items()
    ]
    bulk_insert(connection, annotation, rows)
