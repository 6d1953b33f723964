"""Traversals: how they begin, how they end, and what is asked of them meanwhile."""

import json
from typing import Any

import sqlalchemy as sa

from orchestrator.model.messages import END
from orchestrator.store import tables
from orchestrator.store.database import retrying
from orchestrator.store.traversals.ending import TraversalEndings
from orchestrator.store.traversals.starting import TraversalBeginnings


class Traversals(TraversalBeginnings, TraversalEndings):
    """The traversal table's operations, and the stack rows they change."""

    @retrying
    def owes_rollback(self, traversal_id: str) -> bool:
        """Whether a failed traversal is still to be followed by a rollback."""
        traversal, node = tables.traversal, tables.node
        sql = (
            sa.select(traversal.c.options, node.c.state)
            .select_from(traversal)
            .join(node, tables.in_traversal(traversal.c.id))
            .where(traversal.c.id == traversal_id, traversal.c.status == "FAILED", node.c.phase == END)
        )
        with self._db.read() as connection:
            row = connection.execute(sql).first()
        return row is not None and row.state != "done" and bool(json.loads(row.options).get("rollback"))

    @retrying
    def options(self, traversal_id: str) -> dict[str, Any]:
        """Return the flags of a traversal's operation."""
        sql = sa.select(tables.traversal.c.options).where(tables.traversal.c.id == traversal_id)
        with self._db.read() as connection:
            options: dict[str, Any] = json.loads(connection.execute(sql).scalar_one())
        return options

    @retrying
    def is_told(self, traversal_id: str) -> bool:
        """Whether a traversal's last words were said."""
        node = tables.node
        sql = sa.select(node.c.state).where(tables.in_traversal(traversal_id), node.c.phase == END)
        with self._db.read() as connection:
            return connection.execute(sql).scalar_one_or_none() in ("done", None)

    @retrying
    def definition(self, traversal_id: str) -> tuple[str, float]:
        """Return the id of the template that a traversal goes by, and its deadline; neither ever changes."""
        traversal = tables.traversal
        sql = sa.select(traversal.c.template_id, traversal.c.deadline).where(traversal.c.id == traversal_id)
        with self._db.read() as connection:
            row = connection.execute(sql).one()
        return row.template_id, row.deadline

    @retrying
    def context(self, traversal_id: str) -> dict[str, Any]:
        """Return what every check of a traversal needs to know; it never changes, so it may be kept."""
        sql = sa.select(tables.traversal.c.context).where(tables.traversal.c.id == traversal_id)
        with self._db.read() as connection:
            packed = connection.execute(sql).scalar_one()
        context: dict[str, Any] = self._codec.unpack(packed)
        return context
