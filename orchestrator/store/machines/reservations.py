"""Capacity reservations: how much of each machine is reserved, and by which stack.

A reservation is *pending* while the operation that made it may still use it, and lapses when it expires. It is
*confirmed*, and stays, once the operation is over and the resource exists. Each is the whole amount that a resource
takes on a machine, so for one resource on one machine the largest of its reservations counts. The caller decides
whether there is room, under the lock of the machines.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

import sqlalchemy as sa

from hooks.lifecycle import REFUSED
from hooks.values.dataclass import dataclass
from orchestrator.model.names import membership
from orchestrator.model.record import Record
from orchestrator.store import tables
from orchestrator.store.database import database_time
from orchestrator.store.machines.settlement import KEY, Existing, Settled, settled
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import chunked
from orchestrator.store.traversals.operation_rows import ENTERING, OVER

#: The kind of a resource's presence on a machine; its amount is 0.
PRESENCE: Final = "presence"

#: How long a reservation outlives its operation, so that it does not lapse before it is settled.
MARGIN_SECONDS: Final = 3600.0

#: Amounts by kind, by resource and machine.
Amounts = Mapping[tuple[str, str], Mapping[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """The reservations on some machines at one moment."""

    #: The reserved amounts, by machine and kind.
    totals: Mapping[tuple[str, str], int] = field(default_factory=dict)
    #: The part of them that is pending, by machine and kind.
    pending: Mapping[tuple[str, str], int] = field(default_factory=dict)
    #: The amounts of the reading stack's own resources, by resource and machine.
    own: Amounts = field(default_factory=dict)
    #: The machine of each member in other stacks, by the kind of the membership.
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Why nothing is placed on a machine, by machine; those in use are left out.
    drained: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewReservation:
    """The reservation of an operation, made as a whole or not at all."""

    operation_id: str
    stack_id: str
    amounts: Amounts
    #: How long it holds, unless the operation is over earlier.
    seconds: float
    #: The row ids of other stacks' placement groups that it respects; they are locked, so that none joins meanwhile.
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow(Record):
    """A placement group."""

    id: str
    stack_id: str
    name: str
    #: The properties that were applied last.
    properties: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The kind of its memberships."""
        return membership(self.stack_id, self.name)


def _whole(amounts: Mapping[str, int]) -> dict[str, int]:
    """Return amounts as they are stored, with the presence on the machine."""
    return {PRESENCE: 0, **amounts}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Others:
    #: The ids of those that may still use their reservations.
    under_way: frozenset[str]
    #: Whether a younger one has begun.
    has_younger: bool


