"""The sync points: claim a node, finish its step, count its dependents down, wake, extend leases.

Each operation is one short transaction. The attempt number is the fence: whoever finishes under an old attempt
changes nothing, so a message may come twice, late, or to a worker believed dead.
"""

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from orchestrator.codec import Codec
from orchestrator.messages import CLEANUP, CONVERGE, JOIN, OPERATE, CheckOrder
from orchestrator.operable import CHECK
from orchestrator.store import statements, tables
from orchestrator.store.claims import Claim, Ending, Finished, Outcome, Timings
from orchestrator.store.database import Database, database_time, retrying
from orchestrator.store.direct import Direct
from orchestrator.store.failing import fail_traversal, hold_stack
from orchestrator.store.requirements import both
from orchestrator.store.stopping import stop_at_hook
from orchestrator.store.unclean import goes_on, hold_back

#: A node with more requirements than this gets their data from the store, not with its message.
MESSAGE_REQUIREMENTS = 64
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
#: After these nothing is left to do, and the dependents are counted down.
_PASSED_ON = (Ending.DONE, Ending.FAULT)
#: How often a claim is tried whose resource is let go of, or changed by another, in the very moment.
CLAIM_TRIES = 3
#: What a claim finds whose resource another holds, or has just changed: its node waits for that.
_TURNED_AWAY: Final = object()
_NO_DATA: tuple[bytes, ...] = ()


@functools.cache
def _text(sql: str) -> sa.TextClause:
    return sa.text(sql)


