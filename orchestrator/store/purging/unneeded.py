"""The conditions under which rows are not needed any more. A row that fits one never ceases to fit it.

A traversal that is over, not in force, and has no node due cannot change any more, nor can its nodes: claims refuse
them, and nothing wakes them. Of a living stack, planning still reads the nodes that its rows point at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.model.messages import CONVERGE, OPERATE
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.stacks.in_service import is_open_adoption
from orchestrator.store.traversals.operation_rows import OVER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orchestrator.store.rows import Query

    Condition = sa.ColumnElement[bool]

#: How long the events of a deleted stack are kept for the event sinks of its environment.
SINK_PATIENCE_SECONDS = 7 * 86400.0

#: No event has a higher id.
NO_END = 2**63 - 1

#: The states of a node that may still be worked on.
_LIVE = ("blocked", "ready", "waiting", "running")


def jobs(old: float, project: str | None) -> Condition:
    """Return the condition of jobs whose result is old, so that it is neither read nor delivered again."""
    job, stack = tables.job, tables.stack
    which: Condition = job.c.created_at <= old
    if project is not None:
        which &= job.c.stack_id.in_(sa.select(stack.c.id).where(stack.c.project == project))
    return which


def step_logs(old: float, project: str | None) -> Condition:
    """Return the condition of old log lines of steps."""
    step_log, stack = tables.step_log, tables.stack
    which: Condition = step_log.c.at <= old
    if project is not None:
        which &= step_log.c.stack_id.in_(sa.select(stack.c.id).where(stack.c.project == project))
    return which


def never_begun(old: float, project: str | None) -> Condition:
    """Return the condition of old operations that never began a traversal."""
    operation, traversal = tables.operation, tables.traversal
    has_begun = sa.exists().where(traversal.c.id == operation.c.id)
    which: Condition = (operation.c.state == OVER) & (operation.c.ended_at <= old) & ~has_begun
    return which if project is None else which & (operation.c.project == project)


# -- deleted stacks ----------------------------------------------------------------------------------------------------


def deleted_stacks(old: float, project: str | None, now: float) -> Query:
    """Return the query of stacks deleted by then whose post-operation work is done, the innermost first.

    A nested stack is kept until its parent has recorded the deletion, any stack until its event sinks have received
    its events, and until the resources that were moved out of it have definitions of the stacks that they are in.
    """
    stack, resource, traversal = tables.stack, tables.resource, tables.traversal
    cursor, event = tables.sink_cursor, tables.event
    newest = sa.select(sa.func.max(event.c.id)).where(event.c.stack_id == stack.c.id).scalar_subquery()
    last = sa.case((cursor.c.until < newest, cursor.c.until), else_=newest)
    patient = (cursor.c.stack_id == stack.c.id) & (stack.c.deleted_at > now - SINK_PATIENCE_SECONDS)
    undelivered = sa.exists().where(cursor.c.stack_id.is_(None) | patient, cursor.c.position < last)
    outer = stack.alias("outer_stack")
    mine = traversal.c.stack_id == stack.c.id
    waited_for = sa.exists().where(
        outer.c.id == stack.c.parent_id,
        outer.c.deleted_at.is_(None),
        resource.c.id == stack.c.parent_resource,
        ~tables.is_gone(),
    )
    sql = sa.select(stack.c.id, stack.c.parent_id, stack.c.traversal_id).where(
        stack.c.deleted_at <= old,
        ~sa.exists().where(mine, traversal.c.status == "IN_PROGRESS"),
        ~sa.exists().where(mine, traversal.c.id.in_(_with_something_due())),
        ~waited_for,
        ~undelivered,
        ~sa.exists().where(
            resource.c.transferred_at.is_not(None),
            ~tables.is_gone(),
            resource.c.planned_traversal.in_(sa.select(traversal.c.id).where(mine)),
        ),
    )
    if project is not None:
        sql = sql.where(stack.c.project == project)
    return sql.order_by(stack.c.depth.desc(), stack.c.deleted_at)


def nested_stacks() -> Query:
    """Return the query of nested stacks."""
    stack = tables.stack
    return sa.select(stack.c.id, stack.c.parent_id).where(stack.c.parent_id.is_not(None))


def traversals_of(stack_id: str) -> Query:
    """Return the query of a stack's traversals."""
    traversal = tables.traversal
    return sa.select(traversal.c.id).where(traversal.c.stack_id == stack_id)


