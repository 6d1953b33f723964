"""What people look at of operations, as it is read: one operation whole, and what happened to all stacks.

No statement here reads a packed value, so what is told holds no value of a stack, and costs no unpacking.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from orchestrator.errors import NotFound
from orchestrator.model.messages import END
from orchestrator.store import tables
from orchestrator.store.database import Database, database_time, retrying
from orchestrator.store.horizon import Horizon
from orchestrator.store.nodes.orders import numbers_of
from orchestrator.store.stacks.tallies import Tally, tallies
from orchestrator.views.facts import EventFact, Facts, NodeFact
from orchestrator.views.operations import OperationView
from orchestrator.views.states import is_under_way


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedEvent:
    """An event of any stack, with what is to be known of the stack."""

    id: int
    at: float
    stack: str
    stack_id: str
    project: str
    #: The stack that it is in, and the outermost of those that it is in; None and its own id if it is in none.
    parent_id: str | None
    root_id: str
    traversal_id: str
    #: Empty for an event of the stack itself.
    resource: str
    resource_id: str | None
    type: str
    action: str
    status: str
    reason: str
    physical_id: str | None
    #: When it was read, by the same clock as ``at``.
    read_at: float
    #: As of an :class:`~orchestrator.views.facts.EventFact`.
    cause: str = ""
    worker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """One operation at a glance; the rest as of :class:`~orchestrator.views.facts.Facts`."""

    operation: OperationView
    tally: Tally
    cursor: int
    as_of: float


class Observations:
    """Reads of operations as they go; nothing that the engine does depends on them."""

    def __init__(self, database: Database, horizon: Horizon) -> None:
        self._db = database
        #: Tells up to which id no event is missing.
        self.horizon = horizon

    @retrying
    def moment(self) -> tuple[int, float]:
        """Return up to which id no event is missing, and the time just after that was so, by the database's clock."""
        cursor = self.horizon.look()
        with self._db.read() as connection:
            return cursor, database_time(connection, self._db)

    @retrying
    def facts(self, stack_id: str, traversal_id: str) -> Facts:
        """Return all that is known of one operation: nodes, events and its own state, all of one moment.

        Raises:
            NotFound: the stack has no such traversal; or none that is kept any more.
        """
        cursor = self.horizon.look()
        with self._db.snapshot() as connection:
            as_of = database_time(connection, self._db)
            operation, counted = self._operation(connection, stack_id, traversal_id)
            events = self._events(connection, stack_id, traversal_id)
            nodes = self._nodes(connection, stack_id, traversal_id)
        types = {event.resource: event.type for event in events}
        return Facts(
            operation=operation,
            # A row that is gone for good told its type in its events.
            nodes=tuple(_node(row, types.get(row.key, "")) for row in nodes),
            events=tuple(_event(row) for row in events),
            cursor=cursor,
            as_of=as_of,
            # Whoever thins an operation out begins with what nothing points at, its last words among it.
            trimmed=counted or all(row.phase != END for row in nodes),
        )

    @retrying
    def head(self, stack_id: str, traversal_id: str) -> Head:
        """Return the head of one operation and how many of its resources are in which state, all of one moment.

        Raises:
            NotFound: as of :meth:`facts`.
        """
        cursor = self.horizon.look()
        with self._db.snapshot() as connection:
            as_of = database_time(connection, self._db)
            operation, _ = self._operation(connection, stack_id, traversal_id)
            tally = tallies(connection, {traversal_id: is_under_way(operation)})[traversal_id]
        return Head(operation=operation, tally=tally, cursor=cursor, as_of=as_of)

    @retrying
    def operation(self, stack_id: str, traversal_id: str) -> OperationView:
        """Return the head of one operation.

        Raises:
            NotFound: as of :meth:`facts`.
        """
        with self._db.snapshot() as connection:
            return self._operation(connection, stack_id, traversal_id)[0]

    @retrying
    def events_after(self, cursor: int, limit: int, *, up_to: int | None = None) -> list[ObservedEvent]:
        """Return the first events of all stacks with an id above ``cursor``, oldest first, at most ``limit``.

        None is told before all that have a lower id are to be seen; ``up_to`` is what the horizon said last, if the
        caller has asked it just now.
        """
        event, stack = tables.event, tables.stack
        last = self.horizon.look() if up_to is None else up_to
        if last <= cursor:
            return []
        others = ("stack", "project", "parent_id", "root_id", "read_at")
        names = (each for each in ObservedEvent.__dataclass_fields__ if each not in others)
        sql = (
            sa.select(
                stack.c.name.label("stack"),
                stack.c.project,
                stack.c.parent_id,
                stack.c.root_id,
                sa.literal_column(self._db.now).label("read_at"),
                *(event.c[each] for each in names),
            )
            .join(stack, stack.c.id == event.c.stack_id)
            .where(event.c.id > cursor, event.c.id <= last)
            .order_by(event.c.id)
            .limit(limit)
        )
        with self._db.read() as connection:
            return [ObservedEvent(**row._mapping) for row in connection.execute(sql).all()]

    def _operation(
        self, connection: sa.Connection, stack_id: str, traversal_id: str
    ) -> tuple[OperationView, bool]:
        """Return an operation, and whether events of it are gone."""
        stack, traversal = tables.stack, tables.traversal
        names = ("action", "status", "reason", "created_at", "ended_at", "deadline", "counted")
        row = connection.execute(
            sa.select(
                *(traversal.c[name] for name in names),
                stack.c.name,
                stack.c.project,
                stack.c.parent_id,
                stack.c.root_id,
                stack.c.traversal_id.label("in_force"),
                stack.c.action.label("stack_action"),
                stack.c.status.label("stack_status"),
                stack.c.reason.label("stack_reason"),
            )
            .join(stack, stack.c.id == traversal.c.stack_id)
            .where(traversal.c.id == traversal_id, stack.c.id == stack_id)
        ).first()
        if row is None:
            raise NotFound(
                f"the stack has no traversal {traversal_id!r}; 'isotherm stack history' lists those it has"
            )
        in_force = row.in_force == traversal_id
        # Only one that failed has a reason when another follows it.
        failed = row.status == "SUPERSEDED" and row.reason
        view = OperationView(
            stack=row.name,
            stack_id=stack_id,
            project=row.project,
            traversal_id=traversal_id,
            action=row.action,
            status="FAILED" if failed else row.status,
            reason=row.reason or (row.stack_reason if in_force else ""),
            begun_at=row.created_at,
            ended_at=row.ended_at,
            deadline=row.deadline,
            in_force=in_force,
            stack_state=f"{row.stack_action}_{row.stack_status}",
            within=self._within(connection, row.parent_id, row.root_id),
        )
        return view, bool(json.loads(row.counted))

    @staticmethod
    def _within(
        connection: sa.Connection, parent_id: str | None, root_id: str
    ) -> tuple[tuple[str, str], ...]:
        """Return the names and ids of the stacks that a stack is in, outermost first."""
        stack = tables.stack
        found: list[tuple[str, str]] = []
        while parent_id is not None:
            above = sa.select(stack.c.name, stack.c.parent_id).where(stack.c.id == parent_id)
            row = connection.execute(above).first()
            if row is None:
                break
            found.insert(0, (row.name, parent_id))
            parent_id = None if parent_id == root_id else row.parent_id
        return tuple(found)

    @staticmethod
    def _nodes(connection: sa.Connection, stack_id: str, traversal_id: str) -> Sequence[Any]:
        """Return a traversal's nodes by their numbers, each with its resource's state and the stack that that is."""
        node, resource, stack = tables.node, tables.resource, tables.stack
        # The one that was made last; what it replaced is deleted.
        inside = (
            sa.select(stack.c.id)
            .where(stack.c.parent_id == stack_id, stack.c.parent_resource == resource.c.id)
            .order_by(stack.c.created_at.desc())
            .limit(1)
            .scalar_subquery()
        )
        has_inside = sa.exists().where(stack.c.parent_id == stack_id)
        told = (
            "no",
            "key",
            "phase",
            "action",
            "state",
            "dependents",
            "quiet",
            "attempt",
            "retries",
            "due_at",
        )
        sql = (
            sa.select(
                *(node.c[name] for name in told),
                node.c.hook,
                node.c.worker,
                node.c.resource_id,
                resource.c.type,
                resource.c.action.label("resource_action"),
                resource.c.status.label("resource_status"),
                resource.c.reason,
                resource.c.physical_id,
                # Most stacks have none in them: then nobody looks for each resource's.
                sa.case((has_inside, inside)).label("nested_stack_id"),
            )
            .select_from(node.outerjoin(resource, resource.c.id == node.c.resource_id))
            .where(tables.in_traversal(traversal_id))
            .order_by(node.c.no)
        )
        return connection.execute(sql).all()

    @staticmethod
    def _events(connection: sa.Connection, stack_id: str, traversal_id: str) -> Sequence[Any]:
        """Return a traversal's events about resources, oldest first."""
        event = tables.event
        sql = sa.select(*(event.c[name] for name in EventFact.__dataclass_fields__), event.c.type).where(
            event.c.stack_id == stack_id, event.c.traversal_id == traversal_id, event.c.resource != ""
        )
        return connection.execute(sql.order_by(event.c.id)).all()


def _node(row: Any, otherwise_type: str) -> NodeFact:
    return NodeFact(
        no=row.no,
        key=row.key,
        phase=row.phase,
        action=row.action,
        state=row.state,
        dependents=numbers_of(row.dependents),
        quiet=bool(row.quiet),
        attempt=row.attempt,
        retries=row.retries,
        due_at=row.due_at,
        hook=row.hook,
        worker=row.worker,
        resource_id=row.resource_id,
        type=row.type or otherwise_type,
        resource_action=row.resource_action or "",
        resource_status=row.resource_status or "",
        reason=row.reason or "",
        physical_id=row.physical_id,
        nested_stack_id=row.nested_stack_id,
    )


def _event(row: Any) -> EventFact:
    told = dict(row._mapping)
    del told["type"]
    return EventFact(**told)
