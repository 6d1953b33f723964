"""The ledger of what of nodes' capacity is promised to whom.

A *claim* says how much a resource may take on a node if the operation that made it is carried through: what it takes
there already included. It is void once it expires, and becomes a *promise* that stays when the operation is over and
the resource is there. Of one resource on one node, the largest of both counts: several operations that came one after
the other never need it several times. Whether there is room is decided by who claims, under the lock of the machines.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import sqlalchemy as sa

from hooks.lifecycle import REFUSED
from orchestrator.model.codec import Codec
from orchestrator.store import tables
from orchestrator.store.database import Database, database_time, retrying
from orchestrator.store.machines.settlement import KEY, Settled, There, settled
from orchestrator.store.traversals.operation_rows import ENTERING, OVER

#: The kind of what only is on a node; of nothing, in amount.
PRESENCE: Final = "presence"
#: The kinds of memberships in placement groups begin so; of nothing, in amount.
GROUP: Final = "group:"

#: A claim outlives the operation that made it by this: nobody else gets the room before it is settled.
MARGIN_SECONDS: Final = 3600.0

#: How many names one statement looks for.
_AT_ONCE: Final = 500

#: By resource and node, how much of what.
Amounts = Mapping[tuple[str, str], Mapping[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """What is on record of some nodes at one moment."""

    #: By node and kind, what claims and promises come to.
    totals: Mapping[tuple[str, str], int] = field(default_factory=dict)
    #: The same of claims alone: of what may not be there yet.
    claims: Mapping[tuple[str, str], int] = field(default_factory=dict)
    #: Of the stack that asks: what its resources are promised or have claimed, by resource and node.
    own: Amounts = field(default_factory=dict)
    #: By the kind of a membership, the node of each member in other stacks.
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: By node, why nothing more is put there; those that are in use are not here.
    drained: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewClaim:
    """What an operation claims, all of it or nothing."""

    operation_id: str
    stack_id: str
    amounts: Amounts
    #: How long it holds, unless the operation is over before.
    seconds: float
    #: Placement groups of other stacks that it minds, by their rows' ids: nobody else joins them at the same time.
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """A placement group that is there."""

    id: str
    stack_id: str
    name: str
    #: As they were last applied.
    properties: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The kind of its memberships."""
        return membership(self.stack_id, self.name)


def membership(stack_id: str, group: str) -> str:
    """Return the kind of the memberships in a stack's group."""
    return f"{GROUP}{stack_id}:{group}"


def _whole(amounts: Mapping[str, int]) -> dict[str, int]:
    """Return amounts as they are on record: what asks for nothing is on its node all the same."""
    return {PRESENCE: 0, **amounts}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Others:
    """The operations on a stack besides one that is over."""

    #: Those that may still bring about what they claimed.
    under_way: frozenset[str]
    #: Whether a younger one has begun.
    has_younger: bool


class _NoRoom(Exception):
    """Ends the transaction of a claim for which there is no room."""


