"""The failure of a traversal, within any transaction: nothing new starts, and its end becomes ready."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from orchestrator.model.codec import Codec
from orchestrator.model.messages import CHECKED_PHASES, END, CheckOrder
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.database import Database, database_time
from orchestrator.store.direct import Direct
from orchestrator.store.node_locks import hold_nodes
from orchestrator.store.repository import Timings
from orchestrator.store.stack_events import insert_event
from orchestrator.store.stacks.in_service import in_service_values, serves
from orchestrator.store.stacks.snapshots import fail_snapshot

if TYPE_CHECKING:
    from orchestrator.store.direct import Transaction

_HELD: Final = "SELECT id FROM stack WHERE traversal_id = :traversal_id"


def hold_stack(transaction: Transaction, traversal_id: str) -> str | None:
    """Lock the stack of a traversal until the transaction ends; return its id, or None if another traversal has it.

    A traversal that takes a stack over locks the rows of the stack, the traversal, the nodes and the resources in this
    order. Failing or completing one reaches them in another order, and locks the stack first, so that the two cannot
    deadlock.
    """
    direct = Direct.of(transaction)
    # SQLite has one writer at a time anyway.
    held = f"{_HELD} FOR UPDATE" if direct.is_postgres else _HELD
    row = direct.first(held, {"traversal_id": traversal_id})
    return None if row is None else row.id


def held_status(connection: sa.Connection, traversal_id: str, *, to_change: bool = False) -> str:
    """Return a traversal's status, which stays as it is until the transaction ends, unless that is ``to_change`` it."""
    traversal = tables.traversal
    sql = sa.select(traversal.c.status).where(traversal.c.id == traversal_id)
    status: str = connection.execute(sql.with_for_update(read=not to_change)).scalar_one()
    return status


def fail_traversal(
    transaction: Transaction,
    database: Database,
    timings: Timings,
    traversal_id: str,
    reason: str,
    *,
    codec: Codec,
) -> CheckOrder | None:
    """Fail a traversal in the caller's transaction: nothing new starts, and its end becomes ready.

    A stack whose definition is in service by then stays so, without a rollback. Returns the order for the end, or None
    if the traversal was over already.
    """
    connection = Direct.of(transaction).alchemy
    hold_stack(transaction, traversal_id)
    now = database_time(connection, database)
    traversal, stack, node = tables.traversal, tables.stack, tables.node
    running = (traversal.c.id == traversal_id) & (traversal.c.status == "IN_PROGRESS")
    failed = connection.execute(
        traversal.update().where(running).values(status="FAILED", reason=reason, ended_at=now)
    )
    if failed.rowcount != 1:
        return None
    values: dict[str, Any] = {"status": "FAILED", "reason": reason, "updated_at": now}
    if serves(connection, traversal_id):
        given = sa.select(traversal.c.template_id, traversal.c.left_out).where(traversal.c.id == traversal_id)
        template_id, left = connection.execute(given).one()
        connection.execute(traversal.update().where(traversal.c.id == traversal_id).values(options="{}"))
        values |= in_service_values(template_id, left)
    connection.execute(stack.update().where(stack.c.traversal_id == traversal_id).values(**values))
    fail_snapshot(transaction, codec, traversal_id, reason)
    hold_nodes(connection, database, "traversal_id = :traversal_id", {"traversal_id": traversal_id})
    never_started = (node.c.state == "ready") & (node.c.attempt == 0) & (node.c.phase != END)
    mine = tables.in_traversal(traversal_id)
    connection.execute(node.update().where(mine, never_started).values(due_at=None))
    # Nor do nodes that stand before a hook or were let past one, that are between two actions, or that wait for another
    # try at an action that has not begun.
    under_way = sa.exists().where(
        tables.resource.c.id == node.c.resource_id, tables.resource.c.status == "IN_PROGRESS"
    )
    paused = (node.c.state == "waiting") & node.c.hook.is_not(None)
    due = node.c.state.in_(("ready", "waiting")) & (node.c.attempt > 0)
    between = due & node.c.phase.in_(CHECKED_PHASES) & ~under_way
    connection.execute(node.update().where(mine, paused | between).values(state="superseded", due_at=None))
    end = connection.execute(
        node.update()
        .where(mine, node.c.phase == END, node.c.state == "blocked")
        .values(state="ready", ready_at=now, due_at=now + timings.redeliver_seconds)
        .returning(node.c.no)
    ).scalar_one_or_none()
    row = connection.execute(
        sa.select(stack.c.id, stack.c.name, traversal.c.action)
        .join(traversal, traversal.c.stack_id == stack.c.id)
        .where(traversal.c.id == traversal_id)
    ).one()
    event = {"action": row.action, "status": "FAILED", "reason": reason}
    insert_event(connection, now, stack_id=row.id, traversal_id=traversal_id, **event)
    if end is None:
        return None
    return CheckOrder(
        stack_id=row.id, traversal_id=traversal_id, no=end, key="", phase=END, stack=row.name, node_data=()
    )
