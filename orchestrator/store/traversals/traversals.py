"""Traversals: how they are completed, failed or cancelled, and reads of one.

Each ends in two steps: its status is written, and then a coordinator claims its end for the post-operation work
(lifecycle plugins, rollback), which is done exactly once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from hooks.values.dataclass import dataclass
from orchestrator.errors import Conflict
from orchestrator.model.actions import CHECK, SNAPSHOT
from orchestrator.model.messages import END, CheckOrder
from orchestrator.model.record import Record
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.database import database_time
from orchestrator.store.direct import Direct
from orchestrator.store.nodes.failing import fail_traversal, hold_stack
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.stack_events import insert_event
from orchestrator.store.stacks.checking import faults_of
from orchestrator.store.stacks.in_service import DEFINING, in_service_values, leads_to_nothing
from orchestrator.store.stacks.snapshots import complete_snapshot
from orchestrator.store.stacks.unclean import LEFT, UNCLEAN, unclean_of

#: The option of a traversal that a lifecycle plugin may fail after it is complete.
MAY_FAIL: Final = "may_fail_after"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedEnd(Record):
    """A finished traversal, whose end a coordinator claimed for the post-operation work."""

    stack_id: str
    stack: str
    project: str
    traversal_id: str
    action: str
    status: str
    reason: str
    #: When the operation began and ended.
    begun_at: float
    ended_at: float
    attempt: int
    #: How many earlier attempts were lost with their process.
    lost: int
    options: Mapping[str, Any]
    #: The id of the row in the parent stack; None if the stack is not nested.
    parent_resource: str | None
    #: Whether lifecycle plugins were called before the operation.
    was_bracketed: bool


#: The condition that a node is the end of a traversal.
_END: Final = f"traversal_id || '' = :traversal_id AND phase = '{END}'"
_COMPLETE: Final = f"""
    UPDATE traversal SET status = 'COMPLETE', ended_at = :now
    WHERE id = :traversal_id AND status = 'IN_PROGRESS'
        AND EXISTS (SELECT 1 FROM node WHERE {_END} AND state = 'ready')
    RETURNING stack_id, action, template_id, left_out"""  # constants, as in the others
_FINISHED: Final = """
    SELECT t.id, t.stack_id, t.action, t.status, t.reason, t.options, t.created_at, t.ended_at,
        s.name, s.project, s.parent_resource,
        EXISTS (SELECT 1 FROM operation o WHERE o.id = t.id) AS was_bracketed
    FROM traversal t JOIN stack s ON s.id = t.stack_id
    WHERE t.id = :traversal_id AND t.status <> 'IN_PROGRESS'"""
_CLAIM_END: Final = f"""
    UPDATE node SET state = 'running', attempt = attempt + 1, worker = :claimed_by, due_at = :leased_until
    WHERE {_END} AND state = 'ready'
    RETURNING attempt, lost"""
_FINISH_END: Final = f"""
    UPDATE node SET state = 'done', due_at = NULL
    WHERE {_END} AND state = 'running' AND attempt = :attempt"""


class Traversals(Repository):
    """The traversal table's operations but for the start, and the changes of stack rows at a traversal's end."""

    @retrying
    def complete(self, traversal_id: str) -> bool:
        """Mark a traversal and its stack complete; False if its end is not ready or it is over already.

        A check that found faults is failed instead. So is a traversal that could not clean up, although the definition
        is in service. Safe to repeat.
        """
        with self._db.transaction() as direct:
            hold_stack(direct, traversal_id)
            now = database_time(direct, self._db)
            row = direct.first(_COMPLETE, {"traversal_id": traversal_id, "now": now})
            if row is None:
                return False
            to_nothing = row.action == "ROLLBACK" and leads_to_nothing(direct.alchemy, traversal_id)
            faults = _faults(direct, traversal_id, row.action)
            if to_nothing:
                faults = faults.replace(UNCLEAN, LEFT, 1)
            status = "FAILED" if faults else "COMPLETE"
            reason = faults or f"Stack {row.action} completed successfully"
            if faults:
                # No rollback: the definition is in service.
                failed = {"status": status, "reason": direct.sealed(reason), "options": "{}"}
                direct.update("traversal", failed, "id = :mine", {"mine": traversal_id})
            values: dict[str, Any] = {"status": status, "reason": direct.sealed(reason), "updated_at": now}
            if row.action == SNAPSHOT:
                complete_snapshot(direct, self._codec, traversal_id)
            if row.action == "DELETE":
                values |= {"deleted_at": now, "in_service": False}
            elif row.action in DEFINING and not (faults and to_nothing):
                values |= in_service_values(row.template_id, json.loads(row.left_out))
                values["partial"] = json.dumps(values["partial"])
            direct.update("stack", values, "traversal_id = :mine", {"mine": traversal_id})
            event = {"action": row.action, "status": status, "reason": reason}
            insert_event(direct, now, stack_id=row.stack_id, traversal_id=traversal_id, **event)
        return True

    @retrying
    def claim_end(self, order: CheckOrder, *, worker: str) -> ClaimedEnd | None:
        """Claim the end of a finished traversal; None if the end is not ready or the traversal is in progress."""
        mine = {"traversal_id": order.traversal_id}
        with self._db.timed_transaction() as (direct, now):
            row = direct.first(_FINISHED, mine)
            if row is None:
                return None
            claim = {"claimed_by": worker, "leased_until": now + self._timings.lease_seconds}
            claimed = direct.first(_CLAIM_END, mine | claim)
        if claimed is None:
            return None
        return ClaimedEnd.of(
            row,
            reason=direct.opened(row.reason),
            was_bracketed=bool(row.was_bracketed),
            stack=row.name,
            traversal_id=row.id,
            begun_at=row.created_at,
            attempt=claimed.attempt,
            lost=claimed.lost,
            options=json.loads(row.options),
        )

    def finish_end(self, ending: ClaimedEnd) -> None:
        """Record that the post-operation work is done."""
        self._db.change(_FINISH_END, {"traversal_id": ending.traversal_id, "attempt": ending.attempt})

    @retrying
    def leave_failed(self, traversal_id: str, *, why: str) -> None:
        """Cancel the rollback that a failed traversal would have, and add the cause to its reason and its stack's.

        Nothing changes if another traversal has the stack already. Safe to repeat.
        """
        traversal, stack = tables.traversal, tables.stack
        with self._db.write() as connection:
            stack_id = hold_stack(connection, traversal_id)
            mine = (traversal.c.id == traversal_id) & (traversal.c.status == "FAILED")
            if stack_id is None:
                return
            row = connection.execute(sa.select(traversal).where(mine)).first()
            if row is None or not json.loads(row.options).get("rollback"):
                return
            now = database_time(connection, self._db)
            reason = f"{row.reason}; it is not rolled back: {why}"
            connection.execute(traversal.update().where(mine).values(options="{}", reason=reason))
            connection.execute(
                stack.update().where(stack.c.id == stack_id).values(reason=reason, updated_at=now)
            )
            event = {"action": row.action, "status": "FAILED", "reason": reason}
            insert_event(connection, now, stack_id=stack_id, traversal_id=traversal_id, **event)

    @retrying
    def cancel(self, traversal_id: str, *, reason: str, job_id: str) -> CheckOrder | None:
        """Fail a traversal on behalf of a job, without a rollback.

        Returns the order for its end, or None if the same job cancelled it before.

        Raises:
            Conflict: it is over, or another traversal took the stack; nothing was changed.
        """
        job = tables.job
        with self._db.write() as connection:
            if connection.execute(sa.select(job.c.id).where(job.c.id == job_id)).first() is not None:
                return None
            now = database_time(connection, self._db)
            stack_id = self._keep_from_others(connection, traversal_id)
            if stack_id is None:
                raise Conflict("what was to be cancelled is over, or another operation took its place")
            accepted = {
                "id": job_id,
                "stack_id": stack_id,
                "traversal_id": traversal_id,
                "status": "accepted",
            }
            connection.execute(job.insert().values(**accepted, created_at=now))
            return fail_traversal(
                connection, self._db, self._timings, traversal_id, reason, codec=self._codec
            )

    @retrying
    def fence(self, traversal_id: str) -> CheckOrder | None:
        """Fail a traversal whose stack the next operation takes over, without a rollback.

        It makes no new rows afterwards, so that the next operation can be planned with the present ones. Returns the
        order for its end, or None if it is over.
        """
        traversal = tables.traversal
        with self._db.write() as connection:
            if self._keep_from_others(connection, traversal_id) is None:
                return None
            action = connection.execute(
                sa.select(traversal.c.action).where(traversal.c.id == traversal_id)
            ).scalar_one()
            reason = f"Stack {action} gave way to another operation"
            return fail_traversal(
                connection, self._db, self._timings, traversal_id, reason, codec=self._codec
            )

    @staticmethod
    def _keep_from_others(connection: sa.Connection, traversal_id: str) -> str | None:
        """Lock a traversal's stack, and return its id; None unless the traversal is in progress."""
        traversal = tables.traversal
        stack_id = hold_stack(connection, traversal_id)
        running = (traversal.c.id == traversal_id) & (traversal.c.status == "IN_PROGRESS")
        stopped = connection.execute(traversal.update().where(running).values(options="{}"))
        return stack_id if stopped.rowcount == 1 else None

    def owes_rollback(self, traversal_id: str) -> bool:
        """Return whether a rollback of a failed traversal is still outstanding."""
        traversal, node = tables.traversal, tables.node
        sql = (
            sa.select(traversal.c.options, node.c.state)
            .select_from(traversal)
            .join(node, tables.in_traversal(traversal.c.id))
            .where(traversal.c.id == traversal_id, traversal.c.status == "FAILED", node.c.phase == END)
        )
        row = self._db.first(sql)
        return row is not None and row.state != "done" and bool(json.loads(row.options).get("rollback"))

    def owes_post_op(self, traversal_id: str) -> bool:
        """Return whether the end of a traversal is not over, of which lifecycle plugins are yet to be told.

        Until then they hold what they hold for it, such as licences, and may still fail it.
        """
        sql = f"""SELECT EXISTS (SELECT 1 FROM node WHERE {_END} AND state <> 'done')
            AND EXISTS (SELECT 1 FROM operation WHERE id = :traversal_id) AS owed"""
        return bool(self._db.one(sql, {"traversal_id": traversal_id}).owed)

    def options(self, traversal_id: str) -> dict[str, Any]:
        """Return the flags of a traversal's operation.

        Raises:
            NoResultFound: there is no such traversal, or it is purged.
        """
        row = self._db.one("SELECT options FROM traversal WHERE id = :id", {"id": traversal_id})
        options: dict[str, Any] = json.loads(row.options)
        return options

    def is_end_finished(self, traversal_id: str) -> bool:
        """Return whether a traversal's post-operation work is done."""
        row = self._db.first(f"SELECT state FROM node WHERE {_END}", {"traversal_id": traversal_id})
        return row is None or row.state == "done"

    def definition(self, traversal_id: str) -> tuple[str, float]:
        """Return the id of a traversal's template, and its deadline; neither ever changes.

        Raises:
            NoResultFound: there is no such traversal, or it is purged.
        """
        row = self._db.one("SELECT template_id, deadline FROM traversal WHERE id = :id", {"id": traversal_id})
        return row.template_id, row.deadline

    def context(self, traversal_id: str) -> dict[str, Any]:
        """Return the data that every check of a traversal needs; it never changes, so it may be cached.

        Raises:
            NoResultFound: there is no such traversal, or it is purged.
        """
        row = self._db.one("SELECT context FROM traversal WHERE id = :id", {"id": traversal_id})
        context: dict[str, Any] = self._codec.unpack(row.context, ("traversal", "context", traversal_id))
        return context


def _faults(direct: Direct, traversal_id: str, action: str) -> str:
    """Return the faults that a traversal ended with, in words; empty for none."""
    if action == CHECK:
        return faults_of(direct, traversal_id)
    return unclean_of(direct, traversal_id) if action in DEFINING and action != "CREATE" else ""