class Nodes:
    """The node table's operations."""

    def __init__(self, database: Database, codec: Codec, timings: Timings) -> None:
        self._db = database
        self._codec = codec
        self._timings = timings

    # -- claim -------------------------------------------------------------------------------------------------

    @retrying
    def claim(self, order: CheckOrder, *, worker: str) -> Claim | None:
        """Take a ready node and its resource's lock, and record that its action is under way.

        None: somebody else has it, it is done, its traversal is over, or an older traversal still holds the
        resource (the node then waits, and is woken by the release).
        """
        values = {
            "stack_id": order.stack_id,
            "traversal_id": order.traversal_id,
            "no": order.no,
            "worker": worker,
            "lease_seconds": self._timings.lease_seconds,
            "locked_seconds": self._timings.locked_seconds,
            "redeliver_seconds": self._timings.redeliver_seconds,
        }
        claim = self._claim_postgres if self._db.postgres else self._claim_sqlite
        for _ in range(CLAIM_TRIES):
            with self._db.direct() as direct:
                row = claim(direct, values)
            if row is not _TURNED_AWAY:
                return None if row is None else self._claimed(order, row)
            if not self._is_free_again(values):
                return None
        return None

    def _claim_postgres(self, direct: Direct, values: Mapping[str, Any]) -> Any:
        rows = direct.rows(statements.PG_CLAIM.at(self._db.now), values)
        if not rows:
            return None
        return _TURNED_AWAY if rows[0].type is None else rows[0]

    def _is_free_again(self, values: Mapping[str, Any]) -> bool:
        """Make a node ready that waits for its resource although nobody holds that any more.

        Whoever held it let go before the node was seen to wait, and found nobody to wake.
        """
        with self._db.direct() as direct:
            return direct.count(statements.PG_READY_IF_FREE.at(self._db.now), values) == 1

    def _claim_sqlite(self, direct: Direct, values: Mapping[str, Any]) -> Any:
        rows = direct.rows(statements.SQLITE_CLAIM_READ.at(self._db.now), values)
        if not rows:
            return None
        row = rows[0]
        free = row.lock_traversal is None
        lease = values["lease_seconds"] if free else values["locked_seconds"]
        changed = {
            **values,
            "state": "running" if free else "waiting",
            "due_at": row.now + lease,
            # To wait for another is no attempt: nothing has begun.
            "attempt": row.attempt if free else row.attempt - 1,
            "action": row.action,
            "looks": row.looks,
            "resource_id": row.resource_id,
            "now": row.now,
        }
        direct.count(statements.SQLITE_CLAIM_NODE, changed)
        if not free:
            return None
        direct.count(statements.SQLITE_CLAIM_RESOURCE, changed)
        if row.going_on or row.looks:
            return row
        said = {
            **changed,
            "resource": row.name,
            "type": row.type,
            "status": "IN_PROGRESS",
            "reason": "",
            "physical_id": row.physical_id,
        }
        direct.count(statements.INSERT_EVENT, said)
        return row

    def _claimed(self, order: CheckOrder, row: Any) -> Claim:
        unpack = self._unpack
        # What a resource that is left alone was in the middle of is for whoever goes on with that.
        goes_on = (row.was_action, row.was_status) == (row.action, "IN_PROGRESS")
        token = unpack(row.token) if goes_on else None
        return Claim(
            order=order,
            attempt=row.attempt,
            action=row.action,
            now=row.now,
            retries=row.retries,
            fragment=unpack(row.fragment) or {},
            wanted=unpack(row.wanted) or (),
            dependents=_numbers(row.dependents),
            requirements=_numbers(row.requirements),
            resource_id=row.resource_id,
            type=row.type,
            physical_id=row.physical_id,
            properties=unpack(row.properties),
            data=unpack(row.data) or {},
            metadata=unpack(row.metadata),
            token=token[0] if token else None,
            started=token is not None,
            started_at=row.started_at,
            was=(row.was_action, row.was_status),
            in_flight=token[1] if token else None,
            recorded=unpack(row.node_data),
            requires=_ids(row.requires),
            changed=bool(row.changed),
            planned=row.planned,
            hooks=frozenset(json.loads(row.hooks)) if row.hooks else frozenset(),
            looks=bool(row.looks),
        )

    def _unpack(self, data: bytes | None) -> Any:
        return None if data is None else self._codec.unpack(data)

    def _pack(self, value: Any) -> bytes | None:
        return None if value is None else self._codec.pack(value)

    # -- finish ------------------------------------------------------------------------------------------------

    @retrying
    def finish(self, claim: Claim, outcome: Outcome) -> Finished:
        """Write down what a step left behind, and count the dependents down if it was the last.

        Nothing changes unless the node is still running under the claim's attempt. A failure fails the traversal
        in the same transaction, unless it is that of a cleanup while others make what is wanted. Safe to repeat:
        the second time finds the node no longer running.
        """
        values = self._values(claim, outcome)
        if outcome.hook:
            return self._stop(claim, outcome, values)
        if outcome.ending is Ending.FAILED:
            return self._finish_failed(claim, outcome, values)
        begins_later = outcome.ending is Ending.RETRY and values["resource_status"] != "IN_PROGRESS"
        if outcome.ending in (Ending.NEXT, Ending.REPLACE) or begins_later:
            return self._go_on(claim, outcome, values)
        finish = self._finish_postgres if self._db.postgres else self._finish_sqlite
        with self._db.direct() as direct:
            rows = finish(direct, outcome, values)
        if rows is None:
            return Finished(accepted=False)
        status, released = rows
        if status == "SUPERSEDED":
            return Finished(accepted=True, ready=self.wake_resource(claim.resource_id))
        return Finished(accepted=True, ready=self._orders(claim, released, values["node_data"]))

    def _finish_failed(self, claim: Claim, outcome: Outcome, values: dict[str, Any]) -> Finished:
        order = claim.order
        with self._db.write() as connection:
            hold_stack(connection, order.traversal_id)
            node = connection.execute(_text(statements.SQLITE_FINISH_NODE.at(self._db.now)), values)
            if node.rowcount != 1:
                return Finished(accepted=False)
            connection.execute(_text(statements.SQLITE_FINISH_RESOURCE.at(self._db.now)), values)
            connection.execute(_text(statements.event_at(self._db.now)), values)
            if order.phase == CLEANUP and goes_on(connection, order.traversal_id):
                hold_back(connection, self._db, traversal_id=order.traversal_id, no=order.no)
                down = statements.count_down(self._db.now, self._db.in_list("dependents"))
                released = _released(connection.execute(_text(down), values).all())
                return Finished(accepted=True, ready=self._orders(claim, released, None))
            reason = f"Resource {claim.action} failed: resources.{order.key}: {outcome.reason}"
            end = fail_traversal(
                connection,
                self._db,
                traversal_id=order.traversal_id,
                reason=reason,
                redeliver_seconds=self._timings.redeliver_seconds,
            )
        return Finished(accepted=True, ready=(end,) if end else self.wake_resource(claim.resource_id))

    def _go_on(self, claim: Claim, outcome: Outcome, values: dict[str, Any]) -> Finished:
        """Write down that a node's action is over, and make it ready for the next: an update, or a new resource.

        Or that an action which has not begun is to be tried again. In a traversal that is over nothing follows.
        """
        order = claim.order
        node, traversal = tables.node, tables.traversal
        mine = (node.c.traversal_id == order.traversal_id) & (node.c.no == order.no)
        with self._db.write() as connection:
            # Whoever takes the stack over sees the new row, or it is never made. Asked first: whoever does so has the
            # traversal before the resource, too.
            status = connection.execute(
                sa.select(traversal.c.status)
                .where(traversal.c.id == order.traversal_id)
                .with_for_update(read=True)
            ).scalar_one()
            if (
                connection.execute(_text(statements.SQLITE_FINISH_NODE.at(self._db.now)), values).rowcount
                != 1
            ):
                return Finished(accepted=False)
            connection.execute(_text(statements.SQLITE_FINISH_RESOURCE.at(self._db.now)), values)
            if status == "IN_PROGRESS" and outcome.ending is Ending.RETRY:
                return Finished(accepted=True)
            if status == "IN_PROGRESS":
                replaced = outcome.ending is Ending.REPLACE
                # Nothing was done to what is replaced.
                said = {**values, "action": "REPLACE", "status": "IN_PROGRESS"} if replaced else values
                connection.execute(_text(statements.event_at(self._db.now)), said)
                if replaced:
                    self._put_in_place(connection, claim, outcome)
                elif outcome.then:
                    connection.execute(node.update().where(mine).values(action=outcome.then))
            else:
                # What was begun is over, and what would follow is new.
                connection.execute(node.update().where(mine).values(state="superseded", due_at=None))
            ready: Sequence[Any] = connection.execute(
                sa.select(*(node.c[name] for name in statements.RELEASED_COLUMNS.split(", "))).where(mine)
            ).all()
        if status != "IN_PROGRESS":
            return Finished(accepted=True, ready=self.wake_resource(claim.resource_id))
        orders = self.orders(
            ready, stack_id=order.stack_id, stack=order.stack, traversal_id=order.traversal_id
        )
        return Finished(accepted=True, ready=orders)

    def _stop(self, claim: Claim, outcome: Outcome, values: Mapping[str, Any]) -> Finished:
        with self._db.write() as connection:
            status = stop_at_hook(connection, self._db, claim, outcome, values)
        if status is None:
            return Finished(accepted=False)
        woken = () if status == "IN_PROGRESS" else self.wake_resource(claim.resource_id)
        return Finished(accepted=True, ready=woken)

    def _put_in_place(self, connection: sa.Connection, claim: Claim, outcome: Outcome) -> None:
        """Make a new row in the place of the claimed one, which is cleaned up once everybody has moved over."""
        node, resource, new_id = tables.node, tables.resource, outcome.new_id
        now = database_time(connection, self._db)
        old = resource.c.id == claim.resource_id
        template_id = connection.execute(sa.select(resource.c.template_id).where(old)).scalar_one()
        connection.execute(
            resource.insert().values(
                id=new_id,
                stack_id=claim.order.stack_id,
                name=claim.order.key,
                type=claim.type,
                requires=json.dumps(list(outcome.requires)),
                replaces=claim.resource_id,
                template_id=template_id,
                planned_traversal=claim.order.traversal_id,
                planned_no=claim.order.no,
                created_at=now,
                updated_at=now,
            )
        )
        # It was to become something else, and stays as it was made.
        as_applied = {
            "planned_traversal": sa.func.coalesce(resource.c.applied_traversal, resource.c.planned_traversal),
            "planned_no": sa.func.coalesce(resource.c.applied_no, resource.c.planned_no),
        }
        connection.execute(resource.update().where(old).values(replaced_by=new_id, **as_applied))
        traversal = node.c.traversal_id == claim.order.traversal_id
        # The new row never was to become anything else.
        fragment = {**claim.fragment, "old": False, "refresh": False, "replace": ""}
        connection.execute(
            node.update()
            .where(traversal, node.c.no == claim.order.no)
            .values(resource_id=new_id, action="CREATE", retries=0, fragment=self._codec.pack(fragment))
        )
        cleanup = (node.c.resource_id == claim.resource_id) & (node.c.phase == CLEANUP)
        connection.execute(
            node.update().where(tables.in_traversal(claim.order.traversal_id), cleanup).values(quiet=False)
        )

    def _finish_postgres(
        self, direct: Direct, outcome: Outcome, values: Mapping[str, Any]
    ) -> tuple[str, Sequence[Any]] | None:
        if outcome.ending not in _PASSED_ON:
            statement = statements.PG_STEP
        else:
            statement = statements.PG_END_AND_RELEASE if values["dependents"] else statements.PG_END
        rows = direct.rows(statement.at(self._db.now), values)
        if not rows:
            return None
        with_released = statement is statements.PG_END_AND_RELEASE
        return rows[0].traversal_status, [row for row in rows if row.no is not None] if with_released else []

    def _finish_sqlite(
        self, direct: Direct, outcome: Outcome, values: Mapping[str, Any]
    ) -> tuple[str, Sequence[Any]] | None:
        now = self._db.now
        if direct.count(statements.SQLITE_FINISH_NODE.at(now), values) != 1:
            return None
        direct.count(statements.SQLITE_FINISH_RESOURCE.at(now), values)
        released: list[Any] = []
        if outcome.ending in _PASSED_ON:
            direct.count(statements.event_at(now), values)
            if values["dependents"]:
                released = self._count_down(direct, values)
        return direct.rows(statements.TRAVERSAL_STATUS, values)[0].status, released

    def _count_down(self, direct: Direct, values: Mapping[str, Any]) -> list[Any]:
        if self._db.postgres:
            direct.rows(statements.PG_LOCK_DEPENDENTS, values)
        rows = direct.rows(statements.count_down(self._db.now, self._db.in_list("dependents")), values)
        return _released(rows)

    def _values(self, claim: Claim, outcome: Outcome) -> dict[str, Any]:
        order = claim.order
        done = outcome.ending is Ending.DONE
        # What is done with a resource as it is changes nothing of what others are told of it.
        told = done and order.phase != OPERATE
        row_action, row_status = _after(claim, outcome)
        return {
            "stack_id": order.stack_id,
            "traversal_id": order.traversal_id,
            "no": order.no,
            "attempt": claim.attempt,
            "state": _STATE[outcome.ending],
            "status": _STATUS[outcome.ending],
            "resource_action": row_action,
            "resource_status": row_status,
            "reason": outcome.reason,
            "seconds": outcome.seconds,
            "retried": int(outcome.ending is Ending.RETRY),
            "resource": order.key,
            "resource_id": claim.resource_id,
            "type": claim.type,
            "action": claim.action,
            "physical_id": outcome.physical_id,
            "untouched": outcome.untouched,
            "new_reference": told,
            "reference_id": self._pack(outcome.reference_id),
            "properties": self._pack(outcome.properties),
            "definition_hash": outcome.definition_hash,
            "attributes": self._pack(list(outcome.attributes)) if told else None,
            "requires": _required(claim, outcome),
            "applied_traversal": order.traversal_id if done and order.phase == CONVERGE else None,
            "applied_no": order.no if done and order.phase == CONVERGE else None,
            "metadata": self._pack(outcome.metadata),
            "metadata_hash": outcome.metadata_hash,
            "data": self._pack(dict(outcome.data)),
            "token": self._pack([outcome.token, outcome.in_flight])
            if outcome.ending is Ending.WAITING or outcome.is_over
            else None,
            "node_data": self._pack(outcome.node_data if outcome.entry is None else outcome.entry),
            "dependents": self._db.integers(claim.dependents) if claim.dependents else None,
            "redeliver_seconds": self._timings.redeliver_seconds,
            "changed": outcome.changed,
        }

    # -- what became ready -------------------------------------------------------------------------------------

    def _orders(self, claim: Claim, released: Sequence[Any], own: bytes | None) -> tuple[CheckOrder, ...]:
        order = claim.order
        own_data = {order.no: own} if own is not None else {}
        return self.orders(
            released,
            stack_id=order.stack_id,
            stack=order.stack,
            traversal_id=order.traversal_id,
            known=own_data,
        )

    def orders(
        self,
        rows: Sequence[Any],
        *,
        stack_id: str,
        stack: str,
        traversal_id: str,
        known: Mapping[int, bytes] | None = None,
    ) -> tuple[CheckOrder, ...]:
        """Make the orders for ready nodes, each with the data of its direct requirements."""
        needs = {
            row.no: _numbers(row.requirements) if row.phase == CONVERGE and not _passes(row) else ()
            for row in rows
        }
        few = {no for numbers in needs.values() if len(numbers) <= MESSAGE_REQUIREMENTS for no in numbers}
        data = {**(known or {})}
        missing = sorted(few - data.keys())
        if missing:
            data |= self._node_data(traversal_id, missing)
        return tuple(
            CheckOrder(
                stack_id=stack_id,
                traversal_id=traversal_id,
                no=row.no,
                key=row.key,
                phase=JOIN if _passes(row) else row.phase,
                stack=stack,
                action=row.action,
                node_data=_data_of(needs[row.no], data),
            )
            for row in rows
        )

    @retrying
    def _node_data(self, traversal_id: str, numbers: Sequence[int]) -> dict[int, bytes]:
        sql = f"SELECT no, node_data FROM node WHERE traversal_id = :id AND no {self._db.in_list('numbers')}"
        values = {"id": traversal_id, "numbers": self._db.integers(numbers)}
        with self._db.read() as connection:
            rows = connection.execute(_text(sql), values).all()
        return {row.no: row.node_data for row in rows if row.node_data is not None}

    def inputs(self, claim: Claim) -> list[Any]:
        """Return the node data of the direct requirements, from the message or else from the store."""
        packed: Iterable[bytes] | None = claim.order.node_data
        if packed is None:
            packed = self._node_data(claim.order.traversal_id, claim.requirements).values()
        return [self._codec.unpack(data) for data in packed]

    @retrying
    def release_join(self, order: CheckOrder) -> Finished:
        """Pass a join on: it is done when it becomes ready, and counts its own dependents down.

        Safe to repeat: the second time finds it done.
        """
        values: dict[str, Any] = {
            "traversal_id": order.traversal_id,
            "no": order.no,
            "redeliver_seconds": self._timings.redeliver_seconds,
        }
        with self._db.direct(statements=3) as direct:
            rows = direct.rows(statements.RELEASE_JOIN, values)
            if not rows:
                return Finished(accepted=False)
            values["dependents"] = self._db.integers(_numbers(rows[0].dependents))
            values["changed"] = bool(rows[0].changed)
            released = self._count_down(direct, values)
        ready = self.orders(
            released, stack_id=order.stack_id, stack=order.stack, traversal_id=order.traversal_id
        )
        return Finished(accepted=True, ready=ready)

    # -- leases and wake-ups -----------------------------------------------------------------------------------

    @retrying
    def heartbeat(self, claims: Iterable[tuple[str, int, int]]) -> None:
        """Extend the leases of running attempts, each (traversal id, node number, attempt)."""
        sql = (
            f"UPDATE node SET due_at = {self._db.now} + :lease_seconds WHERE traversal_id = :traversal_id "
            "AND no = :no AND attempt = :attempt AND state = 'running'"
        )
        values = [
            {"traversal_id": t, "no": no, "attempt": attempt, "lease_seconds": self._timings.lease_seconds}
            for t, no, attempt in sorted(claims)
        ]
        if values:
            with self._db.write() as connection:
                connection.execute(_text(sql), values)

    @retrying
    def wake_resource(self, resource_id: str) -> tuple[CheckOrder, ...]:
        """Make the nodes ready that wait for this resource, and return their orders.

        Called when an older traversal let go of it.
        """
        return self._wake("node.resource_id = :id", {"id": resource_id})

    @retrying
    def wake_dependents(self, resource_id: str) -> tuple[CheckOrder, ...]:
        """Make the waiting dependents of a resource ready: a signal came. One that is running looks again."""
        find = """
            SELECT n.traversal_id, n.dependents FROM node n JOIN traversal t ON t.id = n.traversal_id
            WHERE n.resource_id = :id AND n.phase = 'converge' AND t.status IN ('IN_PROGRESS', 'FAILED')
            ORDER BY t.created_at DESC LIMIT 1"""
        with self._db.read() as connection:
            row = connection.execute(_text(find), {"id": resource_id}).first()
        if row is None:
            return ()
        values = {"traversal": row.traversal_id, "numbers": self._db.integers(_numbers(row.dependents))}
        joins = (
            "SELECT dependents FROM node WHERE traversal_id = :traversal AND phase = 'join' "
            f"AND no {self._db.in_list('numbers')}"
        )
        with self._db.read() as connection:
            behind = connection.execute(_text(joins), values).scalars().all()
        numbers = {*_numbers(row.dependents), *(no for text in behind for no in _numbers(text))}
        values["numbers"] = self._db.integers(sorted(numbers))
        return self._wake(f"node.traversal_id = :traversal AND node.no {self._db.in_list('numbers')}", values)

    def _wake(self, which: str, values: Mapping[str, Any]) -> tuple[CheckOrder, ...]:
        now = self._db.now
        live = "traversal_id IN (SELECT id FROM traversal WHERE status IN ('IN_PROGRESS', 'FAILED'))"
        ready = f"""
            UPDATE node SET state = 'ready', published = 0, due_at = {now} + :redeliver_seconds
            WHERE {which} AND state = 'waiting' AND hook IS NULL AND {live}
            RETURNING traversal_id, {statements.RELEASED_COLUMNS}"""
        running = f"UPDATE node SET woken = true WHERE {which} AND state = 'running'"
        with self._db.write() as connection:
            rows = connection.execute(
                _text(ready), {**values, "redeliver_seconds": self._timings.redeliver_seconds}
            ).all()
            connection.execute(_text(running), values)
            names = {row.traversal_id: _stack_of(connection, row.traversal_id) for row in rows}
        return tuple(
            order
            for row in rows
            for order in self.orders(
                [row],
                stack_id=names[row.traversal_id].id,
                stack=names[row.traversal_id].name,
                traversal_id=row.traversal_id,
            )
        )


