"""Drift on record: what an observation found is written in one transaction, unless an operation came in between."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from hooks.values.dataclass import dataclass
from orchestrator.model.drift import DETECTED, DRIFT, RESOLVED, Finding, Standing
from orchestrator.model.record import Record
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import Query, Row, Values, chunked
from orchestrator.store.stack_events import insert_resource_event
from orchestrator.store.stacks.health import are_quiet
from orchestrator.store.stacks.observation_turns import TurnEnd, end_turn
from orchestrator.store.stacks.stacks import ResourceRow, StackRow


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftRow(Record):
    """A difference on record."""

    resource_id: str
    key: str
    stack_id: str
    root_id: str
    #: The name of the resource, with those of the resources that it is nested in before it, separated by slashes.
    path: str
    type: str
    finding: Finding
    #: When it was found first and last, and by how many observations.
    since: float
    seen_at: float
    times: int
    standing: Standing
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftedResource:
    """A resource with drift, as an observation found it."""

    row: ResourceRow
    path: str
    #: At least one.
    findings: Sequence[Finding]
    standing: Standing
    why: str
    #: The drift in words, without secrets, for events and reasons.
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The results of an observation of a stack and of those nested in it."""

    #: The stacks as they were when their objects were read, the outermost first.
    stacks: Sequence[StackRow]
    drifted: Sequence[DriftedResource]
    #: The ids of the rows whose objects are as recorded.
    sound: Collection[str]
    #: The ids of all rows that there are.
    present: Collection[str]
    #: The repairs of the stack that count, with those that begin now; the drifted that are repaired stand for them.
    repairs: Sequence[tuple[str, float]] = ()


class Overtaken(Exception):
    """An operation has begun since the stacks were read; nothing was recorded."""


_STANDING: Final = "SELECT resource_id FROM drift WHERE stack_id = :stack_id AND standing = :standing"


