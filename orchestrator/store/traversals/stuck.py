"""Stuck work: nodes that are overdue, undelivered, or lost with their worker."""

from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa

from orchestrator.model.messages import CHECKED_PHASES, END
from orchestrator.store import tables
from orchestrator.store.database import database_time
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import AnyRow
from orchestrator.views.operations import StuckView

#: The most that are returned, the longest first.
MOST: Final = 200
#: Kinds of processes that take checks.
TAKE_CHECKS: Final = ("worker", "embedded")
LOST, UNDELIVERED, OVERDUE = "lost", "undelivered", "overdue"
_WHY: Final = {"running": LOST, "ready": UNDELIVERED, "waiting": OVERDUE}


class Stuck(Repository):
    """Reads of work that the sweep has missed, or has published without a worker taking it."""

    @retrying
    def all(self, *, project: str) -> tuple[StuckView, ...]:
        """Return a project's stuck work, the longest first, at most ``MOST``.

        Work counts as stuck once it is overdue by the time that a message is given to arrive.
        """
        with self._db.snapshot() as connection:
            now = database_time(connection, self._db)
            rows = self._rows(connection, project, now)
        views = [self._view(row, now) for row in rows]
        return tuple(sorted(views, key=lambda view: -view.seconds))

    def _rows(self, connection: sa.Connection, project: str, now: float) -> Sequence[AnyRow]:
        node, traversal, stack, resource = tables.node, tables.traversal, tables.stack, tables.resource
        late = now - self._timings.redeliver_seconds
        # The sweep does not publish again while the queue is long, which it is without workers too.
        queued = (node.c.ready_at < late) & node.c.phase.in_(CHECKED_PHASES) & ~self._has_workers(now)
        not_taken = (node.c.state == "ready") & ((node.c.published > 0) | queued)
        # A failed operation carries begun actions to their end.
        goes_on = (traversal.c.status == "IN_PROGRESS") | (node.c.attempt > 0) | (node.c.phase == END)
        sql = (
            sa.select(
                node.c.state,
                sa.case((node.c.state == "ready", node.c.ready_at), else_=node.c.due_at).label("since"),
                node.c.worker,
                sa.case((node.c.phase == END, ""), else_=node.c.key).label("resource"),
                sa.case(
                    (node.c.phase == END, traversal.c.action),
                    (node.c.action != "", node.c.action),
                    else_=sa.func.coalesce(resource.c.action, ""),
                ).label("action"),
                stack.c.name,
                stack.c.id,
            )
            .select_from(node)
            .join(traversal, traversal.c.id == node.c.traversal_id)
            .join(stack, stack.c.id == traversal.c.stack_id)
            .outerjoin(resource, resource.c.id == node.c.resource_id)
            .where(node.c.due_at.is_not(None), node.c.state.in_(_WHY), (node.c.due_at < late) | not_taken)
            .where(stack.c.project == project, traversal.c.status != "SUPERSEDED", goes_on)
            .order_by(node.c.due_at, node.c.traversal_id, node.c.no)
            .limit(MOST)
        )
        return connection.execute(sql).all()

    def _has_workers(self, now: float) -> sa.Exists:
        process = tables.process
        return sa.exists().where(
            process.c.kind.in_(TAKE_CHECKS),
            process.c.stopped_at.is_(None),
            process.c.seen_at >= now - self._timings.lease_seconds,
        )

    @staticmethod
    def _view(row: AnyRow, now: float) -> StuckView:
        return StuckView(
            stack=row.name,
            stack_id=row.id,
            resource=row.resource,
            action=row.action,
            why=_WHY[row.state],
            seconds=max(0.0, now - row.since),
            worker=(row.worker or "") if row.state == "running" else "",
        )