class Reservations(Repository):
    """The reservation table's operations: reserve, confirm and release."""

    @retrying
    def promised(
        self, nodes: Iterable[str], *, stack_id: str, operation_id: str = "", kinds: Iterable[str] = ()
    ) -> Promised:
        """Return the reservations on some machines, without those of ``operation_id``.

        ``kinds`` are the memberships whose members in other stacks are returned, on any machine.
        """
        with self._db.read() as connection:
            now = database_time(connection, self._db)
            return _Reading(connection, now, stack_id, operation_id).promised(sorted(nodes), kinds)

    @retrying
    def reserve(
        self, new: NewReservation, *, fits: Callable[[Promised], bool], kinds: Iterable[str] = ()
    ) -> bool:
        """Reserve room, replacing what the same operation reserved before; False if it does not fit.

        ``fits`` decides, under the locks of the machines, by the reservations there without those of the operation;
        ``kinds`` are as of :meth:`promised`.
        """
        nodes = sorted({node for _, node in new.amounts})
        with self._db.write() as connection:
            self._lock(connection, nodes, new.groups)
            now = database_time(connection, self._db)
            reading = _Reading(connection, now, new.stack_id, new.operation_id)
            has_room = fits(reading.promised(nodes, kinds))
            if has_room:
                self._write(connection, new, nodes, now)
        return has_room

    @retrying
    def settle(
        self,
        operation_id: str,
        stack_id: str,
        *,
        wanted: Mapping[str, Mapping[str, int]] | None,
        began: bool,
    ) -> bool:
        """Confirm the reservations of a finished operation for resources that exist, and release the others.

        Safe to repeat; returns whether anything changed.

        ``wanted`` are the amounts that each resource takes from now on, by name, if it is the only one of its name;
        None if they are not known, because the operation failed. ``began``: whether the operation ever began.
        """
        reservation, resource = tables.reservation, tables.resource
        existing = sa.select(resource.c.name, resource.c.on_node, resource.c.status)
        stack = sa.select(tables.stack.c.id).where(tables.stack.c.id == stack_id).with_for_update()
        with self._db.write() as connection:
            # One at a time: several operations on one stack may end at the same moment.
            connection.execute(stack).all()
            now = database_time(connection, self._db)
            of_stack = sa.select(reservation).where(reservation.c.stack_id == stack_id)
            mine = connection.execute(of_stack.order_by(*reservation.primary_key)).all()
            rows = connection.execute(
                existing.where(resource.c.stack_id == stack_id, ~tables.is_gone())
            ).all()
            others = self._others(connection, stack_id, operation_id, began=began)
            known = None if wanted is None or others.has_younger else wanted
            found = settled(
                [dict(row._mapping) for row in mine],
                [Existing(name=row.name, on_node=row.on_node or "", status=row.status) for row in rows],
                operation_id=operation_id,
                wanted=None if known is None else {name: _whole(each) for name, each in known.items()},
                began=began,
                under_way=others.under_way,
            )
            self._settle(connection, stack_id, found, now)
        return bool(found.deleted or found.promised)

    def settle_left_over(self) -> list[str]:
        """Settle reservations whose operations must be over, and those of deleted stacks; return the stacks' ids.

        It is for settlements that failed or were lost, and runs well before the reservations lapse.
        """
        # For no operation: those under way keep their reservations.
        return [each for each in self._left_over() if self.settle("", each, wanted=None, began=True)]

    def _left_over(self) -> list[str]:
        reservation, stack = tables.reservation, tables.stack
        exists = sa.exists().where(stack.c.id == reservation.c.stack_id, stack.c.deleted_at.is_(None))
        late = sa.or_(reservation.c.expires_at <= self._db.time() + MARGIN_SECONDS / 2, ~exists)
        sql = sa.select(reservation.c.stack_id).where(late).distinct()
        return list(self._db.column(sql.order_by(reservation.c.stack_id)))

    def groups(self, ids: Sequence[str], *, project: str, kind: str) -> dict[str, GroupRow]:
        """Return a project's placement groups with these ids, by id; ``kind`` is their resource type."""
        resource, stack = tables.resource, tables.stack
        sql = (
            sa.select(resource.c.id, resource.c.stack_id, resource.c.name, resource.c.properties)
            .join(stack, stack.c.id == resource.c.stack_id)
            .where(stack.c.project == project, resource.c.type == kind, ~tables.is_gone())
        )
        found: dict[str, GroupRow] = {}
        for some in chunked(ids):
            for row in self._db.rows(sql.where(resource.c.id.in_(some))):
                place = "resource", "properties", row.id
                properties = {} if row.properties is None else self._codec.unpack(row.properties, place)
                found[row.id] = GroupRow.of(row, properties=properties)
        return found

    def names_on(self, nodes: Sequence[str]) -> frozenset[str]:
        """Return the names that resources on some machines have there: their rows' ids, or names of their own."""
        resource = tables.resource
        # The resources of an abandoned stack still exist, but are not ours any more.
        found: set[str] = set()
        sql = sa.select(resource.c.id, resource.c.physical_id).where(~tables.is_gone())
        for some in chunked(nodes):
            for row in self._db.rows(sql.where(resource.c.on_node.in_(some))):
                found |= {row.id, (row.physical_id or "").rpartition("/")[2]}
        return frozenset(found - {""})

    @staticmethod
    def _lock(connection: sa.Connection, nodes: Sequence[str], groups: Sequence[str]) -> None:
        """Lock machines and placement groups until the transaction ends.

        Groups are always locked first, by id, and then machines, by name, so that no two transactions deadlock.
        """
        for key, names in ((tables.resource.c.id, sorted(set(groups))), (tables.machine.c.name, nodes)):
            for some in chunked(names):
                held = sa.select(key).where(key.in_(some)).order_by(key)
                connection.execute(held.with_for_update()).all()

    @staticmethod
    def _write(connection: sa.Connection, new: NewReservation, nodes: Sequence[str], now: float) -> None:
        reservation = tables.reservation
        connection.execute(reservation.delete().where(reservation.c.operation_id == new.operation_id))
        for some in chunked(nodes):
            void = reservation.c.node.in_(some) & (reservation.c.expires_at <= now)
            connection.execute(reservation.delete().where(void))
        rows = [
            {
                "stack_id": new.stack_id,
                "resource": resource,
                "node": node,
                "kind": kind,
                "operation_id": new.operation_id,
                "amount": amount,
                "expires_at": now + new.seconds,
                "created_at": now,
            }
            for (resource, node), amounts in sorted(new.amounts.items())
            for kind, amount in sorted(_whole(amounts).items())
        ]
        if rows:
            connection.execute(reservation.insert(), rows)

    @staticmethod
    def _others(connection: sa.Connection, stack_id: str, operation_id: str, *, began: bool) -> "_Others":
        """Return the other operations of a stack, as far as they matter when this one is settled.

        Settlements may run in any order, so the order of the operations counts: one that began supersedes the older
        ones, and its ``wanted`` amounts are outdated once a younger one has begun.
        """
        operation = tables.operation
        mine = sa.select(operation.c.created_at).where(operation.c.id == operation_id)
        since = connection.execute(mine).scalar_one_or_none() or 0.0
        columns = (operation.c.id, operation.c.created_at, operation.c.state, operation.c.outcome)
        of_stack = (operation.c.stack_id == stack_id) & (operation.c.id != operation_id)
        matters = (operation.c.state != OVER) | (operation.c.created_at > since)
        others = connection.execute(sa.select(*columns).where(of_stack, matters)).all()
        return _Others(
            under_way=frozenset(
                row.id for row in others if row.state != OVER and not (began and row.created_at < since)
            ),
            has_younger=any(
                row.created_at > since and row.state != ENTERING and row.outcome != REFUSED for row in others
            ),
        )

    @staticmethod
    def _settle(connection: sa.Connection, stack_id: str, found: Settled, now: float) -> None:
        reservation = tables.reservation
        if found.deleted:
            where = [reservation.c[name] == sa.bindparam(f"its_{name}") for name in KEY]
            gone = reservation.delete().where(reservation.c.stack_id == stack_id, *where)
            keys = [{f"its_{name}": value for name, value in key.items()} for key in found.deleted]
            connection.execute(gone, keys)
        if found.promised:
            rows = [
                {**row, "stack_id": stack_id, "expires_at": None, "created_at": now} for row in found.promised
            ]
            connection.execute(reservation.insert(), rows)


