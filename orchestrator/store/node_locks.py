"""Locks that a transaction takes before it changes several rows, so that two transactions cannot deadlock.

Every transaction locks the stack, the traversal, the nodes in the order of their numbers, and the resources, as far as
it needs them. An UPDATE of several rows locks them in the order in which it finds them, which the plan decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from orchestrator.store.direct import Direct

if TYPE_CHECKING:
    from orchestrator.store.database import Database
    from orchestrator.store.direct import Transaction
    from orchestrator.store.rows import Values

_NOT_OVER: Final = "state IN ('blocked', 'ready', 'waiting', 'running')"


def hold_nodes(transaction: Transaction, database: Database, which: str, values: Values) -> None:
    """Lock the nodes that are not over in the order of their numbers until the transaction ends.

    Those of every state are locked, whatever the transaction changes: by its next statement, a node that was blocked
    may be ready, and one that was ready may run. SQLite has one writer at a time anyway.

    ``which``: the SQL of a condition on ``node``, with ``:names`` of ``values``.
    """
    if database.postgres:
        sql = f"SELECT no FROM node WHERE {which} AND {_NOT_OVER} ORDER BY traversal_id, no FOR UPDATE"
        Direct.of(transaction).rows(sql, values)
