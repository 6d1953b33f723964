"""Machines with agents: the last report of each agent, whether the machine is drained, and its residents."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from orchestrator.store import tables
from orchestrator.store.database import database_time
from orchestrator.store.machines.lost_nodes import lose_residents
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import AnyRow, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineReport:
    """The report of an agent about its machine."""

    name: str
    incarnation: str
    boot_id: str
    #: Labels, hypervisors, storage units, totals and reserved amounts; plain JSON types.
    report: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineRow:
    """A machine; times are seconds since the epoch by the database's clock."""

    name: str
    #: As in :class:`MachineReport`.
    report: Mapping[str, Any]
    incarnation: str
    #: The last boot that was handled; the agent may have reported a later one.
    boot_id: str
    #: When the last report was received.
    seen_at: float
    #: When a coordinator last watched it; 0 for never.
    watched_at: float
    #: Since when it is drained (nothing is placed on it), and why; None if it is in use.
    drained_at: float | None
    drain_reason: str
    created_at: float
    #: The time of this read.
    now: float

    @property
    def is_drained(self) -> bool:
        """Whether it is drained."""
        return self.drained_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class StackOnMachine:
    """A stack with resources on a machine, those of nested stacks included."""

    id: str
    name: str
    project: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """A resource on a machine."""

    #: The row's id, which is also the name of the instance or volume on the machine.
    id: str
    name: str
    type: str
    #: The name and id of its stack, which may be nested, and its project.
    stack: str
    stack_id: str
    project: str
    action: str
    status: str
    physical_id: str | None


_NOTE = sa.text(
    "INSERT INTO machine (name, said, incarnation, boot_id, seen_at, created_at) "
    "VALUES (:name, :said, :incarnation, :boot_id, :now, :now) "
    "ON CONFLICT (name) DO UPDATE "
    "SET said = excluded.said, incarnation = excluded.incarnation, seen_at = excluded.seen_at"
)


