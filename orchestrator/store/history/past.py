"""Finished operations of a stack (newest first), and deleted stacks."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from hooks.values.dataclass import dataclass
from orchestrator.errors import NotFound
from orchestrator.model.operation_filter import ALL_OPERATIONS, OperationFilter
from orchestrator.model.record import Record
from orchestrator.store import tables
from orchestrator.store.alchemy import sa

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from orchestrator.store.database import Database
    from orchestrator.store.rows import AnyRow, Query
    from orchestrator.store.stacks.stacks import StackRow, Stacks


@dataclass(frozen=True, slots=True, kw_only=True)
class TraversalRow(Record):
    """A traversal, in progress or finished."""

    id: str
    action: str
    #: A failed one stays FAILED when another supersedes it.
    status: str
    reason: str
    template_id: str
    #: Empty where the engine began it by itself.
    user: str = ""
    #: Why the user began it; empty if the user did not say.
    comment: str = ""
    #: The id of the saved plan that it applied, and the user who had made that; empty for none.
    plan: str = ""
    planned_by: str = ""
    #: The targets of an update, and the resources whose replacement was requested.
    targets: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    created_at: float
    ended_at: float | None
    #: The number of its events about resources, by action and status: ``CREATE_COMPLETE`` ...
    counts: Mapping[str, int]
    #: How many resources were created and deleted under one name: each was replaced.
    replaced: int = 0


class Past:
    """Reads of finished operations and deleted stacks, which the engine does not use itself."""

    def __init__(self, database: Database, stacks: Stacks) -> None:
        self._db = database
        self._stacks = stacks

    def stack(self, name_or_id: str, *, project: str) -> StackRow:
        """Return a stack by id, or by name: one that is not deleted, or else the one that was deleted last.

        Raises:
            NotFound: there is none, or it is purged; the nearest name is given.
        """
        try:
            return self._stacks.find(name_or_id, project=project)
        except NotFound:
            deleted = self._deleted(name_or_id, project)
            if deleted is None:
                raise
        return self._stacks.find(deleted, project=project)

    def projects_of(self, name_or_id: str) -> frozenset[str]:
        """Return the projects with a stack of this name or id, deleted ones included."""
        stack = tables.stack
        is_it = (stack.c.name == name_or_id) | (stack.c.id == name_or_id)
        return frozenset(self._db.column(sa.select(stack.c.project).distinct().where(is_it)))

    def _deleted(self, name: str, project: str) -> str | None:
        stack = tables.stack
        sql = sa.select(stack.c.id).where(
            stack.c.project == project, stack.c.name == name, stack.c.deleted_at.is_not(None)
        )
        return self._db.value(sql.order_by(stack.c.deleted_at.desc()).limit(1))

    def traversals(
        self,
        stack_id: str,
        *,
        before: TraversalRow | None = None,
        wanted: OperationFilter = ALL_OPERATIONS,
        limit: int,
    ) -> list[TraversalRow]:
        """Return a stack's traversals that began before a given one, newest first, at most ``limit``."""
        traversal = tables.traversal
        sql = self._rows().where(traversal.c.stack_id == stack_id, *self._conditions(wanted))
        if before is not None:
            began = sa.tuple_(traversal.c.created_at, traversal.c.id)
            sql = sql.where(began < sa.tuple_(sa.literal(before.created_at), sa.literal(before.id)))
        sql = sql.order_by(traversal.c.created_at.desc(), traversal.c.id.desc()).limit(limit)
        rows = self._db.rows(sql)
        return self._counted(stack_id, rows)

    def _conditions(self, wanted: OperationFilter) -> Iterator[sa.ColumnElement[bool]]:
        traversal = tables.traversal
        if wanted.actions:
            yield traversal.c.action.in_(wanted.actions)
        if wanted.statuses:
            # As :func:`_status` has it.
            is_failed = sa.and_(traversal.c.status == "SUPERSEDED", traversal.c.reason != "")
            yield sa.case((is_failed, "FAILED"), else_=traversal.c.status).in_(wanted.statuses)
        if wanted.user:
            find = sa.func.strpos if self._db.postgres else sa.func.instr
            yield find(sa.func.lower(traversal.c.user_name), wanted.user.lower()) > 0

    def rolled_back(self, stack_id: str, rollback: TraversalRow) -> TraversalRow | None:
        """Return the traversal that a rollback takes back; None if it is purged."""
        earlier = self.traversals(stack_id, before=rollback, limit=1)
        return next((row for row in earlier if row.action != "ROLLBACK"), None)

    def traversal(self, stack_id: str, traversal_id: str) -> TraversalRow:
        """Return one traversal.

        Raises:
            NotFound: the stack has none with this id.
        """
        traversal = tables.traversal
        sql = self._rows().where(traversal.c.id == traversal_id, traversal.c.stack_id == stack_id)
        rows = self._db.rows(sql)
        if not rows:
            raise NotFound(
                f"the stack has no traversal {traversal_id!r}; 'isotherm stack history' lists those it has"
            )
        return self._counted(stack_id, rows)[0]

    def durations(self, actions: Mapping[str, str], *, limit: int) -> dict[str, list[float]]:
        """Return how long the last operations of each stack with an action took, newest first, of those that succeeded.

        ``actions`` has the actions by the ids of the stacks, at most ``limit`` operations are read of each, and all in
        one statement.
        """
        traversal = tables.traversal
        like = [
            (traversal.c.stack_id == stack_id) & (traversal.c.action == action)
            for stack_id, action in actions.items()
        ]
        newest_first = (traversal.c.created_at.desc(), traversal.c.id.desc())
        numbered = (
            sa.select(
                traversal.c.stack_id,
                (traversal.c.ended_at - traversal.c.created_at).label("seconds"),
                sa.func.row_number()
                .over(partition_by=traversal.c.stack_id, order_by=newest_first)
                .label("place"),
            )
            .where(sa.or_(sa.false(), *like))
            .where(traversal.c.status == "COMPLETE", traversal.c.ended_at.is_not(None))
            .subquery()
        )
        sql = sa.select(numbered.c.stack_id, numbered.c.seconds).where(numbered.c.place <= limit)
        found: dict[str, list[float]] = {each: [] for each in actions}
        for stack_id, seconds in self._db.rows(sql.order_by(numbered.c.stack_id, numbered.c.place)):
            found[stack_id].append(seconds)
        return found

    def resource_durations(
        self, stack_id: str, resource: str, action: str, *, but: str, limit: int
    ) -> list[float]:
        """Return how long an action on a resource took in the last operations that completed it, newest first.

        It is the time from the action's first attempt to its end, retries included; the operation ``but`` is left out.
        Operations whose events are purged are left out, too.
        """
        event = tables.event
        begun_at = sa.func.min(sa.case((event.c.status == "IN_PROGRESS", event.c.at)))
        ended_at = sa.func.max(sa.case((event.c.status == "COMPLETE", event.c.at)))
        sql = (
            sa.select(ended_at - begun_at)
            .where(event.c.stack_id == stack_id, event.c.resource == resource, event.c.action == action)
            .where(event.c.traversal_id != but)
            .group_by(event.c.traversal_id)
            .having((ended_at - begun_at).is_not(None))
            .order_by(sa.func.max(event.c.id).desc())
            .limit(limit)
        )
        return [float(each) for each in self._db.column(sql)]

    def named(self, stack_id: str, ids: Collection[str]) -> dict[str, TraversalRow]:
        """Return some traversals of a stack by their ids, without counts; those that are purged are left out."""
        traversal = tables.traversal
        sql = self._rows().where(traversal.c.stack_id == stack_id, traversal.c.id.in_(ids))
        return {row.id: _traversal(row, {}) for row in self._db.rows(sql)}

    @staticmethod
    def _rows() -> Query:
        traversal = tables.traversal
        names = (
            "id",
            "action",
            "status",
            "reason",
            "template_id",
            "created_at",
            "ended_at",
            "counted",
            "comment",
            "options",
        )
        return sa.select(*(traversal.c[name] for name in names), traversal.c.user_name.label("user"))

    def _counted(self, stack_id: str, rows: Sequence[AnyRow]) -> list[TraversalRow]:
        event = tables.event
        sql = (
            sa.select(event.c.traversal_id, event.c.action, event.c.status, sa.func.count())
            .where(event.c.stack_id == stack_id, event.c.traversal_id.in_([row.id for row in rows]))
            .where(event.c.resource != "")
            .group_by(event.c.traversal_id, event.c.action, event.c.status)
        )
        counts = {row.id: Counter[str](json.loads(row.counted)) for row in rows}
        for traversal_id, action, status, count in self._db.rows(sql):
            counts[traversal_id][f"{action}_{status}"] += count
        replaced = self._replaced(stack_id, rows)
        return [_traversal(row, counts[row.id], replaced[row.id]) for row in rows]

    def _replaced(self, stack_id: str, rows: Sequence[AnyRow]) -> Counter[str]:
        event = tables.event
        sql = (
            sa.select(event.c.traversal_id, event.c.resource)
            .where(event.c.stack_id == stack_id, event.c.traversal_id.in_([row.id for row in rows]))
            .where(event.c.resource != "", event.c.status == "COMPLETE")
            .where(event.c.action.in_(("CREATE", "DELETE")))
            .group_by(event.c.traversal_id, event.c.resource)
            .having(sa.func.count(event.c.action.distinct()) > 1)
        )
        return Counter(traversal_id for traversal_id, _ in self._db.rows(sql))


def _traversal(row: AnyRow, counts: Mapping[str, int], replaced: int = 0) -> TraversalRow:
    options = json.loads(row.options)
    applied = {name: options.get(name, "") for name in ("plan", "planned_by")}
    named = {name: tuple(options.get(name, ())) for name in ("targets", "replaces")}
    return TraversalRow.of(row, status=_status(row), counts=counts, replaced=replaced, **applied, **named)


def _status(row: AnyRow) -> str:
    # A superseded traversal with a reason had failed before.
    return "FAILED" if row.status == "SUPERSEDED" and row.reason else row.status