def _after(claim: Claim, outcome: Outcome) -> tuple[str, str]:
    """Return action and status of a resource after a step."""
    action, status = claim.was
    was_sound = action != "DELETE" and status != "FAILED" and (action != CHECK or status == "COMPLETE")
    unsound = claim.action == "UPDATE" and not was_sound
    tried = outcome.ending is Ending.RETRY and (unsound or claim.looks)
    if outcome.ending is Ending.REPLACE or outcome.untouched or tried:
        # Nothing has been done to it.
        return claim.was
    return claim.action, _STATUS[outcome.ending]


def _stack_of(connection: sa.Connection, traversal_id: str) -> Any:
    sql = "SELECT s.id, s.name FROM stack s JOIN traversal t ON t.stack_id = s.id WHERE t.id = :id"
    return connection.execute(_text(sql), {"id": traversal_id}).one()


def _released(rows: Sequence[Any]) -> list[Any]:
    """Return those of the nodes that were counted down that nothing else is waited for by."""
    return [row for row in rows if row.remaining == 0 and row.state == "ready"]


def _passes(row: Any) -> bool:
    """Whether a ready node has nothing to do, and is passed on like a join."""
    return bool(row.quiet) and (row.phase != CONVERGE or not row.changed)


def _required(claim: Claim, outcome: Outcome) -> str | None:
    """Return what a resource requires after a step, as JSON; None: what it did before."""
    if claim.order.phase != CONVERGE or outcome.ending is Ending.REPLACE:
        return None
    if outcome.ending is Ending.DONE:
        return json.dumps(list(outcome.requires))
    # It may use by now what it was given, or still what it had.
    return json.dumps(both(claim.requires, outcome.requires))


@functools.lru_cache(maxsize=1024)
def _ids(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


def _numbers(text: str) -> tuple[int, ...]:
    return () if text == "[]" else tuple(json.loads(text))


def _data_of(numbers: Sequence[int], data: Mapping[int, bytes]) -> tuple[bytes, ...] | None:
    if not numbers:
        return _NO_DATA
    if len(numbers) > MESSAGE_REQUIREMENTS:
        return None
    return tuple(data[no] for no in numbers if no in data)