# -- living stacks -----------------------------------------------------------------------------------------------------


def living_stacks(project: str | None, after: str) -> Query:
    """Return the query of the stacks that are not deleted, in the order of their ids, after ``after``."""
    stack = tables.stack
    sql = sa.select(stack.c.id, stack.c.traversal_id).where(stack.c.deleted_at.is_(None), stack.c.id > after)
    if project is not None:
        sql = sql.where(stack.c.project == project)
    return sql.order_by(stack.c.id)


def thick(stack_ids: Sequence[str], old: float, most_events: int) -> Iterator[Query]:
    """Yield the queries for the stacks, among some, that have rows to remove: traversals, resources, events."""
    stack, traversal, resource, event = tables.stack, tables.traversal, tables.resource, tables.event
    yield (
        sa.select(traversal.c.stack_id)
        .join(stack, (stack.c.id == traversal.c.stack_id) & (stack.c.traversal_id != traversal.c.id))
        .where(
            traversal.c.stack_id.in_(stack_ids),
            traversal.c.ended_at <= old,
            traversal.c.id != sa.func.coalesce(stack.c.defining_traversal_id, ""),
        )
        .distinct()
    )
    gone = tables.is_gone() & (resource.c.updated_at <= old)
    yield sa.select(resource.c.stack_id).where(resource.c.stack_id.in_(stack_ids), gone).distinct()
    yield (
        sa.select(event.c.stack_id)
        .where(event.c.stack_id.in_(stack_ids))
        .group_by(event.c.stack_id)
        .having(sa.func.count() > most_events)
    )


def old_traversals(stack_id: str, in_force: str, old: float) -> Query:
    """Return the query of a stack's old traversals that cannot change any more, oldest first."""
    stack, traversal = tables.stack, tables.traversal
    # A rollback reads which rows were to be adopted since the stack was complete.
    # The traversal with the definition tells which rows are left over.
    defining = sa.exists().where(stack.c.id == stack_id, stack.c.defining_traversal_id == traversal.c.id)
    return (
        sa.select(traversal.c.id)
        .where(
            traversal.c.stack_id == stack_id,
            traversal.c.id != in_force,
            ~defining,
            ~is_open_adoption(),
            traversal.c.status != "IN_PROGRESS",
            traversal.c.ended_at <= old,
            traversal.c.id.not_in(_with_something_due()),
            traversal.c.id.not_in(_holding_snapshots()),
        )
        .order_by(traversal.c.created_at)
    )


def _with_something_due() -> Query:
    node = tables.node
    return sa.select(node.c.traversal_id).where(node.c.due_at.is_not(None))


def _holding_snapshots() -> Query:
    """Return the query of traversals whose nodes hold the entries of a failed snapshot, until it is deleted."""
    snapshot, entry = tables.snapshot, tables.snapshot_resource
    kept = sa.exists().where(entry.c.snapshot_id == snapshot.c.id)
    return sa.select(snapshot.c.traversal_id).where(~kept)


def is_needed(stack_id: str, traversal_id: str) -> Condition:
    """Return the condition of nodes of an old traversal whose definition planning reads.

    A row never begins to point at an old node: it is moved to a newer node, or back to the other of the two that it
    points at already.
    """
    node, resource = tables.node, tables.resource
    # What was moved into another stack is pointed elsewhere by the first visit there.
    living = ((resource.c.stack_id == stack_id) | resource.c.transferred_at.is_not(None)) & ~tables.is_gone()
    planned, applied = (
        sa.select(no).where(living, traversal == traversal_id, no.is_not(None))
        for traversal, no in (
            (resource.c.planned_traversal, resource.c.planned_no),
            (resource.c.applied_traversal, resource.c.applied_no),
        )
    )
    # The definition with which a create was begun that has not applied any yet.
    never_applied = sa.select(resource.c.id).where(living, resource.c.properties.is_(None))
    begun = (node.c.phase == CONVERGE) & (node.c.attempt > 0) & node.c.fragment.is_not(None)
    return sa.or_(
        node.c.no.in_(planned),
        node.c.no.in_(applied),
        begun & sa.func.coalesce(node.c.resource_id, "").in_(never_applied),
    )


