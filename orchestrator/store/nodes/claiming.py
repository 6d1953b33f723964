"""Claims of nodes: one short transaction sets a node to running and locks its resource."""

import functools
import json
from typing import Any, Final

from orchestrator.model.codec import MisplacedValue, UnreadableValue
from orchestrator.model.messages import CheckOrder
from orchestrator.store.direct import Direct
from orchestrator.store.nodes import statements
from orchestrator.store.nodes.claims import Claim
from orchestrator.store.nodes.orders import numbers_of
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import AnyRow, Values

#: How often a claim is tried whose resource is released, or changed by another transaction, at the same moment.
CLAIM_TRIES = 3
#: The packed columns of a claim that are the node's; the others are the resource's.
_OF_NODE: Final = frozenset({"fragment", "wanted", "node_data"})


class NodeClaims(Repository):
    """Claims of ready nodes."""

    @retrying
    def claim(self, order: CheckOrder, *, worker: str) -> Claim | None:
        """Set a ready node to running, lock its resource, and record that its action is in progress.

        None if the node is not ready, its traversal is over, or an older traversal still holds the resource (the node
        then waits, and is woken by the release).
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
            if row is None:
                return None
            if row.type is not None:
                return self.claim_of(order, row, worker)
            # The resource is locked, or has just changed: the node waits for the lock.
            if not self._is_free_again(values):
                return None
        return None

    def _claim_postgres(self, direct: Direct, values: Values) -> AnyRow | None:
        rows = direct.rows(statements.PG_CLAIM.at(self._db.now), values)
        return rows[0] if rows else None

    def _is_free_again(self, values: Values) -> bool:
        """Make a node ready that waits for a resource which is not locked any more; return whether it was so.

        The holder may have released the lock just before the node waited for it, and so woken no node.
        """
        with self._db.direct() as direct:
            return direct.count(statements.PG_READY_IF_FREE.at(self._db.now), values) == 1

    def _claim_sqlite(self, direct: Direct, values: Values) -> AnyRow | None:
        rows = direct.rows(statements.SQLITE_CLAIM_READ.at(self._db.now), values)
        return self.take_sqlite(direct, rows[0], values) if rows else None

    @staticmethod
    def take_sqlite(direct: Direct, row: AnyRow, values: Values) -> AnyRow | None:
        """Claim a ready node that was read; None if its resource is locked, for which the node waits now."""
        free = row.lock_traversal is None
        lease = values["lease_seconds"] if free else values["locked_seconds"]
        changed = {
            **values,
            "state": "running" if free else "waiting",
            "due_at": row.now + lease,
            # Waiting for a lock is no attempt.
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
        event = {
            **changed,
            "resource": row.name,
            "type": row.type,
            "status": "IN_PROGRESS",
            "reason": "",
            "physical_id": row.physical_id,
            "cause": "",
        }
        direct.count(statements.INSERT_EVENT, event)
        return row

    def claim_of(self, order: CheckOrder, row: AnyRow, worker: str) -> Claim:
        """Return the claim that a row of a claiming statement tells of."""
        unreadable: dict[str, bytes] = {}
        misplaced: list[str] = []
        key_of_node = order.no, order.traversal_id

        def read(name: str) -> Any:
            packed: bytes | None = getattr(row, name)
            if packed is None:
                return None
            of_node = name in _OF_NODE
            place = ("node", name, *key_of_node) if of_node else ("resource", name, row.resource_id)
            try:
                return self._codec.unpack(packed, place)
            except UnreadableValue as error:
                # Stored by an older version. The resource can be deleted all the same.
                unreadable[name] = packed
                if isinstance(error, MisplacedValue):
                    misplaced.append(str(error))
                return None

        # A token of another action is kept for the node that continues that action.
        goes_on = (row.was_action, row.was_status) == (row.action, "IN_PROGRESS")
        token = read("token") if goes_on else None
        return Claim(
            order=order,
            attempt=row.attempt,
            worker=worker,
            action=row.action,
            now=row.now,
            retries=row.retries,
            fragment=read("fragment") or {},
            wanted=read("wanted") or (),
            dependents=numbers_of(row.dependents),
            requirements=numbers_of(row.requirements),
            needs=row.needs,
            resource_id=row.resource_id,
            type=row.type,
            physical_id=row.physical_id,
            on_node=row.on_node,
            properties=read("properties"),
            data=read("data") or {},
            metadata=read("metadata"),
            token=token[0] if token else None,
            started=token is not None,
            started_at=row.started_at,
            was=(row.was_action, row.was_status),
            in_flight=token[1] if token else None,
            recorded=read("node_data"),
            requires=_ids(row.requires),
            changed=bool(row.changed),
            planned=row.planned,
            hooks=frozenset(json.loads(row.hooks)) if row.hooks else frozenset(),
            looks=bool(row.looks),
            unreadable=unreadable,
            misplaced=misplaced,
        )


@functools.lru_cache(maxsize=1024)
def _ids(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))