class Machines(Repository):
    """The rows of machines, by name."""

    @retrying
    def note(self, reports: Iterable[MachineReport]) -> None:
        """Record reports of agents; the machine of a first report becomes known.

        The boot id of a known machine changes only by :meth:`booted`, because the process that receives the report of a
        boot may die before it has handled the boot.
        """
        rows = [
            {
                "name": each.name,
                "said": json.dumps(dict(each.report), sort_keys=True),
                "incarnation": each.incarnation,
                "boot_id": each.boot_id,
            }
            # In one order, so that concurrent writers cannot deadlock.
            for each in sorted(reports, key=lambda each: each.name)
        ]
        if not rows:
            return
        with self._db.timed_write() as (connection, now):
            connection.execute(_NOTE, [{**row, "now": now} for row in rows])

    def booted(self, name: str, boot_id: str) -> None:
        """Record that a boot was handled."""
        machine = tables.machine
        self._db.change(machine.update().where(machine.c.name == name).values(boot_id=boot_id))

    def all(self) -> list[MachineRow]:
        """Return every machine, by name."""
        machine = tables.machine
        rows = self._db.rows(self._select().order_by(machine.c.name))
        return [_machine(row) for row in rows]

    def find(self, name: str) -> MachineRow | None:
        """Return one machine; None if there is none of this name."""
        row = self._db.first(self._select().where(tables.machine.c.name == name))
        return None if row is None else _machine(row)

    @retrying
    def drain(self, name: str, reason: str) -> bool:
        """Drain a machine, so that nothing is placed on it; False if there is none of this name.

        A machine that is drained already keeps the time, and gets the new reason.
        """
        machine = tables.machine
        with self._db.timed_write() as (connection, now):
            values = {"drained_at": sa.func.coalesce(machine.c.drained_at, now), "drain_reason": reason}
            drained = connection.execute(machine.update().where(machine.c.name == name).values(values))
            return drained.rowcount == 1

    def undrain(self, name: str) -> bool:
        """Put a drained machine back in use; False if there is none of this name."""
        machine = tables.machine
        values = {"drained_at": None, "drain_reason": ""}
        return self._db.change(machine.update().where(machine.c.name == name).values(values)) == 1

    @retrying
    def forget(self, name: str, *, lost: bool = False) -> str:
        """Remove a machine without residents and reservations; return why that is refused, or empty if it is done.

        Its agent must not run any more, or its next report makes the machine known again. With ``lost``, its residents
        are marked as lost with it (:func:`~orchestrator.store.machines.lost_nodes.lose_residents`).
        """
        machine, reservation = tables.machine, tables.reservation
        with self._db.write() as connection:
            # A reservation locks the machine's row too, so that none is missed here.
            connection.execute(
                sa.select(machine.c.name).where(machine.c.name == name).with_for_update()
            ).all()
            now = database_time(connection, self._db)
            # Confirmed reservations are void, as nothing is there; a pending one may be of a resource being made there.
            pending = (reservation.c.node == name) & (reservation.c.expires_at > now)
            claims = sa.select(reservation.c.resource).where(pending)
            found = None if lost else connection.execute(self._residents(name).limit(1)).first()
            if found is not None:
                return f"resource {found.name!r} of stack {found.stack!r} is on it"
            claimed = connection.execute(claims.limit(1)).scalar()
            if claimed is not None:
                return f"room on it is claimed for resource {claimed!r}"
            if lost and (hindrance := lose_residents(connection, name, now)):
                return hindrance
            connection.execute(reservation.delete().where(reservation.c.node == name))
            connection.execute(machine.delete().where(machine.c.name == name))
        return ""

    @retrying
    def claim_to_watch(self, *, every_seconds: float, limit: int) -> list[MachineRow]:
        """Return machines that no coordinator has watched for so long, longest first; one of many callers gets each."""
        machine = tables.machine
        with self._db.timed_write() as (connection, now):
            due = (
                sa.select(machine.c.name)
                .where(machine.c.watched_at <= now - every_seconds)
                .order_by(machine.c.watched_at, machine.c.name)
                .limit(limit)
                # A locked row is being claimed by another process; SQLite has one writer at a time.
                .with_for_update(skip_locked=True)
            )
            names = list(connection.execute(due).scalars())
            if names:
                connection.execute(machine.update().where(machine.c.name.in_(names)).values(watched_at=now))
            rows = connection.execute(self._select().where(machine.c.name.in_(names))).all()
        by_name = {row.name: _machine(row) for row in rows}
        return [by_name[name] for name in names]

    def stacks_on(self, name: str) -> list[StackOnMachine]:
        """Return the outermost stacks with resources on a machine, sorted by name."""
        resource, inner, outer = tables.resource, tables.stack, tables.stack.alias()
        sql = (
            sa.select(outer.c.id, outer.c.name, outer.c.project)
            .distinct()
            .select_from(resource)
            .join(inner, inner.c.id == resource.c.stack_id)
            .join(outer, outer.c.id == inner.c.root_id)
            .where(_is_on(name), outer.c.deleted_at.is_(None))
            .order_by(outer.c.name, outer.c.id)
        )
        return [StackOnMachine(**row._mapping) for row in self._db.rows(sql)]

    def is_looked_at_since(self, name: str, at: float) -> bool:
        """Return whether every resource on a machine was made, changed or checked since a time."""
        resource, stack = tables.resource, tables.stack
        sql = (
            sa.select(resource.c.id)
            .join(stack, stack.c.id == resource.c.stack_id)
            .where(_is_on(name), stack.c.deleted_at.is_(None), resource.c.updated_at < at)
            .limit(1)
        )
        return self._db.first(sql) is None

    def residents(self, name: str, *, project: str = "") -> list[Resident]:
        """Return the resources on a machine, of all projects or of one, sorted by stack and name."""
        sql = self._residents(name)
        if project:
            sql = sql.where(tables.stack.c.project == project)
        return [Resident(**row._mapping) for row in self._db.rows(sql)]

    @staticmethod
    def _residents(name: str) -> Query:
        resource, stack = tables.resource, tables.stack
        shown = (resource.c[each] for each in ("id", "name", "type", "action", "status", "physical_id"))
        return (
            sa.select(*shown, stack.c.name.label("stack"), stack.c.id.label("stack_id"), stack.c.project)
            .join(stack, stack.c.id == resource.c.stack_id)
            .where(_is_on(name), stack.c.deleted_at.is_(None))
            .order_by(stack.c.name, resource.c.name, resource.c.id)
        )

    def _select(self) -> Query:
        return sa.select(tables.machine, sa.literal_column(self._db.now).label("now"))


def _is_on(name: str) -> sa.ColumnElement[bool]:
    return (tables.resource.c.on_node == name) & ~tables.is_gone()


def _machine(row: AnyRow) -> MachineRow:
    values = dict(row._mapping)
    return MachineRow(report=json.loads(values.pop("said")), **values)
