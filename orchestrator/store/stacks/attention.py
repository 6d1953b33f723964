"""Stacks that may need a person: failed, rolled back, updated in part, held, or in progress without any event."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import sqlalchemy as sa

from orchestrator.model.drift import Standing
from orchestrator.model.record import Record
from orchestrator.store import tables
from orchestrator.store.database import database_time
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import AnyRow, Query

#: The most quiet operations that are read, the longest first.
MOST_QUIET: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedStack(Record):
    """A stack whose last operation failed, or was rolled back."""

    id: str
    name: str
    action: str
    status: str
    reason: str
    traversal_id: str
    #: When the operation ended.
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldNode(Record):
    """A resource that is held at a breakpoint; of the stack that it is in, which may be nested."""

    stack_id: str
    stack: str
    traversal_id: str
    resource: str
    hook: str
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftedStack(Record):
    """A stack with drift on record, in itself or within."""

    id: str
    name: str
    traversal_id: str
    #: How many of its resources differ from their objects, and how many of these are not repaired any more.
    resources: int
    left_alone: int
    #: Since when the first has.
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleStack(Record):
    """A stack with values that it, or a stack within, has read of other stacks, and that are outdated."""

    id: str
    name: str
    traversal_id: str
    #: How many resources have such a value.
    resources: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialStack(Record):
    """A stack of which an update with targets has left something."""

    id: str
    name: str
    traversal_id: str
    #: The names of its resources that are not as defined, or may not be.
    partial: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietOperation(Record):
    """An operation in progress without a recent event, neither of its stack nor of those nested in it."""

    id: str
    name: str
    action: str
    traversal_id: str
    begun_at: float
    #: The time of the last event.
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionRows:
    """What was read at one moment; a total counts all rows, of which at most ``limit`` are included."""

    #: The database's time.
    as_of: float
    failed: Sequence[EndedStack] = field(default=())
    failed_total: int = 0
    rolled_back: Sequence[EndedStack] = field(default=())
    rolled_back_total: int = 0
    held: Sequence[HeldNode] = field(default=())
    held_total: int = 0
    quiet: Sequence[QuietOperation] = field(default=())
    drifted: Sequence[DriftedStack] = field(default=())
    drifted_total: int = 0
    stale: Sequence[StaleStack] = field(default=())
    stale_total: int = 0
    partial: Sequence[PartialStack] = field(default=())
    partial_total: int = 0
    #: The number of outermost stacks in progress, and the one that began first: its name, id and time.
    in_progress: int = 0
    oldest: tuple[str, str, float] | None = None


class AttentionStacks(Repository):
    """Reads of stacks that may need a person, in a number of statements that does not depend on how many there are."""

    @retrying
    def read(self, *, project: str, quiet_seconds: float, limit: int) -> AttentionRows:
        """Return a project's rows, the newest failures first, and what has been held or quiet for longest first.

        Quiet are operations without an event for ``quiet_seconds``.
        """
        stack = tables.stack
        is_failed = stack.c.status == "FAILED"
        is_back = (stack.c.action == "ROLLBACK") & (stack.c.status == "COMPLETE")
        with self._db.snapshot() as connection:
            now = database_time(connection, self._db)
            failed = connection.execute(_ended(project, is_failed).limit(limit)).all()
            rolled_back = connection.execute(_ended(project, is_back).limit(limit)).all()
            held = connection.execute(_held(project).limit(limit)).all()
            under_way = connection.execute(_in_progress(project)).first()
            drifted = connection.execute(_drifted(project).limit(limit)).all()
            stale = connection.execute(_stale(project).limit(limit)).all()
            left = connection.execute(_partial(project).limit(limit)).all()
            quiet = connection.execute(_quiet(project, now - quiet_seconds).limit(MOST_QUIET)).all()
        return AttentionRows(
            as_of=now,
            failed=tuple(EndedStack.of(row) for row in failed),
            failed_total=_total(failed),
            rolled_back=tuple(EndedStack.of(row) for row in rolled_back),
            rolled_back_total=_total(rolled_back),
            held=tuple(HeldNode.of(row) for row in held),
            held_total=_total(held),
            quiet=tuple(QuietOperation.of(row) for row in quiet),
            drifted=tuple(DriftedStack.of(row) for row in drifted),
            drifted_total=_total(drifted),
            stale=tuple(StaleStack.of(row) for row in stale),
            stale_total=_total(stale),
            partial=tuple(PartialStack.of(row) for row in left),
            partial_total=_total(left),
            in_progress=under_way.total if under_way else 0,
            oldest=(under_way.name, under_way.id, under_way.begun_at) if under_way else None,
        )


def _total(rows: Sequence[AnyRow]) -> int:
    return rows[0].total if rows else 0


def _outermost(project: str) -> sa.ColumnElement[bool]:
    stack = tables.stack
    return (stack.c.project == project) & stack.c.parent_id.is_(None) & stack.c.deleted_at.is_(None)


def _ended(project: str, which: sa.ColumnElement[bool]) -> Query:
    stack, traversal = tables.stack, tables.traversal
    since = sa.func.coalesce(traversal.c.ended_at, stack.c.updated_at).label("since")
    names = ("id", "name", "action", "status", "reason", "traversal_id")
    return (
        sa.select(*(stack.c[name] for name in names), since, sa.func.count().over().label("total"))
        .outerjoin(traversal, traversal.c.id == stack.c.traversal_id)
        .where(_outermost(project), which)
        .order_by(since.desc(), stack.c.name)
    )


def _drifted(project: str) -> Query:
    stack, drift = tables.stack, tables.drift
    left = sa.case((drift.c.standing == Standing.LEFT_ALONE.value, drift.c.resource_id))
    since = sa.func.min(drift.c.since).label("since")
    return (
        sa.select(
            stack.c.id,
            stack.c.name,
            stack.c.traversal_id,
            sa.func.count(drift.c.resource_id.distinct()).label("resources"),
            sa.func.count(left.distinct()).label("left_alone"),
            since,
            sa.func.count().over().label("total"),
        )
        .join(drift, drift.c.root_id == stack.c.id)
        .where(_outermost(project))
        .group_by(stack.c.id, stack.c.name, stack.c.traversal_id)
        .order_by(since, stack.c.name)
    )


def _stale(project: str) -> Query:
    stack, reader, resource = tables.stack, tables.output_reader, tables.resource
    names = (stack.c.id, stack.c.name, stack.c.traversal_id)
    return (
        sa.select(
            *names,
            sa.func.count(reader.c.resource_id).label("resources"),
            sa.func.count().over().label("total"),
        )
        .join(reader, reader.c.root_id == stack.c.id)
        .join(resource, resource.c.id == reader.c.resource_id)
        .where(_outermost(project), reader.c.stale, ~tables.is_gone())
        .group_by(*names)
        .order_by(stack.c.name)
    )


def _partial(project: str) -> Query:
    stack = tables.stack
    columns = (stack.c.id, stack.c.name, stack.c.traversal_id, stack.c.partial)
    return (
        sa.select(*columns, sa.func.count().over().label("total"))
        .where(_outermost(project), tables.is_partial())
        .order_by(stack.c.name)
    )


def _held(project: str) -> Query:
    stack, traversal, node = tables.stack, tables.traversal, tables.node
    return (
        sa.select(
            stack.c.id.label("stack_id"),
            stack.c.name.label("stack"),
            node.c.traversal_id,
            node.c.key.label("resource"),
            node.c.hook,
            node.c.hook_at.label("since"),
            sa.func.count().over().label("total"),
        )
        .select_from(node)
        .join(traversal, traversal.c.id == node.c.traversal_id)
        .join(stack, stack.c.traversal_id == traversal.c.id)
        .where(node.c.hook.is_not(None), traversal.c.status == "IN_PROGRESS", stack.c.project == project)
        .order_by(node.c.hook_at, node.c.traversal_id, node.c.no)
    )


def _in_progress(project: str) -> Query:
    stack, traversal = tables.stack, tables.traversal
    return (
        sa.select(
            stack.c.id,
            stack.c.name,
            traversal.c.created_at.label("begun_at"),
            sa.func.count().over().label("total"),
        )
        .join(traversal, traversal.c.id == stack.c.traversal_id)
        .where(_outermost(project), stack.c.status == "IN_PROGRESS")
        .order_by(traversal.c.created_at, stack.c.id)
        .limit(1)
    )


def _quiet(project: str, before: float) -> Query:
    """Return the statement for operations in progress without an event since a time, and with nothing held."""
    stack, traversal, node = tables.stack, tables.traversal, tables.node
    member, event = tables.stack.alias("member"), tables.event
    last = (
        sa.select(event.c.at)
        .where(event.c.stack_id == member.c.id)
        .order_by(event.c.id.desc())
        .limit(1)
        .correlate(member)
        .scalar_subquery()
    )
    # By the index on a stack's events: one look for each stack, not a read of all its events.
    of_family = sa.select(sa.func.max(last)).select_from(member).where(member.c.root_id == stack.c.root_id)
    since = sa.func.coalesce(of_family.correlate(stack).scalar_subquery(), traversal.c.created_at)
    is_held = (
        sa.exists()
        .select_from(sa.join(member, node, node.c.traversal_id == member.c.traversal_id))
        .where(member.c.root_id == stack.c.root_id, node.c.hook.is_not(None))
        .correlate(stack)
    )
    return (
        sa.select(
            stack.c.id,
            stack.c.name,
            stack.c.action,
            stack.c.traversal_id,
            traversal.c.created_at.label("begun_at"),
            since.label("since"),
        )
        .join(traversal, traversal.c.id == stack.c.traversal_id)
        # An operation is as old as its oldest silence: most are too young, and their events need not be read.
        .where(_outermost(project), stack.c.status == "IN_PROGRESS", traversal.c.created_at < before)
        .where(since < before, ~is_held)
        .order_by(since, stack.c.id)
    )
