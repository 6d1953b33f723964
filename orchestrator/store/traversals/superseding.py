"""The end of a traversal because another takes its place, within any transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from orchestrator.model.messages import END
from orchestrator.store.direct import Direct
from orchestrator.store.node_locks import hold_nodes

if TYPE_CHECKING:
    from orchestrator.store.database import Database
    from orchestrator.store.direct import Transaction

#: A failed one keeps the time of its failure.
_END_OLD: Final = """
    UPDATE traversal SET status = 'SUPERSEDED', ended_at = coalesce(ended_at, :now)
    WHERE id = :traversal_id AND status IN ('IN_PROGRESS', 'FAILED')"""
_END_NODES: Final = f"""
    UPDATE node SET state = 'superseded', due_at = NULL
    WHERE traversal_id || '' = :traversal_id AND phase <> '{END}' AND state IN ('blocked', 'ready', 'waiting')"""
#: Lifecycle plugins that saw the old operation begin are called at its end.
_RELEASE_END: Final = f"""
    UPDATE node SET state = 'ready', ready_at = :now, due_at = :now
    WHERE traversal_id || '' = :traversal_id AND phase = '{END}' AND state = 'blocked'"""  # constants


def supersede(transaction: Transaction, database: Database, traversal_id: str, now: float) -> None:
    """End a traversal whose stack the caller has locked: it begins nothing new, and its running steps end."""
    direct, mine = Direct.of(transaction), {"traversal_id": traversal_id}
    direct.count(_END_OLD, {**mine, "now": now})
    hold_nodes(direct, database, "traversal_id = :traversal_id", mine)
    direct.count(_END_NODES, mine)
    direct.count(_RELEASE_END, {**mine, "now": now})
