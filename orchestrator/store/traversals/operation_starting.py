"""What is written of an operation that begins, in the transaction in which it does."""

import sqlalchemy as sa

from orchestrator.model.codec import Codec
from orchestrator.store import tables
from orchestrator.store.database import bulk_insert
from orchestrator.store.stack_events import insert_event
from orchestrator.store.traversals.operation_rows import ENTERING, UNDER_WAY, Agreed, TakenOver


def begin_operation(
    connection: sa.Connection, codec: Codec, agreed: Agreed, *, stack_id: str, action: str, now: float
) -> None:
    """Write down, in the transaction in which it happens, that an operation begins, and what plugins said of it.

    Raises:
        TakenOver: another process has told the plugins by now that it never will; the transaction must not be kept.
    """
    operation = tables.operation
    mine = (operation.c.id == agreed.operation_id) & (operation.c.attempt == agreed.attempt)
    begun = operation.update().where(mine, operation.c.state == ENTERING)
    if connection.execute(begun.values(state=UNDER_WAY, leased_until=None)).rowcount != 1:
        raise TakenOver(f"another process sees to operation {agreed.operation_id}")
    _annotate(connection, codec, agreed, stack_id=stack_id)
    for plugin, warnings in agreed.warnings.items():
        for warning in warnings:
            insert_event(
                connection,
                now,
                stack_id=stack_id,
                traversal_id=agreed.operation_id,
                action=action,
                status="IN_PROGRESS",
                reason=f"Warning of lifecycle plugin {plugin!r}: {warning}",
            )


def _annotate(connection: sa.Connection, codec: Codec, agreed: Agreed, *, stack_id: str) -> None:
    """Put what each plugin says in the place of what it said before."""
    annotation = tables.annotation
    if agreed.annotations:
        before = annotation.c.plugin.in_(list(agreed.annotations))
        connection.execute(annotation.delete().where(annotation.c.stack_id == stack_id, before))
    rows = [
        {"stack_id": stack_id, "plugin": plugin, "resource": resource, "value": codec.pack(value)}
        for plugin, said in agreed.annotations.items()
        for resource, value in said.items()
    ]
    bulk_insert(connection, annotation, rows)
