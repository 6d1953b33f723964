"""When a stack is in service: all that its definition wants is there, though not all is gone that it does not want."""

import sqlalchemy as sa

from orchestrator.model.messages import CONVERGE
from orchestrator.store import tables

#: The actions that give a stack a definition; the end of one makes it the definition that completed last.
DEFINING = ("CREATE", "ADOPT", "UPDATE", "ROLLBACK", "RESTORE")


def serves(connection: sa.Connection, traversal_id: str) -> bool:
    """Whether a traversal has made all that its definition wants; what is left to do is to clean up."""
    node, traversal = tables.node, tables.traversal
    unmade = sa.exists().where(
        tables.in_traversal(traversal_id), node.c.phase == CONVERGE, node.c.state != "done"
    )
    sql = sa.select(~unmade).where(traversal.c.id == traversal_id, traversal.c.action.in_(DEFINING))
    return bool(connection.execute(sql).scalar_one_or_none()) and not leads_to_nothing(
        connection, traversal_id
    )


def leads_to_nothing(connection: sa.Connection, traversal_id: str) -> bool:
    """Whether a traversal rolls back a stack that never was complete: it has done nothing until all is gone."""
    stack, traversal = tables.stack, tables.traversal
    sql = (
        sa.select(traversal.c.id)
        .join(stack, stack.c.id == traversal.c.stack_id)
        .where(
            traversal.c.id == traversal_id,
            traversal.c.action == "ROLLBACK",
            stack.c.completed_template_id.is_(None),
        )
    )
    return connection.execute(sql).first() is not None
