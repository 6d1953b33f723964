"""Finishes of steps: the outcome is written, and the dependents are counted down if the node is done."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hooks.values.texts import storable
from orchestrator.model.actions import CHECK
from orchestrator.model.codec import Codec
from orchestrator.model.messages import CLEANUP, CONVERGE, JOIN, OPERATE, CheckOrder
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.database import Database, database_time, text_of
from orchestrator.store.direct import Direct
from orchestrator.store.node_locks import hold_nodes
from orchestrator.store.nodes import statements
from orchestrator.store.nodes.claims import Claim, Ending, Finished, Outcome
from orchestrator.store.nodes.failing import fail_traversal, held_status, hold_stack
from orchestrator.store.nodes.orders import NodeOrders, numbers_of
from orchestrator.store.nodes.requirements import both
from orchestrator.store.nodes.stopping import stop_at_hook
from orchestrator.store.repository import Repository, Timings
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import AnyRow, Values
from orchestrator.store.stacks.unclean import goes_on, hold_back
from orchestrator.views.facts import RETRY

#: The status a resource has after a step.
_STATUS = {
    Ending.DONE: "COMPLETE",
    Ending.FAILED: "FAILED",
    Ending.WAITING: "IN_PROGRESS",
    Ending.RETRY: "IN_PROGRESS",
    Ending.NEXT: "COMPLETE",
    Ending.REPLACE: "COMPLETE",
    Ending.FAULT: "FAILED",
    Ending.PAUSED: "COMPLETE",
}
#: The state a node has after a step.
_STATE = {
    Ending.DONE: "done",
    Ending.FAILED: "failed",
    Ending.WAITING: "waiting",
    Ending.RETRY: "waiting",
    Ending.NEXT: "ready",
    Ending.REPLACE: "ready",
    Ending.FAULT: "failed",
    Ending.PAUSED: "waiting",
}
#: The endings after which the dependents are counted down.
_PASSED_ON = (Ending.DONE, Ending.FAULT)


class NodeEndings(Repository):
    """Finishes of the steps of nodes."""

    def __init__(self, database: Database, codec: Codec, timings: Timings, orders: NodeOrders) -> None:
        super().__init__(database, codec, timings)
        self._orders = orders

    @retrying
    def finish(self, claim: Claim, outcome: Outcome) -> Finished:
        """Write the outcome of a step, and count the dependents down if it was the last.

        Nothing changes unless the node still runs under the claim's attempt. A failure fails the traversal in the same
        transaction, except that of a cleanup while other nodes still make what the definition wants. Safe to repeat:
        the second time, the node does not run any more.
        """
        values = self.values_of(claim, outcome)
        if outcome.hook:
            return self._stop(claim, outcome, values)
        if outcome.ending is Ending.FAILED:
            return self._finish_failed(claim, outcome, values)
        begins_later = outcome.ending is Ending.RETRY and values["resource_status"] != "IN_PROGRESS"
        if outcome.ending in (Ending.NEXT, Ending.REPLACE) or begins_later:
            return self._go_on(claim, outcome, values)
        finish = self._finish_postgres if self._db.postgres else self.finish_sqlite
        with self._db.direct() as direct:
            rows = finish(direct, outcome, values)
        if rows is None:
            return Finished(accepted=False)
        status, released = rows
        if status == "SUPERSEDED":
            return Finished(accepted=True, ready=self._orders.wake_resource(claim.resource_id))
        own = values["node_data"]
        known = {claim.order.no: own} if own is not None else {}
        return Finished(accepted=True, ready=self._orders.orders(released, claim.order, known))

    def _finish_failed(self, claim: Claim, outcome: Outcome, values: Values) -> Finished:
        order = claim.order
        with self._db.write() as connection:
            hold_stack(connection, order.traversal_id)
            held_status(connection, order.traversal_id, to_change=True)
            is_held_back = order.phase == CLEANUP and goes_on(connection, order.traversal_id)
            if not is_held_back:
                # Before the node itself: a batch that it is one of locks those with lower numbers first.
                every = "traversal_id = :traversal_id"
                hold_nodes(connection, self._db, every, {"traversal_id": order.traversal_id})
            node = connection.execute(text_of(statements.SQLITE_FINISH_NODE.at(self._db.now)), values)
            if node.rowcount != 1:
                return Finished(accepted=False)
            connection.execute(text_of(statements.SQLITE_FINISH_RESOURCE.at(self._db.now)), values)
            connection.execute(text_of(statements.event_at(self._db.now)), values)
            if is_held_back:
                dependents = claim.dependents
                hold_back(connection, self._db, traversal_id=order.traversal_id, dependents=dependents)
                down = statements.count_down(self._db.now, self._db.in_list("dependents"))
                released = _released(connection.execute(text_of(down), values).all())
                return Finished(accepted=True, ready=self._orders.orders(released, order))
            reason = f"Resource {claim.action} failed: resources.{order.key}: {outcome.reason}"
            end = fail_traversal(
                connection, self._db, self._timings, order.traversal_id, reason, codec=self._codec
            )
        return Finished(accepted=True, ready=(end,) if end else self._orders.wake_resource(claim.resource_id))

    def _go_on(self, claim: Claim, outcome: Outcome, values: Values) -> Finished:
        """Finish an action of a node that continues with another one: an update, or a replacement.

        Or with another try at an action that has not begun. In a traversal that is over, nothing follows.
        """
        order = claim.order
        node = tables.node
        mine = (node.c.traversal_id == order.traversal_id) & (node.c.no == order.no)
        with self._db.write() as connection:
            # A traversal that takes the stack over sees the new row, or the row is never made. The traversal is locked
            # before the resource, in the same order as there.
            status = held_status(connection, order.traversal_id)
            finish_node = text_of(statements.SQLITE_FINISH_NODE.at(self._db.now))
            if connection.execute(finish_node, values).rowcount != 1:
                return Finished(accepted=False)
            connection.execute(text_of(statements.SQLITE_FINISH_RESOURCE.at(self._db.now)), values)
            if status == "IN_PROGRESS" and outcome.ending is Ending.RETRY:
                if not claim.looks and (outcome.counts or self._is_news(connection, values, outcome.reason)):
                    connection.execute(text_of(statements.event_at(self._db.now)), values)
                return Finished(accepted=True)
            if status == "IN_PROGRESS":
                replaced = outcome.ending is Ending.REPLACE
                # The row that is replaced was not changed.
                event = {**values, "action": "REPLACE", "status": "IN_PROGRESS"} if replaced else values
                connection.execute(text_of(statements.event_at(self._db.now)), event)
                if replaced:
                    self._put_in_place(connection, claim, outcome)
                elif outcome.then:
                    connection.execute(node.update().where(mine).values(action=outcome.then))
            else:
                # The begun action is over, and another one would be new.
                connection.execute(node.update().where(mine).values(state="superseded", due_at=None))
            ready: Sequence[Any] = connection.execute(
                sa.select(*(node.c[name] for name in statements.RELEASED_COLUMNS.split(", "))).where(mine)
            ).all()
        if status != "IN_PROGRESS":
            return Finished(accepted=True, ready=self._orders.wake_resource(claim.resource_id))
        return Finished(accepted=True, ready=self._orders.orders(ready, order))

    @staticmethod
    def _is_news(connection: sa.Connection, values: Values, reason: str) -> bool:
        """Return whether the last retry of a resource had another reason, by its events: the row has a new one."""
        event = tables.event
        last = sa.select(event.c.reason).where(
            event.c.stack_id == values["stack_id"], event.c.resource_id == values["resource_id"]
        )
        found = connection.execute(last.where(event.c.cause == RETRY).order_by(event.c.id.desc()).limit(1))
        return bool(found.scalar() != storable(reason))

    def _stop(self, claim: Claim, outcome: Outcome, values: Values) -> Finished:
        with self._db.write() as connection:
            status = stop_at_hook(connection, self._db, claim, outcome, values)
        if status is None:
            return Finished(accepted=False)
        woken = () if status == "IN_PROGRESS" else self._orders.wake_resource(claim.resource_id)
        return Finished(accepted=True, ready=woken)

    def _put_in_place(self, connection: sa.Connection, claim: Claim, outcome: Outcome) -> None:
        """Insert a row that replaces the claimed one, which is cleaned up once its dependents use the new row."""
        node, resource, new_id = tables.node, tables.resource, outcome.new_id
        now = database_time(connection, self._db)
        old = resource.c.id == claim.resource_id
        kept = sa.select(resource.c.template_id, resource.c.protected).where(old)
        template_id, is_protected = connection.execute(kept).one()
        connection.execute(
            resource.insert().values(
                id=new_id,
                stack_id=claim.order.stack_id,
                name=claim.order.key,
                type=claim.type,
                requires=json.dumps(list(outcome.requires)),
                replaces=claim.resource_id,
                template_id=template_id,
                protected=is_protected,
                planned_traversal=claim.order.traversal_id,
                planned_no=claim.order.no,
                created_at=now,
                updated_at=now,
            )
        )
        # The old row keeps the definition that was applied last.
        as_applied = {
            "planned_traversal": sa.func.coalesce(resource.c.applied_traversal, resource.c.planned_traversal),
            "planned_no": sa.func.coalesce(resource.c.applied_no, resource.c.planned_no),
        }
        # What is protected is the resource in service: without permission there would be no replacement.
        replaced = {"replaced_by": new_id, "protected": False, **as_applied}
        connection.execute(resource.update().where(old).values(**replaced))
        traversal = node.c.traversal_id == claim.order.traversal_id
        # The marks of an existing row do not apply to the new one.
        place = "node", "fragment", claim.order.no, claim.order.traversal_id
        fragment = {**claim.fragment, "old": False, "refresh": False, "replace": ""}
        connection.execute(
            node.update()
            .where(traversal, node.c.no == claim.order.no)
            .values(
                resource_id=new_id, action="CREATE", retries=0, fragment=self._codec.pack(fragment, place)
            )
        )
        # A cleanup that was held back is a join, which then counts as not deleted.
        cleanup = (node.c.resource_id == claim.resource_id) & node.c.phase.in_((CLEANUP, JOIN))
        connection.execute(
            node.update().where(tables.in_traversal(claim.order.traversal_id), cleanup).values(quiet=False)
        )

    def _finish_postgres(
        self, direct: Direct, outcome: Outcome, values: Values
    ) -> tuple[str, Sequence[AnyRow]] | None:
        statement = postgres_statement(outcome, values)
        return finished_by(direct.rows(statement.at(self._db.now), values))

    def finish_sqlite(
        self, direct: Direct, outcome: Outcome, values: Values
    ) -> tuple[str, Sequence[AnyRow]] | None:
        """Finish a step; return the status of the traversal and the released nodes, or None if it is fenced off."""
        now = self._db.now
        if direct.count(statements.SQLITE_FINISH_NODE.at(now), values) != 1:
            return None
        if outcome.ending is Ending.RETRY:
            direct.count(statements.SQLITE_RETRY_EVENT.at(now), values)
        direct.count(statements.SQLITE_FINISH_RESOURCE.at(now), values)
        released: list[Any] = []
        if outcome.ending in _PASSED_ON:
            direct.count(statements.event_at(now), values)
            if values["dependents"]:
                released = self._count_down(direct, values)
        return direct.rows(statements.TRAVERSAL_STATUS, values)[0].status, released

    def _count_down(self, direct: Direct, values: Values) -> list[AnyRow]:
        if self._db.postgres:
            direct.rows(statements.PG_LOCK_DEPENDENTS, values)
        rows = direct.rows(statements.count_down(self._db.now, self._db.in_list("dependents")), values)
        return _released(rows)

    def values_of(self, claim: Claim, outcome: Outcome) -> dict[str, Any]:
        """Return what the statements of a finish are about."""
        order = claim.order
        done = outcome.ending is Ending.DONE
        # An operation on a resource as it is leaves its reference and attributes as they are.
        is_applied = done and order.phase != OPERATE
        row_action, row_status = _after(claim, outcome)

        def pack(column: str, value: object, table: str = "resource") -> bytes | None:
            key = (order.no, order.traversal_id) if table == "node" else (claim.resource_id,)
            return None if value is None else self._codec.pack(value, (table, column, *key))

        return {
            "stack_id": order.stack_id,
            "traversal_id": order.traversal_id,
            "no": order.no,
            "attempt": claim.attempt,
            "state": _STATE[outcome.ending],
            "status": _STATUS[outcome.ending],
            "resource_action": row_action,
            "resource_status": row_status,
            "reason": self._db.sealed(outcome.reason),
            "seconds": outcome.seconds,
            "retried": int(outcome.ending is Ending.RETRY and outcome.counts),
            "resource": order.key,
            "resource_id": claim.resource_id,
            "type": claim.type,
            "action": claim.action,
            "physical_id": outcome.physical_id,
            "on_node": outcome.on_node,
            "untouched": outcome.untouched,
            "new_reference": is_applied,
            "reference_id": pack("reference_id", outcome.reference_id),
            "properties": pack("properties", outcome.properties),
            "definition_hash": outcome.definition_hash,
            "attributes": pack("attributes", list(outcome.attributes)) if is_applied else None,
            "requires": _required(claim, outcome),
            "applied_traversal": order.traversal_id if done and order.phase == CONVERGE else None,
            "applied_no": order.no if done and order.phase == CONVERGE else None,
            "metadata": pack("metadata", outcome.metadata),
            "metadata_hash": outcome.metadata_hash,
            # What could not be read is kept, so that the next step does not take it for nothing.
            "data": (not outcome.data and claim.unreadable.get("data")) or pack("data", dict(outcome.data)),
            "token": pack("token", [outcome.token, outcome.in_flight])
            if outcome.ending is Ending.WAITING or outcome.is_over
            else None,
            "node_data": pack(
                "node_data", outcome.node_data if outcome.entry is None else outcome.entry, "node"
            ),
            "dependents": self._db.integers(claim.dependents) if claim.dependents else None,
            "redeliver_seconds": self._timings.redeliver_seconds,
            "changed": outcome.changed,
            "cause": RETRY if outcome.ending is Ending.RETRY else "",
            "counts": outcome.counts,
            "worker": claim.worker,
        }

    @retrying
    def release_join(self, order: CheckOrder) -> Finished:
        """Set a ready join, or a node that nothing changes for, to done, and count its dependents down.

        Of a resource that stays as it is, the node's definition is recorded as the one that was last applied.

        Safe to repeat: the second time, it is done already.
        """
        values: dict[str, Any] = {
            "traversal_id": order.traversal_id,
            "no": order.no,
            "redeliver_seconds": self._timings.redeliver_seconds,
        }
        with self._db.direct(statements=4) as direct:
            rows = direct.rows(statements.RELEASE_JOIN, values)
            if not rows:
                return Finished(accepted=False)
            if rows[0].unchanged is not None:
                direct.count(statements.APPLIED_AGAIN, {**values, "resource_id": rows[0].unchanged})
            values["dependents"] = self._db.integers(numbers_of(rows[0].dependents))
            values["changed"] = bool(rows[0].changed)
            released = self._count_down(direct, values)
        return Finished(accepted=True, ready=self._orders.orders(released, order))


def postgres_statement(outcome: Outcome, values: Values) -> statements.Statement:
    """Return the statement that finishes a step."""
    if outcome.ending is Ending.RETRY:
        return statements.PG_RETRY
    if outcome.ending not in _PASSED_ON:
        return statements.PG_STEP
    return statements.PG_END_AND_RELEASE if values["dependents"] else statements.PG_END


def finished_by(rows: Sequence[AnyRow]) -> tuple[str, Sequence[AnyRow]] | None:
    """Return the status of the traversal and the released nodes, of what such a statement returns; None for nothing."""
    if not rows:
        return None
    # Only the statement that releases nodes has their columns.
    return rows[0].traversal_status, [row for row in rows if getattr(row, "key", None) is not None]


def _after(claim: Claim, outcome: Outcome) -> tuple[str, str]:
    action, status = claim.was
    was_sound = action != "DELETE" and status != "FAILED" and (action != CHECK or status == "COMPLETE")
    unsound = claim.action == "UPDATE" and not was_sound
    tried = outcome.ending is Ending.RETRY and (unsound or claim.looks)
    if outcome.ending is Ending.REPLACE or outcome.untouched or tried:
        # The resource was not changed.
        return claim.was
    return claim.action, _STATUS[outcome.ending]


def _released(rows: Sequence[AnyRow]) -> list[AnyRow]:
    return [row for row in rows if row.remaining == 0 and row.state == "ready"]


def _required(claim: Claim, outcome: Outcome) -> str | None:
    """Return what a resource requires after a step, as JSON; None if unchanged."""
    if claim.order.phase != CONVERGE or outcome.ending is Ending.REPLACE:
        return None
    if outcome.ending is Ending.DONE:
        return json.dumps(list(outcome.requires))
    # An unfinished action may use its new requirements already, or still the old ones.
    return json.dumps(both(claim.requires, outcome.requires))
