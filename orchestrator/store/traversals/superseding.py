"""The end of a traversal because another takes its place, within any transaction."""

from __future__ import annotations

import functools

from orchestrator.model.messages import END
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.database import Database
from orchestrator.store.node_locks import hold_nodes


def supersede(connection: sa.Connection, database: Database, traversal_id: str, now: float) -> None:
    """End a traversal whose stack the caller has locked: it begins nothing new, and its running steps end."""
    end_old, *end_nodes = _statements()
    connection.execute(end_old, {"of_traversal_id": traversal_id, "now": now})
    hold_nodes(connection, database, "traversal_id = :traversal_id", {"traversal_id": traversal_id})
    for statement in end_nodes:
        connection.execute(statement, {"of_traversal_id": traversal_id, "now": now})


@functools.cache
def _statements() -> tuple[sa.UpdateBase, ...]:
    """Return the statements that do so; they are run in this order."""
    traversal, node, now = tables.traversal, tables.node, sa.bindparam("now", type_=sa.Double)
    old = (traversal.c.id == tables.TRAVERSAL_ID) & traversal.c.status.in_(("IN_PROGRESS", "FAILED"))
    # A failed one keeps the time of its failure.
    ended = sa.func.coalesce(traversal.c.ended_at, now)
    over = tables.OF_TRAVERSAL & (node.c.phase != END) & node.c.state.in_(("blocked", "ready", "waiting"))
    # Lifecycle plugins that saw the old operation begin are called at its end.
    end = tables.OF_TRAVERSAL & (node.c.phase == END) & (node.c.state == "blocked")
    return (
        traversal.update().where(old).values(status="SUPERSEDED", ended_at=ended),
        node.update().where(over).values(state="superseded", due_at=None),
        node.update().where(end).values(state="ready", ready_at=now, due_at=now),
    )
