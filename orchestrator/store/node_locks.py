"""Locks that a transaction takes before it changes several rows, so that two transactions cannot deadlock.

Every transaction locks the stack, the traversal, the nodes in the order of their numbers, and the resources, as far as
it needs them. An UPDATE of several rows locks them in the order in which it finds them, which the plan decides.
"""

from typing import Final

import sqlalchemy as sa

from orchestrator.store.database import Database, text_of
from orchestrator.store.rows import Values

#: The nodes that a failure of their traversal may change.
IDLE: Final = "traversal_id = :traversal_id AND (state IN ('ready', 'waiting') OR phase = 'end')"
#: The nodes that change when another traversal supersedes theirs, and those that run: a transaction that holds one of
#: these, such as a sweep that found its worker dead, has made it ready or waiting by the time that it can be locked.
NOT_OVER: Final = "traversal_id = :traversal_id AND state IN ('blocked', 'ready', 'waiting', 'running')"


def hold_nodes(connection: sa.Connection, database: Database, which: str, values: Values) -> None:
    """Lock nodes in the order of their numbers until the transaction ends; SQLite has one writer at a time anyway.

    ``which``: the SQL of a condition on ``node``, with ``:names`` of ``values``.
    """
    if database.postgres:
        sql = f"SELECT no FROM node WHERE {which} ORDER BY traversal_id, no FOR UPDATE"
        connection.execute(text_of(sql), values)
