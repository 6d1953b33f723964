"""Snapshots of stacks: each begins and ends in the transactions of its traversal, and is deleted outside of one."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from hooks.values.dataclass import dataclass
from hooks.values.nearest import did_you_mean
from orchestrator.errors import Conflict, NotFound
from orchestrator.model.codec import Codec, Place, UnreadableSecret, UnreadableValue
from orchestrator.model.messages import OPERATE
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.database import bulk_insert
from orchestrator.store.direct import Direct
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import AnyRow, Query, Values

if TYPE_CHECKING:
    from orchestrator.store.direct import Transaction

#: The snapshot that a traversal takes; most traversals take none. By the stack's id, which has an index.
_BEING_MADE: Final = """
    SELECT id FROM snapshot
    WHERE stack_id = (SELECT traversal.stack_id FROM traversal WHERE traversal.id = :traversal_id)
        AND traversal_id = :traversal_id AND action = 'CREATE' AND status = 'IN_PROGRESS'"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSnapshot:
    """A snapshot that a traversal takes."""

    id: str
    #: Empty, or one that no other snapshot of the stack has.
    name: str
    #: The most snapshots that the stack may have, this one included.
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRow:
    """A snapshot's row; action and status are those of the snapshot itself."""

    id: str
    stack_id: str
    name: str
    action: str
    status: str
    reason: str
    #: The definition that the stack had.
    template_id: str
    #: The traversal that took it.
    traversal_id: str
    created_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One resource in a snapshot."""

    name: str
    type: str
    #: The data that its resource type returned.
    entry: Any
    #: Why these cannot be read, if so; ``entry`` is None then.
    fault: str = ""


def insert_snapshot(
    connection: sa.Connection,
    new: NewSnapshot,
    *,
    stack_id: str,
    traversal_id: str,
    template_id: str,
    now: float,
) -> None:
    """Insert a snapshot in progress, in the transaction that starts its traversal.

    Raises:
        Conflict: the stack has a snapshot of this name, or the most snapshots allowed.
    """
    snapshot = tables.snapshot
    names = (
        connection.execute(sa.select(snapshot.c.name).where(snapshot.c.stack_id == stack_id)).scalars().all()
    )
    if new.name and new.name in names:
        raise Conflict(f"the stack has a snapshot {new.name!r} already; delete it, or choose another name")
    if len(names) >= new.most:
        raise Conflict(
            f"the stack has {len(names)} snapshots, and may have {new.most}; delete one, or raise the setting "
            "max_snapshots_per_stack"
        )
    connection.execute(
        snapshot.insert().values(
            id=new.id,
            stack_id=stack_id,
            name=new.name,
            action="CREATE",
            status="IN_PROGRESS",
            template_id=template_id,
            traversal_id=traversal_id,
            created_at=now,
        )
    )


def complete_snapshot(transaction: Transaction, codec: Codec, traversal_id: str) -> None:
    """Complete a traversal's snapshot with its entries, in the transaction that completes the traversal."""
    _end_snapshot(transaction, codec, traversal_id, status="COMPLETE", reason="")


def fail_snapshot(transaction: Transaction, codec: Codec, traversal_id: str, reason: str) -> None:
    """Fail a traversal's snapshot, if it takes one, in the transaction that ends the traversal.

    The entries so far are kept, so that they can be deleted.
    """
    _end_snapshot(transaction, codec, traversal_id, status="FAILED", reason=reason)


def _end_snapshot(transaction: Transaction, codec: Codec, traversal_id: str, **values: str) -> None:
    direct = Direct.of(transaction)
    made = direct.first(_BEING_MADE, {"traversal_id": traversal_id})
    if made is None:
        return
    snapshot, connection = tables.snapshot, direct.alchemy
    ended = connection.execute(
        snapshot.update()
        .where(snapshot.c.id == made.id, snapshot.c.status == "IN_PROGRESS")
        .values(**values)
        .returning(snapshot.c.id)
    ).scalar_one_or_none()
    if ended is None:
        return
    rows = [
        {
            "snapshot_id": ended,
            "name": row.name,
            "type": row.type,
            "entry": _moved(codec, row, ("snapshot_resource", "entry", ended, row.name)),
        }
        for row in connection.execute(_left_behind(traversal_id))
    ]
    bulk_insert(connection, tables.snapshot_resource, rows)


def _moved(codec: Codec, row: AnyRow, place: Place) -> bytes:
    """Return an entry as it is stored at a place; as it was, which is refused there, where it cannot be read."""
    packed: bytes = row.node_data
    try:
        return codec.packed_again(packed, tables.place_of_node_data(row.no, row.traversal_id), place)
    except (UnreadableSecret, UnreadableValue):
        return packed


def _left_behind(traversal_id: str) -> Query:
    """Return the statement that reads the entries that a traversal has made so far."""
    node, resource = tables.node, tables.resource
    columns = node.c.key.label("name"), resource.c.type, node.c.node_data, node.c.no, node.c.traversal_id
    made = (node.c.phase == OPERATE) & node.c.node_data.is_not(None)
    return (
        sa.select(*columns)
        .join(resource, resource.c.id == node.c.resource_id)
        .where(tables.in_traversal(traversal_id), made)
    )