class Reservations:
    """Claims room on nodes, confirms and gives it up."""

    def __init__(self, database: Database, codec: Codec) -> None:
        self._db = database
        self._codec = codec

    @retrying
    def promised(
        self, nodes: Iterable[str], *, stack_id: str, operation_id: str = "", kinds: Iterable[str] = ()
    ) -> Promised:
        """Return what is on record of some nodes, but for what an operation has claimed itself.

        ``kinds`` are the memberships whose members in other stacks are asked for, on whatever node they are.
        """
        with self._db.read() as connection:
            now = database_time(connection, self._db)
            return _Reading(connection, now, stack_id, operation_id).promised(sorted(nodes), kinds)

    @retrying
    def totals(self, nodes: Iterable[str]) -> Mapping[tuple[str, str], int]:
        """Return what claims and promises on some nodes come to, by node and kind."""
        with self._db.read() as connection:
            now = database_time(connection, self._db)
            return _Reading(connection, now, "", "").promised(sorted(nodes), ()).totals

    @retrying
    def claim(self, new: NewClaim, *, fits: Callable[[Promised], bool], kinds: Iterable[str] = ()) -> bool:
        """Claim room, in the place of what the same operation claimed before; False if it does not fit any more.

        Args:
            new: What is claimed. Its nodes must be on record.
            fits: Told, under the locks of the machines, what is on record of them without this claim: decides.
            kinds: As of :meth:`promised`.
        """
        nodes = sorted({node for _, node in new.amounts})
        try:
            with self._db.write() as connection:
                self._lock(connection, nodes, new.groups)
                now = database_time(connection, self._db)
                reading = _Reading(connection, now, new.stack_id, new.operation_id)
                if not fits(reading.promised(nodes, kinds)):
                    raise _NoRoom
                self._write(connection, new, nodes, now)
        except _NoRoom:
            return False
        return True

    @retrying
    def settle(
        self,
        operation_id: str,
        stack_id: str,
        *,
        wanted: Mapping[str, Mapping[str, int]] | None,
        began: bool,
    ) -> bool:
        """Give up what an operation, which is over, claimed for nothing, and promise the rest to what is there.

        Safe to repeat; tells whether there was anything to do.

        Args:
            operation_id: The operation's.
            stack_id: Its stack's.
            wanted: What each resource that is there takes from now on, by name, if it is alone of its name; None where
                nobody knows, because the operation failed.
            began: Whether the operation ever began; if not, nothing came of it.
        """
        reservation, resource = tables.reservation, tables.resource
        gone = tables.is_gone()
        there = sa.select(resource.c.name, resource.c.on_node, resource.c.status)
        stack = sa.select(tables.stack.c.id).where(tables.stack.c.id == stack_id).with_for_update()
        with self._db.write() as connection:
            # One at a time: operations on one stack may be over at the same moment.
            connection.execute(stack).all()
            now = database_time(connection, self._db)
            of_stack = sa.select(reservation).where(reservation.c.stack_id == stack_id)
            mine = connection.execute(of_stack.order_by(*reservation.primary_key)).all()
            rows = connection.execute(there.where(resource.c.stack_id == stack_id, ~gone)).all()
            others = self._others(connection, stack_id, operation_id, began=began)
            known = None if wanted is None or others.has_younger else wanted
            found = settled(
                [dict(row._mapping) for row in mine],
                [There(name=row.name, on_node=row.on_node or "", status=row.status) for row in rows],
                operation_id=operation_id,
                wanted=None if known is None else {name: _whole(each) for name, each in known.items()},
                began=began,
                under_way=others.under_way,
            )
            self._settle(connection, stack_id, found, now)
        return bool(found.deleted or found.promised)

    def settle_left_over(self) -> list[str]:
        """Settle what nobody was told to settle, or failed to, long before it is void; return the stacks' ids.

        That is what was claimed by operations that must be over by now, and all that stacks have which are gone.
        """
        # Of no operation: those that are under way keep what they claimed.
        return [each for each in self._left_over() if self.settle("", each, wanted=None, began=True)]

    @retrying
    def _left_over(self) -> list[str]:
        reservation, stack = tables.reservation, tables.stack
        there = sa.exists().where(stack.c.id == reservation.c.stack_id, stack.c.deleted_at.is_(None))
        with self._db.read() as connection:
            soon = database_time(connection, self._db) + MARGIN_SECONDS / 2
            late = sa.or_(reservation.c.expires_at <= soon, ~there)
            sql = sa.select(reservation.c.stack_id).where(late).distinct()
            return list(connection.execute(sql.order_by(reservation.c.stack_id)).scalars())

    @retrying
    def groups(self, ids: Sequence[str], *, project: str, kind: str) -> dict[str, GroupRow]:
        """Return a project's placement groups with these ids, as templates name them, by id.

        ``kind`` is the name of the resource type that groups have.
        """
        resource, stack = tables.resource, tables.stack
        gone = tables.is_gone()
        sql = (
            sa.select(resource.c.id, resource.c.stack_id, resource.c.name, resource.c.properties)
            .join(stack, stack.c.id == resource.c.stack_id)
            .where(stack.c.project == project, resource.c.type == kind, ~gone)
        )
        found: dict[str, GroupRow] = {}
        with self._db.read() as connection:
            for start in range(0, len(ids), _AT_ONCE):
                some = resource.c.id.in_(ids[start : start + _AT_ONCE])
                for row in connection.execute(sql.where(some)):
                    packed = row.properties
                    found[row.id] = GroupRow(
                        id=row.id,
                        stack_id=row.stack_id,
                        name=row.name,
                        properties={} if packed is None else self._codec.unpack(packed),
                    )
        return found

    @retrying
    def names_on(self, nodes: Sequence[str]) -> frozenset[str]:
        """Return what the resources that are on some nodes are called there: their rows' ids, or names of their own."""
        resource = tables.resource
        # What was given up with its stack may still be there, and is in the ledger no more.
        gone = tables.is_gone()
        found: set[str] = set()
        with self._db.read() as connection:
            for start in range(0, len(nodes), _AT_ONCE):
                on = resource.c.on_node.in_(nodes[start : start + _AT_ONCE])
                rows = connection.execute(sa.select(resource.c.id, resource.c.physical_id).where(on, ~gone))
                found |= {
                    name for row in rows for name in (row.id, (row.physical_id or "").rpartition("/")[2])
                }
        return frozenset(found - {""})

    # -- within a transaction ----------------------------------------------------------------------------------

    @staticmethod
    def _lock(connection: sa.Connection, nodes: Sequence[str], groups: Sequence[str]) -> None:
        """Keep all others that claim room on these nodes, or mind these groups, waiting until the transaction ends.

        Everybody locks groups first, by id, and then machines, by name: nobody waits for who waits for him.
        """
        for key, names in ((tables.resource.c.id, sorted(set(groups))), (tables.machine.c.name, nodes)):
            for start in range(0, len(names), _AT_ONCE):
                some = sa.select(key).where(key.in_(names[start : start + _AT_ONCE]))
                connection.execute(some.order_by(key).with_for_update()).all()

    @staticmethod
    def _write(connection: sa.Connection, new: NewClaim, nodes: Sequence[str], now: float) -> None:
        reservation = tables.reservation
        connection.execute(reservation.delete().where(reservation.c.operation_id == new.operation_id))
        for start in range(0, len(nodes), _AT_ONCE):
            void = reservation.c.node.in_(nodes[start : start + _AT_ONCE]) & (reservation.c.expires_at <= now)
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
        """Return what a stack's other operations mean to the end of this one.

        Operations may be told of their ends in any order, so that it counts which of them came first: one that began
        supersedes the older ones, and what it was to be is outdated once a younger one began.
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


class _Reading:
    """Reads the ledger on one connection, for one stack and one of its operations."""

    def __init__(self, connection: sa.Connection, now: float, stack_id: str, operation_id: str) -> None:
        self._connection, self._stack_id = connection, stack_id
        reservation = tables.reservation
        stands = sa.or_(reservation.c.expires_at.is_(None), reservation.c.expires_at > now)
        # The empty one is that of promises.
        is_mine = reservation.c.operation_id == operation_id if operation_id else sa.false()
        self._counts = stands & ~is_mine

    def promised(self, nodes: Sequence[str], kinds: Iterable[str]) -> Promised:
        totals: dict[tuple[str, str], int] = {}
        claims: dict[tuple[str, str], int] = {}
        drained: dict[str, str] = {}
        for start in range(0, len(nodes), _AT_ONCE):
            some = nodes[start : start + _AT_ONCE]
            totals |= self._totals(some, sa.true())
            claims |= self._totals(some, tables.reservation.c.operation_id != "")
            drained |= self._drained(some)
        return Promised(
            totals=totals, claims=claims, own=self._own(), members=self._members(kinds), drained=drained
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
