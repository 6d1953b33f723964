"""Observations: one operation with its nodes and events, and the events of all stacks.

No statement here reads a packed value, so the results hold no values of a stack, and need no decryption.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from orchestrator.errors import NotFound
from orchestrator.model.messages import END
from orchestrator.store import tables
from orchestrator.store.database import Database, database_time
from orchestrator.store.history.events import EventRow, event_columns
from orchestrator.store.horizon import Horizon
from orchestrator.store.nodes.orders import numbers_of
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import AnyRow, Query, chunked
from orchestrator.store.stacks.tallies import Tally, tallies
from orchestrator.views.facts import EventFact, Facts, NodeFact
from orchestrator.views.operations import OperationView
from orchestrator.views.states import is_under_way

#: Operations that have a part only for resources in which something may change; others have one for each.
_UPDATES: Final = frozenset({"UPDATE", "ROLLBACK", "RESTORE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedEvent(EventRow):
    """An event of any stack, with the stack's names and ids."""

    stack: str
    project: str
    #: The parent stack and the outermost stack; None and its own id if the stack is not nested.
    parent_id: str | None
    root_id: str
    #: When it was read, by the database's clock.
    read_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """One operation with its tally; the other fields are as in :class:`~orchestrator.views.facts.Facts`."""

    operation: OperationView
    tally: Tally
    #: The number of the stack's resources that an update in force has no part for; 0 for other operations.
    untouched: int = 0
    cursor: int
    as_of: float