class Drifts(Repository):
    """Operations on drift."""

    def of_tree(self, root_id: str) -> list[DriftRow]:
        """Return the drift of a stack and of those nested in it, by resource and key."""
        return [self._row(row) for row in self._db.rows(_of_tree(root_id))]

    def of_resource(self, resource_id: str) -> list[DriftRow]:
        """Return the drift of one resource, by key."""
        drift = tables.drift
        rows = self._db.rows(sa.select(drift).where(drift.c.resource_id == resource_id).order_by(drift.c.key))
        return [self._row(row) for row in rows]

    def under_repair(self, stack_id: str) -> frozenset[str]:
        """Return the ids of a stack's rows that its next update compares with their objects, because of drift."""
        rows = self._db.rows(_STANDING, {"stack_id": stack_id, "standing": Standing.REPAIRING.value})
        return frozenset(row.resource_id for row in rows)

    def drifted(self, stack_ids: Sequence[str]) -> frozenset[str]:
        """Return which of some outermost stacks have drift."""
        root_id = tables.drift.c.root_id
        found = [
            self._db.column(sa.select(root_id).distinct().where(root_id.in_(some)))
            for some in chunked(stack_ids)
        ]
        return frozenset(each for some in found for each in some)

    @retrying
    def record(self, end: TurnEnd, observed: Observed) -> bool:
        """Record what an observation found, its events and its repairs, and end its attempt.

        The next update visits the resources whose standing is ``REPAIRING``, and compares them with their objects.
        Returns False, and records nothing, if a newer attempt was begun.

        Raises:
            Overtaken: an operation has begun, or changed the stack.
        """
        root = observed.stacks[0]
        repairs = any(each.standing is Standing.REPAIRING for each in observed.drifted)
        with self._db.timed_write() as (connection, now):
            _hold(connection, observed.stacks)
            is_mine = end_turn(
                connection,
                end,
                now,
                repairs=observed.repairs,
                repair_traversal=root.traversal_id if repairs else None,
            )
            if not is_mine:
                return False
            known: dict[str, dict[str, DriftRow]] = defaultdict(dict)
            for row in connection.execute(_of_tree(root.id)).all():
                found = self._row(row)
                known[found.resource_id][found.key] = found
            traversals = {stack.id: stack.traversal_id for stack in observed.stacks}
            for each in observed.drifted:
                self._write(
                    connection,
                    each,
                    known.get(each.row.id, {}),
                    root_id=root.id,
                    traversal_id=traversals[each.row.stack_id],
                    now=now,
                )
            over = [
                rows
                for row_id, rows in known.items()
                if row_id in observed.sound or row_id not in observed.present
            ]
            _resolve(connection, over, observed.present, traversals, now)
        return True

    def _write(
        self,
        connection: sa.Connection,
        it: DriftedResource,
        known: Mapping[str, DriftRow],
        *,
        root_id: str,
        traversal_id: str,
        now: float,
    ) -> None:
        drift, row = tables.drift, it.row
        gone = known.keys() - {each.key for each in it.findings}
        if gone:
            connection.execute(
                drift.delete().where(drift.c.resource_id == row.id, drift.c.key.in_(sorted(gone)))
            )
        for finding in it.findings:
            before = known.get(finding.key)
            values: dict[str, object] = {
                "finding": self._codec.pack(finding.to_wire(), ("drift", "finding", row.id, finding.key)),
                "seen_at": now,
                "standing": it.standing.value,
                "why": it.why,
            }
            if before is not None:
                mine = (drift.c.resource_id == row.id) & (drift.c.key == finding.key)
                connection.execute(drift.update().where(mine).values(**values, times=before.times + 1))
                continue
            key: Values = {"resource_id": row.id, "key": finding.key, "stack_id": row.stack_id}
            more: Values = {"root_id": root_id, "path": it.path, "type": row.type, "since": now}
            connection.execute(drift.insert().values({**key, **more, **values}))
        was = [known[key].finding for key in sorted(known)]
        stood = {(each.standing, each.why) for each in known.values()}
        if was == sorted(it.findings, key=_key_of) and stood == {(it.standing, it.why)}:
            return
        reason = f"{it.words}; {it.standing.value}"
        event = {"action": DRIFT, "status": DETECTED, "reason": f"{reason}: {it.why}" if it.why else reason}
        insert_resource_event(connection, row, now, traversal_id=traversal_id, **event)

    def _row(self, row: Row) -> DriftRow:
        place = ("drift", "finding", row.resource_id, row.key)
        finding = Finding.of_wire(row.key, self._codec.unpack(row.finding, place))
        return DriftRow.of(row, finding=finding, standing=Standing(row.standing))


def _of_tree(root_id: str) -> Query:
    drift = tables.drift
    return sa.select(drift).where(drift.c.root_id == root_id).order_by(drift.c.path, drift.c.key)


def _key_of(finding: Finding) -> str:
    return finding.key


def _hold(connection: sa.Connection, stacks: Sequence[StackRow]) -> None:
    """Lock the stacks, so that no operation begins before the transaction ends.

    Raises:
        Overtaken: one has another operation, or another status, than when it was read.
    """
    if not are_quiet(connection, stacks):
        raise Overtaken


def _resolve(
    connection: sa.Connection,
    over: Iterable[Mapping[str, DriftRow]],
    present: Collection[str],
    traversals: Mapping[str, str],
    now: float,
) -> None:
    """Remove the drift of resources whose objects are as recorded, or that are resources no more."""
    drift, event = tables.drift, tables.event
    for rows in over:
        first = next(iter(rows.values()))
        connection.execute(drift.delete().where(drift.c.resource_id == first.resource_id))
        # The events of a stack that is gone are gone with it.
        if first.stack_id not in traversals:
            continue
        is_there = first.resource_id in present
        resolved = {
            "at": now,
            "stack_id": first.stack_id,
            "traversal_id": traversals[first.stack_id],
            "resource": first.path.rpartition("/")[2],
            "resource_id": first.resource_id,
            "type": first.type,
            "action": DRIFT,
            "status": RESOLVED,
            "reason": "the object is as recorded" if is_there else "the resource was replaced or deleted",
        }
        connection.execute(event.insert(), resolved)