def _exists() -> sa.ColumnElement[bool]:
    """Return the condition that the resource of a reservation exists on its machine.

    The room of a resource that is gone is free from then on, also before the operation that deleted it is settled.
    """
    reservation, resource = tables.reservation, tables.resource
    return sa.exists().where(
        resource.c.stack_id == reservation.c.stack_id,
        resource.c.name == reservation.c.resource,
        resource.c.on_node == reservation.c.node,
        ~tables.is_gone(),
    )


class _Reading:
    def __init__(self, connection: sa.Connection, now: float, stack_id: str, operation_id: str) -> None:
        self._connection, self._stack_id = connection, stack_id
        reservation = tables.reservation
        stands = sa.or_(reservation.c.expires_at > now, reservation.c.expires_at.is_(None) & _exists())
        # Confirmed reservations have no operation id.
        is_mine = reservation.c.operation_id == operation_id if operation_id else sa.false()
        self._counts = stands & ~is_mine

    def promised(self, nodes: Sequence[str], kinds: Iterable[str]) -> Promised:
        totals: dict[tuple[str, str], int] = {}
        pending: dict[tuple[str, str], int] = {}
        drained: dict[str, str] = {}
        for some in chunked(nodes):
            totals |= self._totals(some, sa.true())
            pending |= self._totals(some, tables.reservation.c.operation_id != "")
            drained |= self._drained(some)
        return Promised(
            totals=totals, pending=pending, own=self._own(), members=self._members(kinds), drained=drained
        )

    def _totals(self, nodes: Sequence[str], also: sa.ColumnElement[bool]) -> dict[tuple[str, str], int]:
        reservation = tables.reservation
        each = (
            sa.select(
                reservation.c.node, reservation.c.kind, sa.func.max(reservation.c.amount).label("amount")
            )
            .where(reservation.c.node.in_(nodes), reservation.c.amount > 0, self._counts, also)
            .group_by(reservation.c.stack_id, reservation.c.resource, reservation.c.node, reservation.c.kind)
            .subquery()
        )
        sql = sa.select(each.c.node, each.c.kind, sa.func.sum(each.c.amount)).group_by(
            each.c.node, each.c.kind
        )
        return {(node, kind): int(amount) for node, kind, amount in self._connection.execute(sql)}

    def _own(self) -> dict[tuple[str, str], dict[str, int]]:
        reservation = tables.reservation
        sql = sa.select(reservation).where(reservation.c.stack_id == self._stack_id, self._counts)
        own: dict[tuple[str, str], dict[str, int]] = {}
        for row in self._connection.execute(sql):
            amounts = own.setdefault((row.resource, row.node), {})
            amounts[row.kind] = max(row.amount, amounts.get(row.kind, 0))
        return own

    def _members(self, kinds: Iterable[str]) -> dict[str, tuple[str, ...]]:
        reservation = tables.reservation
        members: dict[str, list[str]] = {}
        wanted = sorted(set(kinds))
        if not wanted:
            return {}
        sql = (
            sa.select(reservation.c.kind, reservation.c.stack_id, reservation.c.resource, reservation.c.node)
            .distinct()
            .where(reservation.c.kind.in_(wanted), reservation.c.stack_id != self._stack_id, self._counts)
        )
        for row in self._connection.execute(sql):
            members.setdefault(row.kind, []).append(row.node)
        return {kind: tuple(sorted(nodes)) for kind, nodes in members.items()}

    def _drained(self, nodes: Sequence[str]) -> dict[str, str]:
        machine = tables.machine
        sql = sa.select(machine.c.name, machine.c.drain_reason).where(
            machine.c.name.in_(nodes), machine.c.drained_at.is_not(None)
        )
        return {
            name: f"it is drained{f': {reason}' if reason else ''}"
            for name, reason in self._connection.execute(sql)
        }
