"""Orders for ready nodes, with the node data of their requirements; leases and wake-ups of nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from orchestrator.model.codec import UnreadableSecret, UnreadableValue
from orchestrator.model.messages import CONVERGE, JOIN, CheckOrder
from orchestrator.store import tables
from orchestrator.store.database import text_of
from orchestrator.store.node_locks import hold_nodes
from orchestrator.store.nodes import statements
from orchestrator.store.nodes.claims import Claim
from orchestrator.store.nodes.parts import NodeDataParts
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import AnyRow, Values

if TYPE_CHECKING:
    from orchestrator.store.alchemy import sa

#: The most requirements whose node data travel with a message; the check reads those of more from the store.
MESSAGE_REQUIREMENTS = 64
#: The most bytes of node data that travel with a message, for the same reason.
MESSAGE_BYTES = 256 * 1024


class _Needs(NamedTuple):
    """Which attributes of its requirements' data a node needs, as they are stored, and the number of the node."""

    packed: bytes | None
    no: int


class NodeOrders(Repository):
    """Orders for ready nodes, their inputs, leases, and wake-ups by locks and signals."""

    def orders(
        self, rows: Sequence[AnyRow], place: CheckOrder | AnyRow, known: Mapping[int, bytes] | None = None
    ) -> tuple[CheckOrder, ...]:
        """Make the orders for ready nodes, each with the data of its direct requirements.

        ``place`` has their ``stack_id``, the name of the ``stack``, and the ``traversal_id``.
        """
        inputs = {
            row.no: numbers_of(row.requirements) if row.phase == CONVERGE and not passes(row) else ()
            for row in rows
        }
        few = {no for numbers in inputs.values() if len(numbers) <= MESSAGE_REQUIREMENTS for no in numbers}
        data = {**(known or {})}
        missing = sorted(few - data.keys())
        if missing:
            data |= self._node_data(place.traversal_id, missing)
        parts = NodeDataParts(self._codec, place.traversal_id, data)
        return tuple(
            CheckOrder(
                stack_id=place.stack_id,
                traversal_id=place.traversal_id,
                no=row.no,
                key=row.key,
                phase=JOIN if passes(row) else row.phase,
                stack=place.stack,
                action=row.action,
                node_data=self._in_message(parts, data, inputs[row.no], _Needs(row.needs, row.no)),
                # What a step may have killed its worker with is not made the others' fate.
                alone=row.lost > 0 or row.state == "running",
            )
            for row in rows
        )

    def _in_message(
        self, parts: NodeDataParts, data: Collection[int], numbers: Sequence[int], needs: _Needs
    ) -> tuple[bytes, ...] | None:
        """Return the node data that travel with an order; None if the check is to read them from the store."""
        if len(numbers) > MESSAGE_REQUIREMENTS:
            return None
        try:
            found = self._parts_of(parts, data, numbers, needs)
        except (UnreadableSecret, UnreadableValue):
            # The check that cannot read them either fails its resource; here, many orders would be lost.
            return None
        return found if sum(map(len, found)) <= MESSAGE_BYTES else None

    def _parts_of(
        self, parts: NodeDataParts, data: Collection[int], numbers: Sequence[int], needs: _Needs
    ) -> tuple[bytes, ...]:
        """Return what a node needs of the data of its requirements ``numbers``; of those without data, no bytes."""
        needed = [None] * len(numbers)
        if needs.packed is not None and numbers:
            needed = self._codec.unpack(needs.packed, ("node", "needs", needs.no, parts.traversal_id))
        return tuple(
            parts.part(no, paths) if no in data else b"" for no, paths in zip(numbers, needed, strict=True)
        )

    def _node_data(self, traversal_id: str, numbers: Sequence[int]) -> dict[int, bytes]:
        sql = f"SELECT no, node_data FROM node WHERE traversal_id = :id AND no {self._db.in_list('numbers')}"
        values = {"id": traversal_id, "numbers": self._db.integers(numbers)}
        return {row.no: row.node_data for row in self._read(sql, values) if row.node_data is not None}

    @retrying
    def _read(self, sql: str, values: Values) -> Sequence[AnyRow]:
        with self._db.direct() as direct:
            return direct.rows(sql, values)

    def inputs(self, claim: Claim) -> list[Any]:
        """Return the node data of the direct requirements, from the message or else from the store."""
        order, numbers = claim.order, claim.requirements
        packed = order.node_data
        # None at all belong to a node that needs none. Other numbers are those of a version that left some out.
        if packed is None or len(packed) not in (0, len(numbers)):
            data = self._node_data(order.traversal_id, numbers)
            parts = NodeDataParts(self._codec, order.traversal_id, data)
            packed = self._parts_of(parts, data, numbers, _Needs(claim.needs, order.no))
        return [
            self._codec.unpack(data, tables.place_of_node_data(no, order.traversal_id))
            for no, data in zip(numbers, packed, strict=False)
            if data
        ]

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
                connection.execute(text_of(sql), values)

    @retrying
    def wake_resource(self, resource_id: str) -> tuple[CheckOrder, ...]:
        """Make the nodes ready that wait for the lock of a resource, which was released; return their orders."""
        return self._wake("node.resource_id = :id", {"id": resource_id})

    def wake_dependents(self, resource_id: str) -> tuple[CheckOrder, ...]:
        """Make the waiting dependents of a signalled resource ready; one that runs is checked again afterwards."""
        find = """
            SELECT n.traversal_id, n.dependents FROM node n JOIN traversal t ON t.id = n.traversal_id
            WHERE n.resource_id = :id AND n.phase = 'converge' AND t.status IN ('IN_PROGRESS', 'FAILED')
            ORDER BY t.created_at DESC LIMIT 1"""
        row = self._db.first(text_of(find), {"id": resource_id})
        if row is None:
            return ()
        values = {"traversal": row.traversal_id, "numbers": self._db.integers(numbers_of(row.dependents))}
        joins = (
            "SELECT dependents FROM node WHERE traversal_id = :traversal AND phase = 'join' "
            f"AND no {self._db.in_list('numbers')}"
        )
        behind = self._db.rows(text_of(joins), values)
        numbers = {
            *numbers_of(row.dependents),
            *(no for each in behind for no in numbers_of(each.dependents)),
        }
        values["numbers"] = self._db.integers(sorted(numbers))
        return self._wake(f"node.traversal_id = :traversal AND node.no {self._db.in_list('numbers')}", values)

    def _wake(self, which: str, values: Values) -> tuple[CheckOrder, ...]:
        # One statement for both states: between two, a step may end that neither of them finds.
        live = (
            "EXISTS (SELECT 1 FROM traversal t WHERE t.id = node.traversal_id "
            "AND t.status IN ('IN_PROGRESS', 'FAILED'))"
        )
        now = self._db.now
        waits = "state = 'waiting'"
        wake = f"""
            UPDATE node SET
                woken = woken OR state = 'running',
                published = CASE WHEN {waits} THEN 0 ELSE published END,
                ready_at = CASE WHEN {waits} THEN {now} ELSE ready_at END,
                due_at = CASE WHEN {waits} THEN {now} + :redeliver_seconds ELSE due_at END,
                state = CASE WHEN {waits} THEN 'ready' ELSE state END
            WHERE {which} AND (state = 'running' OR {waits} AND hook IS NULL AND {live})
            RETURNING traversal_id, {statements.RELEASED_COLUMNS}"""
        with self._db.write() as connection:
            hold_nodes(connection, self._db, which, values)
            rows = connection.execute(
                text_of(wake), {**values, "redeliver_seconds": self._timings.redeliver_seconds}
            ).all()
            woken = [row for row in rows if row.state == "ready"]
            places = {row.traversal_id: _place_of(connection, row.traversal_id) for row in woken}
        return tuple(order for row in woken for order in self.orders([row], places[row.traversal_id]))


def _place_of(connection: sa.Connection, traversal_id: str) -> AnyRow:
    sql = (
        "SELECT s.id AS stack_id, s.name AS stack, t.id AS traversal_id "
        "FROM stack s JOIN traversal t ON t.stack_id = s.id WHERE t.id = :id"
    )
    return connection.execute(text_of(sql), {"id": traversal_id}).one()


def passes(row: AnyRow) -> bool:
    """Return whether a ready node has nothing to do, and is passed on like a join."""
    return bool(row.quiet) and (row.phase != CONVERGE or not row.changed)


def numbers_of(text: str) -> tuple[int, ...]:
    """Return the numbers of nodes that a column holds as JSON."""
    return () if text == "[]" else tuple(map(int, text[1:-1].split(",")))
