"""Batches: several nodes of one traversal, each claimed and fenced by itself, in one transaction."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from orchestrator.model.codec import Codec
from orchestrator.model.messages import CHECKED_PHASES, CheckOrder
from orchestrator.store.database import Database, text_of
from orchestrator.store.direct import Direct
from orchestrator.store.nodes import batch_statements, link_statement, statements
from orchestrator.store.nodes.claiming import NodeClaims
from orchestrator.store.nodes.claims import Claim, Ending, FinishedBatch, Outcome, Taken
from orchestrator.store.nodes.endings import NodeEndings, finished_by, postgres_statement
from orchestrator.store.nodes.failing import held_status
from orchestrator.store.nodes.orders import NodeOrders, passes
from orchestrator.store.repository import Repository, Timings
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import AnyRow, Values

Ended = tuple[Claim, Outcome]


class NodeBatches(Repository):
    """Claims and finishes of several nodes at once; what is not simple is left to those of one node."""

    def __init__(
        self,
        database: Database,
        codec: Codec,
        timings: Timings,
        *,
        claims: NodeClaims,
        endings: NodeEndings,
        orders: NodeOrders,
    ) -> None:
        super().__init__(database, codec, timings)
        self._claims, self._endings, self._orders = claims, endings, orders

    @staticmethod
    def fits(outcome: Outcome) -> bool:
        """Return whether an outcome can be recorded with others: an action that is done, and nothing else."""
        return outcome.ending is Ending.DONE and not outcome.hook

    @retrying
    def claim(self, orders: Sequence[CheckOrder], *, worker: str, types: Collection[str]) -> Taken:
        """Claim those of some ready nodes of one traversal whose resources are free and of these ``types``.

        A node that is not ready, or whose traversal is over, is neither claimed nor left.
        """
        by_number = {order.no: order for order in orders}
        values = self.claim_values(orders[0], by_number, worker=worker, types=types, most=len(by_number))
        with self._db.direct() as direct:
            if self._db.postgres:
                rows = direct.rows(batch_statements.CLAIM.at(self._db.now), values)
            else:
                rows = self.claim_sqlite(direct, values)
        return Taken(
            claims=[self._claims.claim_of(by_number[row.no], row, worker) for row in rows if row.type],
            left=[by_number[row.no] for row in rows if row.type is None],
        )

    @retrying
    def finish(
        self,
        ended: Sequence[Ended],
        *,
        types: Collection[str],
        most: int,
        after: Callable[[Direct], object] | None = None,
    ) -> FinishedBatch:
        """Record actions of one traversal that are done, and claim at most ``most`` of the nodes they made ready.

        The claimed ones are of these ``types``; orders for the others are returned. Safe to repeat, as each finish is:
        a claim whose answer was lost is one of a lost worker. ``after`` is called first, in the same transaction.
        """
        first = ended[0][0]
        every = [(claim, outcome, self._endings.values_of(claim, outcome)) for claim, outcome in ended]
        numbers = sorted({no for claim, _ in ended for no in claim.dependents})
        next_values = self.claim_values(first.order, numbers, worker=first.worker, types=types, most=most)
        if not (most and types):
            next_values["numbers"] = []
        with self._db.direct(statements=2 if after else 1) as direct:
            if after is not None:
                after(direct)
            run = self._finish_postgres if self._db.postgres else self._finish_sqlite
            done, status, released, rows = run(direct, every, next_values)
        claimed = [row for row in rows if row.type]
        taken = {row.no for row in claimed}
        known = {claim.order.no: values["node_data"] for claim, _, values in every if values["node_data"]}
        ready = [row for row in released if row.no not in taken]
        orders = self._orders.orders([*claimed, *ready], first.order, known)
        if status == "SUPERSEDED":
            woken = [
                self._orders.wake_resource(claim.resource_id) for claim, _ in ended if claim.order.no in done
            ]
            orders = (*orders, *(order for each in woken for order in each))
        return FinishedBatch(
            claims=[
                self._claims.claim_of(order, row, first.worker)
                for order, row in zip(orders, claimed, strict=False)
            ],
            ready=orders[len(claimed) :],
            left=[(claim, outcome) for claim, outcome in ended if claim.order.no not in done],
        )

    @retrying
    def give_back(self, claim: Claim) -> tuple[CheckOrder, ...]:
        """Give a claim back whose step was not begun; return the orders for what may be claimed now.

        There is none if it is fenced off. The action of its resource stays recorded as begun, as after a lost worker.
        """
        order = claim.order
        values: dict[str, Any] = {
            "traversal_id": order.traversal_id,
            "no": order.no,
            "attempt": claim.attempt,
            "resource_id": claim.resource_id,
            "redeliver_seconds": self._timings.redeliver_seconds,
        }
        with self._db.write() as connection:
            # A traversal that takes the stack over meanwhile waits, or has done so.
            is_over = held_status(connection, order.traversal_id) == "SUPERSEDED"
            values["state"] = "superseded" if is_over else "ready"
            given = connection.execute(text_of(batch_statements.GIVE_BACK.at(self._db.now)), values)
            if given.rowcount != 1:
                return ()
            connection.execute(text_of(statements.UNLOCK_RESOURCE), values)
        return self._orders.wake_resource(claim.resource_id) if is_over else (order,)

    def claim_values(
        self, place: CheckOrder, numbers: Iterable[int], *, worker: str, types: Collection[str], most: int
    ) -> dict[str, Any]:
        """Return what the statements are about that claim at most ``most`` of these nodes."""
        numbers = sorted(numbers)
        return {
            # As texts, which cost a driver less than lists.
            "asked": ",".join(map(str, numbers)),
            "kinds": "\x1f".join(types),
            "stack_id": place.stack_id,
            "traversal_id": place.traversal_id,
            "numbers": numbers,
            "many": len(numbers),
            "most": most,
            "types": list(types),
            "worker": worker,
            "lease_seconds": self._timings.lease_seconds,
            "locked_seconds": self._timings.locked_seconds,
        }

    def claim_sqlite(self, direct: Direct, values: Mapping[str, Any]) -> list[AnyRow]:
        """Claim nodes; return a row for each that was ready, without a ``type`` where it is not claimed."""
        read = statements.SQLITE_CLAIM_READ.at(self._db.now)
        rows: list[AnyRow] = []
        taken = 0
        for no in values["numbers"]:
            mine = {**values, "no": no}
            for row in direct.rows(read, mine):
                if taken < values["most"] and _fits(row, values["types"]):
                    self._claims.take_sqlite(direct, row, mine)
                    rows.append(row)
                    taken += 1
                else:
                    rows.append(row._replace(type=None))
        return rows

    def _finish_sqlite(
        self, direct: Direct, every: Sequence[tuple[Claim, Outcome, Values]], next_values: Mapping[str, Any]
    ) -> tuple[set[int], str, Sequence[AnyRow], Sequence[AnyRow]]:
        done: set[int] = set()
        status, released = "", list[AnyRow]()
        for claim, outcome, values in every:
            result = self._endings.finish_sqlite(direct, outcome, values)
            if result is not None:
                done.add(claim.order.no)
                status = result[0]
                released += result[1]
        return done, status, released, self.claim_sqlite(direct, next_values)

    def _finish_postgres(
        self, direct: Direct, every: Sequence[tuple[Claim, Outcome, Values]], next_values: Mapping[str, Any]
    ) -> tuple[set[int], str, Sequence[AnyRow], Sequence[AnyRow]]:
        now = self._db.now
        claim, outcome, values = every[0]
        if len(every) == 1 and len(next_values["numbers"]) == 1:
            return self._finish_link(direct, claim, {**next_values, **values})
        calls: list[tuple[str, Values]] = [(postgres_statement(outcome, values).at(now), values)]
        if len(every) > 1:
            calls = [(batch_statements.FINISH.at(now), self._values_of_all(every))]
        if next_values["numbers"]:
            calls.append((batch_statements.CLAIM.at(now), next_values))
        finished, *claimed = direct.together(calls)
        rows = claimed[0] if claimed else ()
        if len(every) == 1:
            alone = finished_by(finished)
            return ({claim.order.no}, *alone, rows) if alone else (set(), "", (), rows)
        done = {int(no) for no in (finished[0].ended or "").split(",") if no}
        return done, finished[0].traversal_status, [row for row in finished if row.no is not None], rows

    def _finish_link(
        self, direct: Direct, claim: Claim, values: Values
    ) -> tuple[set[int], str, Sequence[AnyRow], Sequence[AnyRow]]:
        mine = {**values, "next": claim.dependents[0]}
        rows = direct.rows(link_statement.LINK.at(self._db.now), mine)
        if not rows:
            return set(), "", (), ()
        return {claim.order.no}, rows[0].traversal_status, [row for row in rows if row.released], rows

    def _values_of_all(self, every: Sequence[tuple[Claim, Outcome, Values]]) -> Values:
        pairs = [(no, claim.order.no) for claim, _, _ in every for no in claim.dependents]
        first = every[0][2]
        return {
            **{name: [values[name] for _, _, values in every] for name in batch_statements.FINISHED},
            **{name: first[name] for name in ("stack_id", "traversal_id", "worker", "redeliver_seconds")},
            "many": len(every),
            "nodes": sorted({claim.order.no for claim, _, _ in every} | {no for no, _ in pairs}),
            "dependents": [no for no, _ in pairs],
            "dependents_of": [of for _, of in pairs],
            "many_dependents": len(pairs),
        }


def _fits(row: AnyRow, types: Collection[str]) -> bool:
    """Return whether a ready node can be claimed with others; as ``batch_statements.IN_BATCH``."""
    is_checked = row.phase in CHECKED_PHASES and not passes(row)
    return row.lock_traversal is None and row.type in types and not row.lost and is_checked
