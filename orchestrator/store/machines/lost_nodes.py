"""Residents of a lost machine: the resources on it are marked unhealthy, to be made anew elsewhere."""

from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa

from orchestrator.model.actions import CHECK
from orchestrator.store import tables
from orchestrator.store.rows import AnyRow
from orchestrator.store.stack_events import resource_event
from orchestrator.store.stacks.health import doubt

#: The most rows that one statement names.
_AT_ONCE: Final = 500


def lose_residents(connection: sa.Connection, node: str, now: float) -> str:
    """Mark all resources on a machine as lost; return why that is refused, or empty if it is done.

    The next update makes them anew on other machines, and a deletion does not call the lost machine. It is refused
    while an operation on one of their stacks is in progress, because its steps have read where the resources are.
    """
    resource = tables.resource
    those = (resource.c.on_node == node) & ~tables.is_gone()
    stack_ids = connection.execute(sa.select(resource.c.stack_id).where(those).distinct()).scalars().all()
    stacks = _lock_with_parents(connection, stack_ids)
    for stack in stacks:
        # A deletion cannot be cancelled, and only waits for the resources to be gone.
        if stack.status == "IN_PROGRESS" and stack.action != "DELETE" and stack.deleted_at is None:
            return (
                f"{stack.action} of stack {stack.name!r} is in progress, which has something on it: "
                "end that with 'isotherm stack cancel --no-rollback', or wait until its time is up"
            )
    rows = connection.execute(
        sa.select(resource)
        .where(those, resource.c.action != "INIT")
        .order_by(resource.c.id)
        .with_for_update()
    ).all()
    for row in rows:
        if row.lock_traversal is not None:
            return f"resource {row.name!r} on it is being looked after; try again in a minute"
    reason = f"node {node!r} is gone for good"
    nowhere = {"on_node": None, "physical_id": None, "reason": reason, "updated_at": now}
    connection.execute(resource.update().where(those, resource.c.action == "DELETE").values(nowhere))
    connection.execute(
        resource.update()
        .where(those)
        .values(**nowhere, token=None, action=CHECK, status="FAILED", unhealthy=True)
    )
    doubt(connection, [each.parent_resource for each in stacks if each.parent_resource], reason)
    current = {stack.id: stack.traversal_id for stack in stacks}
    if rows:
        connection.execute(tables.event.insert(), [_event(row, current, reason, now) for row in rows])
    return ""


def _lock_with_parents(connection: sa.Connection, ids: Sequence[str]) -> list[AnyRow]:
    """Lock stacks and those that they are nested in, so that no operation begins on them; return their rows."""
    stack = tables.stack
    found: dict[str, AnyRow] = {}
    wanted = set(ids)
    while wanted:
        some = sorted(wanted)[:_AT_ONCE]
        rows = connection.execute(
            sa.select(stack).where(stack.c.id.in_(some)).order_by(stack.c.id).with_for_update()
        ).all()
        found |= {row.id: row for row in rows}
        parents = {row.parent_id for row in rows if row.parent_id}
        wanted = (wanted - set(some)) | (parents - found.keys())
    return list(found.values())


def _event(row: AnyRow, current: dict[str, str], reason: str, now: float) -> dict[str, object]:
    deleted = row.action == "DELETE"
    return resource_event(
        row,
        now,
        traversal_id=current.get(row.stack_id, ""),
        action=row.action if deleted else CHECK,
        status=row.status if deleted else "FAILED",
        reason=reason,
    )
