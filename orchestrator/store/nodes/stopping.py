"""Stops at breakpoints: before a node's action, or after it and before its dependents are counted down."""

from __future__ import annotations

from orchestrator.model.breakpoints import HOOK, paused_until
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.database import Database
from orchestrator.store.nodes import statements
from orchestrator.store.nodes.claims import Claim, Ending, Outcome
from orchestrator.store.nodes.failing import held_status
from orchestrator.store.rows import Values


def stop_at_hook(
    connection: sa.Connection,
    database: Database,
    claim: Claim,
    outcome: Outcome,
    values: Values,
) -> str | None:
    """Finish a step whose outcome names a hook, in the caller's transaction; its dependents are not counted down.

    A node that stops before its action leaves its row unchanged. One that is done has its row complete and its node
    data stored. In a traversal that is over, no node stands: an action that has not begun is superseded.

    ``values`` are those of any other finish. Returns the traversal's status; None if the claim does not hold any more,
    and nothing was changed.
    """
    now = database.now
    node = tables.node
    # A transaction that fails or supersedes the traversal sees the node stand, or it never does. The traversal is
    # locked before the resource, in the same order as there.
    status = held_status(connection, claim.order.traversal_id)
    ended = outcome.ending is Ending.DONE
    values = {**values, "state": "done" if ended else "waiting"}
    if connection.execute(sa.text(statements.SQLITE_FINISH_NODE.at(now)), values).rowcount != 1:
        return None
    if outcome.ending is Ending.PAUSED:
        connection.execute(sa.text(statements.UNLOCK_RESOURCE), values)
    else:
        connection.execute(sa.text(statements.SQLITE_FINISH_RESOURCE.at(now)), values)
        connection.execute(sa.text(statements.event_at(now)), values)
    mine = node.update().where(node.c.traversal_id == claim.order.traversal_id, node.c.no == claim.order.no)
    if status != "IN_PROGRESS":
        if not ended:
            connection.execute(mine.values(state="superseded", due_at=None))
        return status
    standing = {"hook": outcome.hook, "hook_at": sa.text(now), "due_at": None, "changed": outcome.changed}
    connection.execute(mine.values(**standing))
    paused = {
        **values,
        "action": HOOK,
        "status": "IN_PROGRESS",
        "reason": database.sealed(f"{claim.action} {paused_until(outcome.hook)}"),
    }
    connection.execute(sa.text(statements.event_at(now)), paused)
    return status
