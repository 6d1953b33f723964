"""What became of a stack's resources so far, as planning needs it: what each was to become, and what it was made.

Each resource's row points at the two nodes that hold its definitions, so what is read is as large as the stack,
however often it was updated.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from orchestrator.model.codec import Codec
from orchestrator.model.messages import CONVERGE
from orchestrator.store import tables
from orchestrator.store.database import Database, retrying

Fragment = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What became of a stack's resources so far."""

    #: By row id, the template fragment that each was last to be converged to.
    planned: Mapping[str, Fragment]
    #: By row id, the template fragment that each was last converged to, whatever it was to become after that.
    applied: Mapping[str, Fragment]
    #: Ids of the rows that the traversal in force may still change.
    unsettled: frozenset[str]


class Histories:
    """Reads what planning starts from besides the rows themselves."""

    def __init__(self, database: Database, codec: Codec) -> None:
        self._db = database
        self._codec = codec

    def read(self, stack_id: str, traversal_id: str) -> History:
        """Return a stack's history; read it before the rows: what is settled now is so then.

        ``traversal_id`` is the traversal in force.
        """
        unsettled = self._unsettled(traversal_id)
        planned, applied = self._fragments(stack_id)
        return History(planned=planned, applied=applied, unsettled=unsettled)

    def planned(self, stack_id: str) -> Mapping[str, Fragment]:
        """Return, by row id, the template fragment that each resource was last to be converged to."""
        return self._fragments(stack_id)[0]

    @retrying
    def _fragments(self, stack_id: str) -> tuple[dict[str, Fragment], dict[str, Fragment]]:
        """Return, by row id, what the rows that are not gone were last to become, and what they were last made."""
        resource, planned, applied = (
            tables.resource,
            tables.node.alias("planned"),
            tables.node.alias("applied"),
        )
        is_there = sa.or_(resource.c.action != "DELETE", resource.c.status != "COMPLETE")
        is_another = sa.or_(
            resource.c.applied_traversal != resource.c.planned_traversal,
            resource.c.applied_no != resource.c.planned_no,
        )
        at_planned = (planned.c.no == resource.c.planned_no) & (
            planned.c.traversal_id == resource.c.planned_traversal
        )
        at_applied = (applied.c.no == resource.c.applied_no) & (
            applied.c.traversal_id == resource.c.applied_traversal
        )
        sql = (
            sa.select(
                resource.c.id,
                planned.c.fragment.label("planned"),
                applied.c.fragment.label("applied"),
                (resource.c.applied_no.is_not(None) & ~is_another).label("is_one"),
            )
            .select_from(resource)
            .join(planned, at_planned)
            .outerjoin(applied, at_applied & is_another)
            .where(resource.c.stack_id == stack_id, is_there)
        )
        with self._db.read() as connection:
            rows = connection.execute(sql).all()
        was_planned, was_applied = {}, {}
        for row in rows:
            fragment = was_planned[row.id] = self._codec.unpack(row.planned)
            if row.is_one:
                was_applied[row.id] = fragment
            elif row.applied is not None:
                was_applied[row.id] = self._codec.unpack(row.applied)
        return was_planned, was_applied

    @retrying
    def applied(self, resource_id: str) -> Fragment | None:
        """Return the template fragment that a resource was last converged to; None if it never was."""
        resource, node = tables.resource, tables.node
        at_applied = (node.c.no == resource.c.applied_no) & (
            node.c.traversal_id == resource.c.applied_traversal
        )
        sql = sa.select(node.c.fragment).join(resource, at_applied).where(resource.c.id == resource_id)
        with self._db.read() as connection:
            packed = connection.execute(sql).scalars().first()
        fragment: Fragment | None = None if packed is None else self._codec.unpack(packed)
        return fragment

    @retrying
    def of_node(self, traversal_id: str, no: int) -> Fragment | None:
        """Return what a node of a traversal was told to bring about; None if it was told nothing, or is gone."""
        node = tables.node
        sql = sa.select(node.c.fragment).where(node.c.traversal_id == traversal_id, node.c.no == no)
        with self._db.read() as connection:
            packed = connection.execute(sql).scalars().first()
        fragment: Fragment | None = None if packed is None else self._codec.unpack(packed)
        return fragment

    @retrying
    def begun(self, resource_id: str) -> Fragment:
        """Return the template fragment that a create was begun with that never said what it applied; empty if none.

        Reads every node that there was for the row: for rows that never were complete, those are few.
        """
        node, traversal = tables.node, tables.traversal
        sql = (
            sa.select(node.c.fragment)
            .join(traversal, traversal.c.id == node.c.traversal_id)
            .where(node.c.resource_id == resource_id, node.c.phase == CONVERGE, node.c.attempt > 0)
            # What stood before its action when it was given up had not begun.
            .where(node.c.fragment.is_not(None), node.c.hook.is_(None) | (node.c.state == "done"))
            .order_by(traversal.c.created_at.desc())
        )
        with self._db.read() as connection:
            packed = connection.execute(sql).scalars().first()
        fragment: Fragment = {} if packed is None else self._codec.unpack(packed)
        return fragment

    @retrying
    def _unsettled(self, traversal_id: str) -> frozenset[str]:
        node, traversal = tables.node, tables.traversal
        begun = (traversal.c.status == "IN_PROGRESS") | (node.c.attempt > 0)
        sql = (
            sa.select(node.c.resource_id)
            .join(traversal, traversal.c.id == traversal_id)
            .where(tables.in_traversal(traversal_id), node.c.resource_id.is_not(None), begun)
            .where(node.c.state.in_(("blocked", "ready", "waiting", "running")))
        )
        with self._db.read() as connection:
            return frozenset(connection.execute(sql).scalars())