@functools.cache
def _snapshots() -> str:
    """Return ``SELECT ... FROM snapshot``, with the fields of a :class:`SnapshotRow` as columns."""
    return f"SELECT {', '.join(SnapshotRow.__dataclass_fields__)} FROM snapshot"  # names of ours


class Snapshots(Repository):
    """The snapshot tables' operations that belong to no traversal."""

    def all(self, stack_id: str) -> list[SnapshotRow]:
        """Return a stack's snapshots, oldest first."""
        rows = self._db.rows(
            f"{_snapshots()} WHERE stack_id = :stack_id ORDER BY created_at, id", {"stack_id": stack_id}
        )
        return [self._row(row) for row in rows]

    def find(self, stack_id: str, name_or_id: str) -> SnapshotRow:
        """Return a stack's snapshot by name or id.

        Raises:
            NotFound: there is none; the nearest name is given.
        """
        rows = self.all(stack_id)
        for row in rows:
            if name_or_id in (row.id, row.name):
                return row
        names = [each for row in rows for each in (row.name, row.id) if each]
        hint = did_you_mean(name_or_id, names, "'isotherm stack snapshot list' shows those there are")
        raise NotFound(f"the stack has no snapshot {name_or_id!r}{hint}")

    def by_id(self, snapshot_id: str) -> SnapshotRow | None:
        """Return a snapshot by its id; None if there is none."""
        row = self._db.first(f"{_snapshots()} WHERE id = :id", {"id": snapshot_id})
        return None if row is None else self._row(row)

    @retrying
    def entries(self, row: SnapshotRow) -> list[Entry]:
        """Return the entries of a snapshot; a failed one has those that were finished."""
        held = tables.snapshot_resource
        kept = sa.select(held.c.name, held.c.type, held.c.entry).where(held.c.snapshot_id == row.id)
        entries = {}
        with self._db.read() as connection:
            # Steps that ran when it failed may have finished since.
            for left in connection.execute(_left_behind(row.traversal_id)).all():
                place = tables.place_of_node_data(left.no, left.traversal_id)
                entries[left.name] = self._entry(left, left.node_data, place)
            for each in connection.execute(kept).all():
                place = "snapshot_resource", "entry", row.id, each.name
                entries[each.name] = self._entry(each, each.entry, place)
        return [entries[name] for name in sorted(entries)]

    def _entry(self, row: AnyRow, packed: bytes, place: Place) -> Entry:
        try:
            return Entry(name=row.name, type=row.type, entry=self._codec.unpack(packed, place))
        except UnreadableValue as error:
            return Entry(name=row.name, type=row.type, entry=None, fault=str(error))

    @retrying
    def begin_delete(self, row: SnapshotRow, *, job_id: str) -> None:
        """Mark a snapshot as being deleted, and accept the job.

        Raises:
            Conflict: the snapshot is being taken.
        """
        snapshot, job = tables.snapshot, tables.job
        with self._db.write() as connection:
            marked = connection.execute(
                snapshot.update()
                .where(snapshot.c.id == row.id)
                .where((snapshot.c.action != "CREATE") | (snapshot.c.status != "IN_PROGRESS"))
                .values(action="DELETE", status="IN_PROGRESS", reason="")
            )
            exists = sa.select(snapshot.c.id).where(snapshot.c.id == row.id)
            if marked.rowcount != 1 and connection.execute(exists).first() is not None:
                raise Conflict(
                    f"snapshot {row.name or row.id!r} is being made; cancel that, or wait until it is over"
                )
            if connection.execute(sa.select(job.c.id).where(job.c.id == job_id)).first() is None:
                now = connection.execute(sa.text(f"SELECT {self._db.now}")).scalar_one()
                accepted = {"id": job_id, "stack_id": row.stack_id, "status": "accepted", "created_at": now}
                connection.execute(job.insert().values(**accepted))

    @retrying
    def forget(self, snapshot_id: str) -> None:
        """Remove a snapshot and its entries. Safe to repeat."""
        with self._db.write() as connection:
            held = tables.snapshot_resource
            connection.execute(held.delete().where(held.c.snapshot_id == snapshot_id))
            connection.execute(tables.snapshot.delete().where(tables.snapshot.c.id == snapshot_id))

    def fail_delete(self, snapshot_id: str, reason: str) -> None:
        """Record why the deletion of a snapshot failed; it can be tried again."""
        values: Values = {"action": "DELETE", "status": "FAILED", "reason": reason}
        self._db.change(tables.snapshot.update().where(tables.snapshot.c.id == snapshot_id).values(**values))

    def _row(self, row: AnyRow) -> SnapshotRow:
        return SnapshotRow(**row._asdict() | {"reason": self._db.seal.opened(row.reason)})
