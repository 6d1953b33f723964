"""Whether a stack is in service: all that its definition wants is made, though other rows may not be removed yet."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.store import tables
from orchestrator.store.alchemy import sa

#: The actions that give a stack a definition.
DEFINING = ("CREATE", "ADOPT", "UPDATE", "ROLLBACK", "RESTORE")


def is_open_adoption() -> sa.ColumnElement[bool]:
    """Return the condition of a traversal that adopts objects, with which its stack has not been complete since."""
    traversal, later = tables.traversal, tables.traversal.alias("later")
    completed = sa.exists().where(
        later.c.stack_id == traversal.c.stack_id,
        later.c.status == "COMPLETE",
        later.c.action.in_(DEFINING),
        later.c.created_at > traversal.c.created_at,
    )
    return (traversal.c.action == "ADOPT") & (traversal.c.status != "COMPLETE") & ~completed


def serves(connection: sa.Connection, traversal_id: str) -> bool:
    """Return whether a traversal has made all that its definition wants, and only cleans up."""
    # Messages have many parts; a list of stacks needs none.
    from orchestrator.model.messages import CONVERGE

    node, traversal = tables.node, tables.traversal
    unmade = sa.exists().where(
        tables.in_traversal(traversal_id), node.c.phase == CONVERGE, node.c.state != "done"
    )
    sql = sa.select(~unmade).where(traversal.c.id == traversal_id, traversal.c.action.in_(DEFINING))
    return bool(connection.execute(sql).scalar_one_or_none()) and not leads_to_nothing(
        connection, traversal_id
    )


def in_service_values(template_id: str, left: Sequence[str]) -> dict[str, object]:
    """Return the columns of a stack whose traversal has made all that it was to make, except for what it ``left``.

    What its last complete definition was stays on record until all of it is as another definition has it.
    """
    if left:
        return {"partial": left}
    return {"in_service": True, "completed_template_id": template_id, "partial": ()}


def leads_to_nothing(connection: sa.Connection, traversal_id: str) -> bool:
    """Return whether a traversal rolls back a stack that never was complete, and so removes all of it."""
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
