"""Runs: what several operations of one stack did to its resources. No statement here reads a packed value."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from orchestrator.model.messages import CLEANUP, END, JOIN
from orchestrator.store import tables
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import Query
from orchestrator.views.facts import NodeFact
from orchestrator.views.runs import RunFacts, RunNode, RunWork

#: The most reasons of failures that are read.
MOST_REASONS: Final = 500


class Runs(Repository):
    """Reads of operations side by side, which the engine does not use itself."""

    @retrying
    def facts(self, stack_id: str, traversal_ids: Sequence[str]) -> RunFacts:
        """Return the facts of some of a stack's operations, in five statements however many these are."""
        ids = list(traversal_ids)
        with self._db.snapshot() as connection:
            return RunFacts(
                nodes=self._nodes(connection, ids),
                work=tuple(RunWork(**row._mapping) for row in connection.execute(_work(stack_id, ids))),
                reasons=[tuple(row) for row in connection.execute(_reasons(stack_id, ids))],
                types=_pairs(connection, _types(stack_id)),
                nested=_pairs(connection, _nested(stack_id)),
            )

    @staticmethod
    def _nodes(connection: sa.Connection, traversal_ids: Sequence[str]) -> Sequence[RunNode]:
        node = tables.node
        has_resource = node.c.resource_id.is_not(None)
        begun = node.c.attempt > 0
        # Left out is what only counts others: most nodes of an update.
        spare = node.c.phase.in_((CLEANUP, JOIN)) & node.c.quiet & ~begun
        alike = (node.c.phase, node.c.action, node.c.state, node.c.quiet, node.c.hook, has_resource, begun)
        sql = (
            sa.select(node.c.traversal_id, node.c.key, *alike)
            .where(tables.in_traversals(traversal_ids), node.c.phase != END, ~spare)
            .where((node.c.phase != JOIN) | has_resource)
            .order_by(node.c.no)
        )
        known: dict[tuple[Any, ...], NodeFact] = {}
        found = []
        for traversal_id, name, *which in connection.execute(sql):
            key = tuple(which)
            if key not in known:
                known[key] = _alike(key)
            found.append(RunNode(traversal_id=traversal_id, name=name, alike=known[key]))
        return found


def _alike(which: tuple[Any, ...]) -> NodeFact:
    phase, action, state, quiet, hook, has_resource, begun = which
    return NodeFact(
        no=0,
        key="",
        phase=phase,
        action=action,
        state=state,
        dependents=(),
        quiet=bool(quiet),
        attempt=int(begun),
        retries=0,
        due_at=None,
        hook=hook,
        worker=None,
        resource_id="" if has_resource else None,
    )


def _of(stack_id: str, traversal_ids: Sequence[str]) -> sa.ColumnElement[bool]:
    event = tables.event
    return (event.c.stack_id == stack_id) & event.c.traversal_id.in_(traversal_ids) & (event.c.resource != "")


def _work(stack_id: str, traversal_ids: Sequence[str]) -> Query:
    event = tables.event
    # A retry of an action under way has a cause.
    begins = (event.c.status == "IN_PROGRESS") & (event.c.cause == "")
    return (
        sa.select(
            event.c.traversal_id,
            event.c.resource.label("name"),
            event.c.action,
            sa.func.min(sa.case((begins, event.c.at))).label("begun_at"),
            sa.func.max(sa.case((event.c.status != "IN_PROGRESS", event.c.at))).label("ended_at"),
            (sa.func.max(sa.case((event.c.status == "COMPLETE", 1), else_=0)) == 1).label("is_complete"),
            sa.func.max(event.c.type).label("type"),
        )
        .where(_of(stack_id, traversal_ids))
        .group_by(event.c.traversal_id, event.c.resource, event.c.action)
    )


def _reasons(stack_id: str, traversal_ids: Sequence[str]) -> Query:
    event = tables.event
    return (
        sa.select(event.c.traversal_id, event.c.resource, event.c.reason)
        .where(_of(stack_id, traversal_ids), event.c.status == "FAILED", event.c.cause == "")
        .order_by(event.c.id.desc())
        .limit(MOST_REASONS)
    )


def _types(stack_id: str) -> Query:
    resource = tables.resource
    return sa.select(resource.c.name, resource.c.type.label("value")).where(resource.c.stack_id == stack_id)


def _nested(stack_id: str) -> Query:
    resource, stack = tables.resource, tables.stack
    return (
        sa.select(resource.c.name, stack.c.id.label("value"))
        .join(resource, resource.c.id == stack.c.parent_resource)
        .where(stack.c.parent_id == stack_id, stack.c.deleted_at.is_(None))
        # If there are several for a moment, the newest is the one that stays.
        .order_by(stack.c.created_at)
    )


def _pairs(connection: sa.Connection, sql: Query) -> Mapping[str, str]:
    return {row.name: row.value for row in connection.execute(sql)}
