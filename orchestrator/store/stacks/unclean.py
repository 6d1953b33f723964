"""Failed cleanups while a stack is given a definition: the traversal continues to make what the definition wants.

The requirements of the resource that is left are left too. The traversal reports the failure when the rest is done, and
the next update tries again.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

import sqlalchemy as sa

from orchestrator.errors import cut
from orchestrator.model.messages import CLEANUP, JOIN
from orchestrator.store import tables
from orchestrator.store.database import Database
from orchestrator.store.stacks.checking import SHOWN, failures_of
from orchestrator.store.stacks.in_service import DEFINING

#: The beginning of a stack's reason, before the reasons of its resources.
UNCLEAN: Final = "the definition is in service, but what it does not want could not all be taken away: "
#: The same where the definition wants no resources.
LEFT: Final = "what was made could not all be taken away: "


def goes_on(connection: sa.Connection, traversal_id: str) -> bool:
    """Return whether a traversal is in progress and is no deletion; its row is locked until the transaction ends."""
    traversal = tables.traversal
    row = connection.execute(
        sa.select(traversal.c.status, traversal.c.action)
        .where(traversal.c.id == traversal_id)
        .with_for_update(read=True)
    ).one()
    return bool(row.status == "IN_PROGRESS" and row.action != "DELETE")


def hold_back(connection: sa.Connection, database: Database, *, traversal_id: str, no: int) -> None:
    """Turn every cleanup that waits for that of the node ``no`` into a join, in the caller's transaction.

    A join only counts down its dependents, so that nothing is deleted.
    """
    node = tables.node
    rows = connection.execute(
        sa.select(node.c.no, node.c.phase, node.c.dependents).where(
            tables.in_traversal(traversal_id), node.c.phase.in_((CLEANUP, JOIN))
        )
    ).all()
    phases = {row.no: row.phase for row in rows}
    dependents = {row.no: json.loads(row.dependents) for row in rows}
    held = [each for each in _behind(no, dependents) if phases.get(each) == CLEANUP]
    if held:
        connection.execute(
            sa.text(
                "UPDATE node SET phase = 'join' "
                f"WHERE traversal_id = :traversal_id AND no {database.in_list('numbers')}"
            ),
            {"traversal_id": traversal_id, "numbers": database.integers(held)},
        )


def _behind(no: int, dependents: Mapping[int, Sequence[int]]) -> list[int]:
    """Return the nodes that wait for ``no``, directly or indirectly."""
    found: list[int] = []
    seen, following = {no}, [no]
    while following:
        for each in dependents.get(following.pop(), ()):
            if each not in seen:
                seen.add(each)
                found.append(each)
                following.append(each)
    return found


def unclean_of(connection: sa.Connection, traversal_id: str) -> str:
    """Return why a stack, or one nested in it, is in service and not clean; empty if all are clean."""
    inside, of, resource = tables.stack.alias("inside"), tables.traversal, tables.resource
    mine = sa.select(of.c.stack_id).where(of.c.id == traversal_id).scalar_subquery()
    below = connection.execute(
        sa.select(resource.c.name, inside.c.reason)
        .join_from(inside, resource, resource.c.id == inside.c.parent_resource)
        .where(inside.c.id.in_(unclean(tables.stack.c.parent_id == mine)))
        .order_by(resource.c.name)
    ).all()
    failures = failures_of(connection, traversal_id, CLEANUP)
    failures += [f"resources.{row.name}: {row.reason.removeprefix(UNCLEAN)}" for row in below]
    return cut(f"{UNCLEAN}{'; '.join(failures)}", SHOWN) if failures else ""


def unclean(which: sa.ColumnElement[bool]) -> sa.Select[tuple[str]]:
    """Return the query of the ids of stacks, among ``which``, that are in service and not clean."""
    stack = tables.stack
    served = stack.c.in_service & stack.c.action.in_(DEFINING) & (stack.c.status == "FAILED")
    return sa.select(stack.c.id).where(which, served, stack.c.deleted_at.is_(None))