class Observations:
    """Reads of operations and events, which the engine does not use itself."""

    def __init__(self, database: Database, horizon: Horizon) -> None:
        self._db = database
        #: The horizon of the history.
        self.horizon = horizon

    def moment(self) -> tuple[int, float]:
        """Return the id up to which no event is missing, and the database's time just after."""
        return self.horizon.look(), self._db.time()

    @retrying
    def facts(self, stack_id: str, traversal_id: str) -> Facts:
        """Return one operation with its nodes and events, all of one moment.

        Raises:
            NotFound: the stack has no such traversal, or it is purged.
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
            # The type of a purged row is known from its events.
            nodes=tuple(_node(row, types.get(row.key, "")) for row in nodes),
            events=tuple(_event(row) for row in events),
            cursor=cursor,
            as_of=as_of,
            # A purge removes the end of an operation with its first nodes.
            trimmed=counted or all(row.phase != END for row in nodes),
        )

    @retrying
    def head(self, stack_id: str, traversal_id: str) -> Head:
        """Return one operation with the number of its resources by state, all of one moment.

        Raises:
            NotFound: as of :meth:`facts`.
        """
        cursor = self.horizon.look()
        with self._db.snapshot() as connection:
            as_of = database_time(connection, self._db)
            operation, _ = self._operation(connection, stack_id, traversal_id)
            tally = tallies(connection, {traversal_id: is_under_way(operation)})[traversal_id]
            updates = operation.in_force and operation.action in _UPDATES
            untouched = connection.execute(_untouched(stack_id, traversal_id)).scalar_one() if updates else 0
        return Head(operation=operation, tally=tally, untouched=untouched, cursor=cursor, as_of=as_of)

    @retrying
    def tally_of(self, operations: Mapping[str, bool]) -> Tally:
        """Return the resources of several operations together; for each traversal whether it is under way."""
        counts: Counter[str] = Counter()
        with self._db.snapshot() as connection:
            for some in chunked(sorted(operations)):
                for tally in tallies(connection, {each: operations[each] for each in some}).values():
                    counts.update(tally.counts)
        return Tally(counts=counts)

    @retrying
    def operation(self, stack_id: str, traversal_id: str) -> OperationView:
        """Return one operation.

        Raises:
            NotFound: as of :meth:`facts`.
        """
        with self._db.snapshot() as connection:
            return self._operation(connection, stack_id, traversal_id)[0]

    def events_after(self, cursor: int, limit: int, *, up_to: int | None = None) -> list[ObservedEvent]:
        """Return the first events of all stacks with an id above ``cursor``, oldest first, at most ``limit``.

        An event is not returned before all with lower ids are visible. ``up_to`` is the id that the horizon returned
        just now, if the caller has it.
        """
        event, stack = tables.event, tables.stack
        last = self.horizon.look() if up_to is None else up_to
        if last <= cursor:
            return []
        sql = (
            sa.select(
                stack.c.name.label("stack"),
                stack.c.project,
                stack.c.parent_id,
                stack.c.root_id,
                sa.literal_column(self._db.now).label("read_at"),
                *event_columns(),
            )
            .join(stack, stack.c.id == event.c.stack_id)
            .where(event.c.id > cursor, event.c.id <= last)
            .order_by(event.c.id)
            .limit(limit)
        )
        return [ObservedEvent(**row._mapping) for row in self._db.rows(sql)]

    def _operation(
        self, connection: sa.Connection, stack_id: str, traversal_id: str
    ) -> tuple[OperationView, bool]:
        """Return an operation, and whether events of it are purged."""
        stack, traversal = tables.stack, tables.traversal
        names = ("action", "status", "reason", "created_at", "ended_at", "deadline", "counted", "comment")
        row = connection.execute(
            sa.select(
                *(traversal.c[name] for name in names),
                traversal.c.user_name.label("user"),
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
        # A superseded traversal with a reason had failed before.
        failed = row.status == "SUPERSEDED" and row.reason
        view = OperationView.of(
            row,
            stack=row.name,
            stack_id=stack_id,
            traversal_id=traversal_id,
            status="FAILED" if failed else row.status,
            reason=row.reason or (row.stack_reason if in_force else ""),
            begun_at=row.created_at,
            in_force=in_force,
            stack_state=f"{row.stack_action}_{row.stack_status}",
            within=self._within(connection, row.parent_id, row.root_id),
        )
        return view, bool(json.loads(row.counted))

    @staticmethod
    def _within(
        connection: sa.Connection, parent_id: str | None, root_id: str
    ) -> tuple[tuple[str, str], ...]:
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
    def _nodes(connection: sa.Connection, stack_id: str, traversal_id: str) -> Sequence[AnyRow]:
        node, resource, stack = tables.node, tables.resource, tables.stack
        # The nested stack made last; those that it replaced are deleted.
        inside = (
            sa.select(stack.c.id)
            .where(stack.c.parent_id == stack_id, stack.c.parent_resource == resource.c.id)
            .order_by(stack.c.created_at.desc())
            .limit(1)
            .scalar_subquery()
        )
        has_inside = sa.exists().where(stack.c.parent_id == stack_id)
        columns = "no key phase action state dependents quiet attempt retries due_at hook worker resource_id"
        sql = (
            sa.select(
                *(node.c[name] for name in columns.split()),
                resource.c.type,
                resource.c.action.label("resource_action"),
                resource.c.status.label("resource_status"),
                resource.c.reason,
                resource.c.physical_id,
                # Without nested stacks, the subquery is not run for each resource.
                sa.case((has_inside, inside)).label("nested_stack_id"),
            )
            .select_from(node.outerjoin(resource, resource.c.id == node.c.resource_id))
            .where(tables.in_traversal(traversal_id))
            .order_by(node.c.no)
        )
        return connection.execute(sql).all()

    @staticmethod
    def _events(connection: sa.Connection, stack_id: str, traversal_id: str) -> Sequence[AnyRow]:
        event = tables.event
        sql = sa.select(*(event.c[name] for name in EventFact.__dataclass_fields__), event.c.type).where(
            event.c.stack_id == stack_id, event.c.traversal_id == traversal_id, event.c.resource != ""
        )
        return connection.execute(sql.order_by(event.c.id)).all()


def _untouched(stack_id: str, traversal_id: str) -> Query:
    """Return the statement that counts a stack's resources for which a traversal has no node."""
    resource, node = tables.resource, tables.node
    # Not correlated: it is evaluated once, and not for each row.
    touched = sa.select(node.c.key).where(node.c.traversal_id == traversal_id)
    return sa.select(sa.func.count(resource.c.name.distinct())).where(
        resource.c.stack_id == stack_id, ~tables.is_gone(), resource.c.name.not_in(touched)
    )


def _node(row: AnyRow, otherwise_type: str) -> NodeFact:
    return NodeFact.of(
        row,
        dependents=numbers_of(row.dependents),
        quiet=bool(row.quiet),
        type=row.type or otherwise_type,
        resource_action=row.resource_action or "",
        resource_status=row.resource_status or "",
        reason=row.reason or "",
    )


def _event(row: AnyRow) -> EventFact:
    values = dict(row._mapping)
    del values["type"]
    return EventFact(**values)