def is_tombstone(old: float) -> Condition:
    """Return the condition of rows of living stacks deleted by then that neither a live node nor a snapshot needs."""
    node, resource = tables.node, tables.resource
    in_snapshot = (node.c.phase == OPERATE) & node.c.traversal_id.in_(_holding_snapshots())
    expected = sa.exists().where(node.c.resource_id == resource.c.id, node.c.state.in_(_LIVE) | in_snapshot)
    return tables.is_gone() & (resource.c.updated_at <= old) & resource.c.lock_traversal.is_(None) & ~expected


def is_over(event: sa.Table, stack_id: str) -> Condition:
    """Return the condition of events of a stack's operations that are over, post-operation work included."""
    traversal = tables.traversal
    going_on = sa.select(traversal.c.id).where(
        traversal.c.stack_id == stack_id,
        (traversal.c.status == "IN_PROGRESS") | traversal.c.id.in_(_with_something_due()),
    )
    return event.c.traversal_id.not_in(going_on)


def is_delivered(event: sa.Table, stack_id: str) -> Condition:
    """Return the condition of events of a stack that all its sinks have received."""
    cursor = tables.sink_cursor
    position = sa.select(sa.func.min(cursor.c.position)).where(
        cursor.c.stack_id.is_(None) | (cursor.c.stack_id == stack_id),
        cursor.c.until.is_(None) | (cursor.c.position < cursor.c.until),
    )
    return event.c.id <= sa.func.coalesce(position.scalar_subquery(), event.c.id)


def waits() -> Condition:
    """Return the condition of events, of any stack, that the sink of a cursor has not received yet."""
    cursor, event = tables.sink_cursor, tables.event
    # With "no end, or a later one" as a disjunction, no index could be used.
    last = sa.func.coalesce(cursor.c.until, sa.literal(NO_END, sa.BigInteger))
    return (event.c.id > cursor.c.position) & (event.c.id <= last)


# -- templates ---------------------------------------------------------------------------------------------------------


def uses_of_templates(old: float, project: str | None) -> sa.Executable:
    """Return the query of all uses of templates, each with its stack and traversal, without rows that go."""
    going = is_tombstone(old) & tables.resource.c.stack_id.in_(
        living_stacks(project, "").with_only_columns(tables.stack.c.id)
    )
    stack, traversal, resource, snapshot = tables.stack, tables.traversal, tables.resource, tables.snapshot
    none = sa.literal("").label("traversal_id")
    return sa.union(
        sa.select(stack.c.template_id, stack.c.id.label("stack_id"), none),
        sa.select(stack.c.completed_template_id, stack.c.id, none).where(
            stack.c.completed_template_id.is_not(None)
        ),
        sa.select(traversal.c.template_id, traversal.c.stack_id, traversal.c.id),
        sa.select(resource.c.template_id, resource.c.stack_id, none).where(~going),
        sa.select(snapshot.c.template_id, snapshot.c.stack_id, none),
    )


def is_unused(template: sa.Table) -> Condition:
    """Return the condition of templates without uses."""
    stack, traversal, resource, snapshot = tables.stack, tables.traversal, tables.resource, tables.snapshot
    completed = stack.c.completed_template_id
    used = sa.union(
        sa.select(stack.c.template_id),
        sa.select(completed).where(completed.is_not(None)),
        sa.select(traversal.c.template_id),
        sa.select(resource.c.template_id),
        sa.select(snapshot.c.template_id),
    )
    return template.c.id.not_in(used)
