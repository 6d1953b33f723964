"""Failed cleanups while a stack is given a definition: the traversal continues to make what the definition wants.

The requirements of the resource that is left are left too. The traversal reports the failure when the rest is done, and
the next update tries again.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from orchestrator.errors import cut
from orchestrator.model.messages import CLEANUP, JOIN
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.database import Database
from orchestrator.store.direct import Direct
from orchestrator.store.node_locks import hold_nodes
from orchestrator.store.stacks.checking import SHOWN, failures_of
from orchestrator.store.stacks.in_service import DEFINING

if TYPE_CHECKING:
    from orchestrator.store.direct import Transaction

#: The beginning of a stack's reason, before the reasons of its resources.
UNCLEAN: Final = "the definition is in service, but what it does not want could not all be taken away: "
#: The same where the definition wants no resources.
LEFT: Final = "what was made could not all be taken away: "


#: The condition that a stack is in service and not clean.
IS_UNCLEAN: Final = f"""
    stack.in_service AND stack.action IN {DEFINING} AND stack.status = 'FAILED' AND stack.deleted_at IS NULL"""
_UNCLEAN_INSIDE: Final = f"""
    SELECT resource.name, stack.reason FROM stack JOIN resource ON resource.id = stack.parent_resource
    WHERE stack.parent_id = (SELECT traversal.stack_id FROM traversal WHERE traversal.id = :traversal_id)
        AND {IS_UNCLEAN}
    ORDER BY resource.name"""  # constants


def goes_on(connection: sa.Connection, traversal_id: str) -> bool:
    """Return whether a traversal is in progress and is no deletion; its row is locked until the transaction ends."""
    traversal = tables.traversal
    row = connection.execute(
        sa.select(traversal.c.status, traversal.c.action)
        .where(traversal.c.id == traversal_id)
        .with_for_update(read=True)
    ).one()
    return bool(row.status == "IN_PROGRESS" and row.action != "DELETE")


def hold_back(
    connection: sa.Connection, database: Database, *, traversal_id: str, dependents: Sequence[int]
) -> None:
    """Turn every cleanup that waits for a failed one into a join, in the caller's transaction.

    A join only counts down its dependents, so that nothing is deleted. ``dependents`` are those of the failed cleanup;
    on PostgreSQL they are locked here as well, all nodes in the order of their numbers, as every finish locks them.
    Only nodes behind the failed one that are not held back yet are read, however many the traversal has.
    """
    values = {"traversal_id": traversal_id, "dependents": database.integers(dependents)}
    behind = sa.text(_behind(database.in_list("dependents"), postgres=database.postgres))
    held = list(connection.execute(behind, values).scalars())
    changed = f"traversal_id = :traversal_id AND no {database.in_list('numbers')}"
    numbers = database.integers([*{*held, *dependents}])
    hold_nodes(connection, database, changed, {"traversal_id": traversal_id, "numbers": numbers})
    if not held:
        return
    values["numbers"] = database.integers(held)
    connection.execute(
        sa.text(
            "UPDATE node SET phase = 'join' "
            f"WHERE traversal_id = :traversal_id AND no {database.in_list('numbers')}"
        ),
        values,
    )


@functools.cache
def _behind(in_dependents: str, *, postgres: bool) -> str:
    """Return the query of the cleanups among ``dependents`` and behind them.

    A join with a resource is a cleanup that is held back, and so is every cleanup behind it.
    """
    numbers = "json_array_elements_text(CAST(behind.next AS json))" if postgres else "json_each(behind.next)"
    following = f"{numbers} AS following{'(value)' if postgres else ''}"
    is_walked = f"n.phase = '{CLEANUP}' OR (n.phase = '{JOIN}' AND n.resource_id IS NULL)"
    node = f"SELECT n.no, n.phase, CASE WHEN {is_walked} THEN n.dependents ELSE '[]' END"
    return f"""
        WITH RECURSIVE behind(no, phase, next) AS (
            {node} FROM node n WHERE n.traversal_id = :traversal_id AND n.no {in_dependents}
            UNION
            {node} FROM behind CROSS JOIN {following} CROSS JOIN node n
            WHERE n.traversal_id = :traversal_id AND n.no = CAST(following.value AS integer)
        )
        SELECT no FROM behind WHERE phase = '{CLEANUP}' ORDER BY no"""


def unclean_of(transaction: Transaction, traversal_id: str) -> str:
    """Return why a stack, or one nested in it, is in service and not clean; empty if all are clean."""
    direct = Direct.of(transaction)
    below = direct.rows(_UNCLEAN_INSIDE, {"traversal_id": traversal_id})
    failures = failures_of(direct, traversal_id, CLEANUP)
    failures += [f"resources.{row.name}: {direct.opened(row.reason).removeprefix(UNCLEAN)}" for row in below]
    return cut(f"{UNCLEAN}{'; '.join(failures)}", SHOWN) if failures else ""
