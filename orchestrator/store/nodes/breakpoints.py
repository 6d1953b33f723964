"""Breakpoints: the nodes that stand at a hook, and how a hook is cleared."""

from __future__ import annotations

import json
from typing import Final

from hooks.values.dataclass import dataclass
from orchestrator.model.breakpoints import HOOK
from orchestrator.model.codec import Codec
from orchestrator.model.messages import CheckOrder
from orchestrator.model.record import Record
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.database import Database
from orchestrator.store.nodes import statements
from orchestrator.store.nodes.failing import held_status
from orchestrator.store.nodes.nodes import Nodes
from orchestrator.store.repository import Repository, Timings
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import AnyRow
from orchestrator.store.stack_events import insert_resource_event


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingNode(Record):
    """A node that stands at a hook."""

    traversal_id: str
    no: int
    #: The id of the resource's row.
    resource_id: str
    #: The names of the resources that it is nested in below the stack that was read, and its own, with slashes.
    path: str
    hook: str
    #: Seconds since the epoch, by the database's clock.
    since: float
    #: The hooks at which the node will still stop, this one included.
    hooks: frozenset[str]


#: The tree has a stack and those nested in it, each with its traversal in force and the path of its resource.
_STANDING: Final = """
    WITH RECURSIVE tree(id, traversal_id, within) AS (
        SELECT id, traversal_id, CAST('' AS text) FROM stack WHERE id = :stack_id
        UNION ALL
        SELECT s.id, s.traversal_id, tree.within || r.name || '/'
        FROM stack s JOIN tree ON s.parent_id = tree.id JOIN resource r ON r.id = s.parent_resource
    )
    SELECT n.traversal_id, n.no, n.resource_id, n.key, n.hook, n.hook_at, n.hooks, tree.within
    FROM tree JOIN traversal t ON t.id = tree.traversal_id JOIN node n ON n.traversal_id = t.id
    WHERE t.status = 'IN_PROGRESS' AND n.hook IS NOT NULL
    ORDER BY n.hook_at, tree.within, n.no"""


class Breakpoints(Repository):
    """Reads of nodes that stand at hooks, and the clearing of hooks."""

    def __init__(self, database: Database, codec: Codec, timings: Timings, nodes: Nodes) -> None:
        super().__init__(database, codec, timings)
        self._nodes = nodes

    def standing(self, stack_id: str) -> list[StandingNode]:
        """Return the nodes that stand at hooks in a stack and those nested in it, longest first.

        In a traversal that is over, no node stands.
        """
        rows = self._db.rows(_STANDING, {"stack_id": stack_id})
        return [
            StandingNode.of(
                row,
                path=row.within + row.key,
                since=row.hook_at,
                hooks=frozenset(json.loads(row.hooks)),
            )
            for row in rows
        ]

    @retrying
    def clear(self, standing: StandingNode, *, at_once: bool = False) -> tuple[CheckOrder, ...] | None:
        """Clear the hook at which a node stands, and return the orders for what became ready.

        A node that stands before its action may begin it; one whose action is over counts its dependents down. With
        ``at_once`` the ready nodes are due at the next sweep; otherwise the caller has time to publish them.

        None if the node does not stand there any more, or its traversal is over; nothing was changed.
        """
        node = tables.node
        here = (node.c.traversal_id == standing.traversal_id) & (node.c.no == standing.no)
        with self._db.timed_write() as (connection, now):
            # The traversal is not failed or superseded meanwhile.
            if held_status(connection, standing.traversal_id) != "IN_PROGRESS":
                return None
            was_waiting = node.c.state == "waiting"
            seconds = 0.0 if at_once else self._timings.redeliver_seconds
            row = connection.execute(
                node.update()
                .where(here, node.c.hook == standing.hook)
                .values(
                    hook=None,
                    hook_at=None,
                    hooks=json.dumps(sorted(standing.hooks - {standing.hook})),
                    state=sa.case((was_waiting, "ready"), else_=node.c.state),
                    ready_at=sa.case((was_waiting, now), else_=node.c.ready_at),
                    due_at=sa.case((was_waiting, now + seconds)),
                    published=0,
                )
                .returning(
                    node.c.dependents, *(node.c[name] for name in statements.RELEASED_COLUMNS.split(", "))
                )
            ).first()
            if row is None:
                return None
            resource = self._record(connection, standing, now)
            ready = [row] if row.state == "ready" else self._count_down(connection, standing, row, seconds)
        return self._nodes.orders(ready, resource)

    def _count_down(
        self, connection: sa.Connection, standing: StandingNode, row: AnyRow, seconds: float
    ) -> list[AnyRow]:
        values = {
            "traversal_id": standing.traversal_id,
            "dependents": self._db.integers(json.loads(row.dependents)),
            "changed": row.changed,
            "redeliver_seconds": seconds,
        }
        if self._db.postgres:
            connection.execute(sa.text(statements.PG_LOCK_DEPENDENTS), values)
        sql = statements.count_down(self._db.now, self._db.in_list("dependents"))
        rows = connection.execute(sa.text(sql), values).all()
        return [each for each in rows if each.remaining == 0 and each.state == "ready"]

    @staticmethod
    def _record(connection: sa.Connection, standing: StandingNode, now: float) -> AnyRow:
        """Record the event that a hook was cleared; return the resource's row, with stack and traversal."""
        resource, stack = tables.resource, tables.stack
        row = connection.execute(
            sa.select(
                resource,
                stack.c.name.label("stack"),
                sa.literal(standing.traversal_id).label("traversal_id"),
            )
            .join(stack, stack.c.id == resource.c.stack_id)
            .where(resource.c.id == standing.resource_id)
        ).one()
        cleared = {"action": HOOK, "status": "COMPLETE", "reason": f"Hook {standing.hook} is cleared"}
        insert_resource_event(connection, row, now, traversal_id=standing.traversal_id, **cleared)
        return row
