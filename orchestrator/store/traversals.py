"""Traversals: begin one in a single transaction, fail it, complete it, carry out its end exactly when it is due."""

import json
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from orchestrator.codec import Codec
from orchestrator.errors import Conflict
from orchestrator.messages import CHECKED_PHASES, CONVERGE, END, CheckOrder
from orchestrator.nested import AtRest, Family, Fence
from orchestrator.operable import CHECK, SNAPSHOT
from orchestrator.plan import Plan
from orchestrator.store import tables
from orchestrator.store.checking import faults_of
from orchestrator.store.claims import Timings
from orchestrator.store.database import Database, retrying
from orchestrator.store.requirements import requirements_of, widen_requirements
from orchestrator.store.serving import DEFINING, serves
from orchestrator.store.snapshots import NewSnapshot, complete_snapshot, fail_snapshot, insert_snapshot
from orchestrator.store.unclean import unclean_of

#: The actions by which people give a stack a definition.
_GIVING = tuple(action for action in DEFINING if action != "ROLLBACK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """What is there already of a resource whose row is to be made."""

    physical_id: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTraversal:
    """A traversal to begin: the plan, and what the rows around it need."""

    id: str
    stack_id: str
    stack: str
    project: str
    template_id: str
    timeout_minutes: float
    plan: Plan
    #: What every check needs to know.
    context: Mapping[str, Any]
    #: Resource type by resource id, of the rows to be made.
    new_types: Mapping[str, str]
    #: By row id, what the rows to be made are of already: of all of them, or of none.
    adopted: Mapping[str, Adopted] = field(default_factory=dict)
    #: Of a rollback: the template that was complete last. Once another is, there is nothing to bring back.
    completed_template_id: str | None = None
    #: The ids of the rows that were there when it was planned.
    known: Collection[str] = ()
    #: What they required then; empty where nobody can have changed it since.
    required: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Makes the plan again by what the rows require.
    planned_by: Callable[[Mapping[str, tuple[str, ...]]], Plan] | None = None
    #: The rows that are wanted again, although another was to take their place.
    taken_back: Collection[str] = ()
    #: The rows that are wanted as they were last made, although they were to become something else.
    as_applied: Collection[str] = ()
    #: By row id, the type that takes the place of the row's.
    other_types: Mapping[str, str] = field(default_factory=dict)
    #: Flags of the operation.
    options: Mapping[str, Any] = field(default_factory=dict)
    job_id: str | None = None
    #: What it is to make of the stack.
    snapshot: NewSnapshot | None = None
    #: Of a new stack in a stack.
    family: Family | None = None
    #: In whose name this is begun, if in that of a resource.
    fence: Fence | AtRest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """A traversal whose end a coordinator claimed: what its last words are."""

    stack_id: str
    stack: str
    project: str
    traversal_id: str
    action: str
    status: str
    reason: str
    attempt: int
    options: Mapping[str, Any]
    #: The row that the stack is in another stack; None if it is in none.
    parent_resource: str | None


class Fenced(Exception):
    """The attempt in whose name a traversal was to begin is over; nothing was begun."""


class _Overtaken(Exception):
    """What was planned with has changed meanwhile; nothing of the transaction is kept."""


def bulk_insert(connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert many rows at once, all with the same columns: by COPY where the database has it."""
    if not rows:
        return
    if connection.dialect.name != "postgresql":
        connection.execute(table.insert(), list(rows))
        return
    columns = list(rows[0])
    driver = connection.connection.driver_connection
    assert driver is not None  # noqa: S101  # a checked-out connection has one; for the type checker
    statement = f"COPY {table.name} ({', '.join(columns)}) FROM STDIN"
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row([row[column] for column in columns])


def insert_event(
    connection: sa.Connection,
    now: float,
    *,
    stack_id: str,
    traversal_id: str,
    action: str,
    status: str,
    reason: str,
) -> None:
    """Write down what happened to a stack itself."""
    connection.execute(
        tables.event.insert().values(
            at=now,
            stack_id=stack_id,
            traversal_id=traversal_id,
            type="stack",
            action=action,
            status=status,
            reason=reason,
        )
    )


def database_time(connection: sa.Connection, database: Database) -> float:
    """Return the database's time, in seconds since the epoch."""
    return float(connection.execute(sa.text(f"SELECT {database.now}")).scalar_one())


def hold_stack(connection: sa.Connection, traversal_id: str) -> str | None:
    """Keep the stack of a traversal from being taken over until the transaction ends; return its id.

    Whoever takes a stack over locks its row first, then the traversal's, the nodes', the resources'. Who fails or
    completes a traversal comes to them in another order, and holds the stack before the first of them: so the two never
    wait for each other. None: another traversal has the stack already.
    """
    stack = tables.stack
    held = sa.select(stack.c.id).where(stack.c.traversal_id == traversal_id).with_for_update()
    stack_id: str | None = connection.execute(held).scalar_one_or_none()
    return stack_id


def fail_traversal(
    connection: sa.Connection,
    database: Database,
    *,
    traversal_id: str,
    reason: str,
    redeliver_seconds: float,
) -> CheckOrder | None:
    """Fail a traversal in the caller's transaction: nothing new starts, and its end becomes ready.

    What is in service by then stays so: nothing is brought back. Returns the order for the end, or None if the
    traversal was over already.
    """
    hold_stack(connection, traversal_id)
    now = database_time(connection, database)
    traversal, stack, node = tables.traversal, tables.stack, tables.node
    running = (traversal.c.id == traversal_id) & (traversal.c.status == "IN_PROGRESS")
    failed = connection.execute(
        traversal.update().where(running).values(status="FAILED", reason=reason, ended_at=now)
    )
    if failed.rowcount != 1:
        return None
    values: dict[str, Any] = {"status": "FAILED", "reason": reason, "updated_at": now}
    template = sa.select(traversal.c.template_id).where(traversal.c.id == traversal_id)
    if serves(connection, traversal_id):
        connection.execute(traversal.update().where(traversal.c.id == traversal_id).values(options="{}"))
        values |= {"in_service": True, "completed_template_id": template.scalar_subquery()}
    connection.execute(stack.update().where(stack.c.traversal_id == traversal_id).values(**values))
    fail_snapshot(connection, traversal_id, reason)
    never_started = (node.c.state == "ready") & (node.c.attempt == 0) & (node.c.phase != END)
    mine = tables.in_traversal(traversal_id)
    connection.execute(node.update().where(mine, never_started).values(due_at=None))
    # So does what stands before a hook, or was let past one, and what is between two actions.
    under_way = sa.exists().where(
        tables.resource.c.id == node.c.resource_id, tables.resource.c.status == "IN_PROGRESS"
    )
    paused = (node.c.state == "waiting") & node.c.hook.is_not(None)
    between = (node.c.state == "ready") & (node.c.attempt > 0) & node.c.phase.in_(CHECKED_PHASES) & ~under_way
    connection.execute(node.update().where(mine, paused | between).values(state="superseded", due_at=None))
    end = connection.execute(
        node.update()
        .where(mine, node.c.phase == END, node.c.state == "blocked")
        .values(state="ready", due_at=now + redeliver_seconds)
        .returning(node.c.no)
    ).scalar_one_or_none()
    row = connection.execute(
        sa.select(stack.c.id, stack.c.name, traversal.c.action)
        .join(traversal, traversal.c.stack_id == stack.c.id)
        .where(traversal.c.id == traversal_id)
    ).one()
    insert_event(
        connection,
        now,
        stack_id=row.id,
        traversal_id=traversal_id,
        action=row.action,
        status="FAILED",
        reason=reason,
    )
    if end is None:
        return None
    return _end_order(row.id, row.name, traversal_id, end)


def _faults(connection: sa.Connection, traversal_id: str, action: str) -> str:
    """Return what a traversal that came to its end failed at all the same; empty if at nothing."""
    if action == CHECK:
        return faults_of(connection, traversal_id)
    return unclean_of(connection, traversal_id) if action in DEFINING and action != "CREATE" else ""


def _end_order(stack_id: str, stack: str, traversal_id: str, no: int) -> CheckOrder:
    return CheckOrder(
        stack_id=stack_id, traversal_id=traversal_id, no=no, key="", phase=END, stack=stack, node_data=()
    )


class Traversals:
    """The traversal table's operations, and the stack rows they change."""

    def __init__(self, database: Database, codec: Codec, timings: Timings) -> None:
        self._db = database
        self._codec = codec
        self._timings = timings

    @retrying
    def begin_create(self, new: NewTraversal) -> None:
        """Write stack, rows, traversal and nodes of a new stack, all or nothing.

        Raises:
            Conflict: the project has a stack of this name.
            Fenced: the attempt in whose name it is made is over.
        """
        family = new.family
        within = (
            {"root_id": new.stack_id}
            if family is None
            else {
                "parent_id": family.parent_id,
                "parent_resource": family.parent_resource,
                "root_id": family.root_id,
                "depth": family.depth,
            }
        )
        try:
            with self._db.write() as connection:
                now = database_time(connection, self._db)
                self._hold(connection, new.fence)
                connection.execute(
                    tables.stack.insert().values(
                        **self._stack_values(new, now),
                        id=new.stack_id,
                        **within,
                        project=new.project,
                        created_at=now,
                    )
                )
                self._write_traversal(connection, new, now)
        except IntegrityError as error:
            if self._db.postgres or "stack" in str(error.orig):
                raise Conflict(
                    f"project {new.project!r} has a stack {new.stack!r} already; "
                    "delete it, or choose another name"
                ) from error
            raise

    @retrying
    def begin_next(self, new: NewTraversal, *, expected: str) -> NewTraversal | None:
        """Let a traversal take over an existing stack, whose traversal must be ``expected``; all or nothing.

        Returns what was begun: what the old traversal made its rows require since the plan was made is part of it.
        None: another one was faster, or the old traversal has made rows that the plan does not know of, and which
        must not be forgotten. The old traversal starts nothing new from here on; what it has running
        ends, and lets go of its resources.
        """
        try:
            return self._begin_next(new, expected)
        except _Overtaken:
            return None

    def _begin_next(self, new: NewTraversal, expected: str) -> NewTraversal | None:
        stack, traversal, node = tables.stack, tables.traversal, tables.node
        with self._db.write() as connection:
            now = database_time(connection, self._db)
            self._hold(connection, new.fence)
            mine = (stack.c.id == new.stack_id) & (stack.c.traversal_id == expected)
            if new.plan.action == "ROLLBACK":
                same = stack.c.completed_template_id.is_not_distinct_from(new.completed_template_id)
                mine &= same & (stack.c.status != "COMPLETE")
            swapped = connection.execute(
                stack.update()
                .where(mine, stack.c.deleted_at.is_(None))
                .values(**self._stack_values(new, now))
            )
            if swapped.rowcount != 1:
                return None
            old = (traversal.c.id == expected) & traversal.c.status.in_(("IN_PROGRESS", "FAILED"))
            # One that failed ended then.
            ended = sa.func.coalesce(traversal.c.ended_at, now)
            connection.execute(traversal.update().where(old).values(status="SUPERSEDED", ended_at=ended))
            over = tables.in_traversal(expected) & (node.c.phase != END)
            unfinished = node.c.state.in_(("blocked", "ready", "waiting"))
            connection.execute(node.update().where(over, unfinished).values(state="superseded", due_at=None))
            # Whoever was told that the operation begins is still owed the word that it is over.
            end = tables.in_traversal(expected) & (node.c.phase == END) & (node.c.state == "blocked")
            connection.execute(node.update().where(end).values(state="ready", due_at=now))
            fail_snapshot(connection, expected, f"{new.plan.action} came before it was complete")
            if new.snapshot is not None:
                insert_snapshot(
                    connection,
                    new.snapshot,
                    stack_id=new.stack_id,
                    traversal_id=new.id,
                    template_id=new.template_id,
                    now=now,
                )
            self._refuse_unknown_rows(connection, new)
            widen_requirements(connection, expected)
            new = self._planned_anew(connection, new)
            if new.taken_back:
                again = tables.resource.c.id.in_(list(new.taken_back))
                connection.execute(tables.resource.update().where(again).values(replaced_by=None))
            self._write_traversal(connection, new, now)
        return new

    @staticmethod
    def _planned_anew(connection: sa.Connection, new: NewTraversal) -> NewTraversal:
        """Return the traversal with a plan by what the rows require now, which nobody else changes any more."""
        if new.planned_by is None or not new.required:
            return new
        required = requirements_of(connection, new.stack_id)
        if all(required.get(row_id, before) == before for row_id, before in new.required.items()):
            return new
        return replace(new, plan=new.planned_by(required))

    @staticmethod
    def _hold(connection: sa.Connection, fence: Fence | AtRest | None) -> None:
        """Make sure, until the transaction ends, that the attempt holds its resource which this is begun for.

        Or that the resource is still at rest, if it was begun for that.
        """
        if fence is None:
            return
        resource = tables.resource
        held = sa.select(resource.c.id).where(resource.c.id == fence.resource_id)
        if isinstance(fence, AtRest):
            held = held.where(
                resource.c.lock_traversal.is_(None),
                resource.c.status == "COMPLETE",
                resource.c.metadata_version == fence.metadata_version,
            )
        else:
            held = held.where(
                resource.c.lock_traversal == fence.traversal_id,
                resource.c.lock_no == fence.no,
                resource.c.lock_attempt == fence.attempt,
            )
        if connection.execute(held.with_for_update(read=True)).first() is None:
            raise Fenced

    @staticmethod
    def _refuse_unknown_rows(connection: sa.Connection, new: NewTraversal) -> None:
        resource = tables.resource
        gone = (resource.c.action == "DELETE") & (resource.c.status == "COMPLETE")
        replacements = sa.select(resource.c.id).where(
            resource.c.stack_id == new.stack_id, resource.c.replaces.is_not(None), ~gone
        )
        if not frozenset(connection.execute(replacements).scalars()) <= frozenset(new.known):
            raise _Overtaken

    def _stack_values(self, new: NewTraversal, now: float) -> dict[str, Any]:
        return {
            "name": new.stack,
            "action": new.plan.action,
            "status": "IN_PROGRESS",
            "reason": "",
            "traversal_id": new.id,
            "template_id": new.template_id,
            **({"in_service": False} if new.plan.action in DEFINING else {}),
            **({"rollback": bool(new.options.get("rollback"))} if new.plan.action in _GIVING else {}),
            "timeout_minutes": new.timeout_minutes,
            "updated_at": now,
        }

    def _write_traversal(self, connection: sa.Connection, new: NewTraversal, now: float) -> None:
        connection.execute(
            tables.traversal.insert().values(
                id=new.id,
                stack_id=new.stack_id,
                action=new.plan.action,
                status="IN_PROGRESS",
                options=json.dumps(dict(new.options)),
                context=self._codec.pack(new.context),
                template_id=new.template_id,
                deadline=now + new.timeout_minutes * 60,
                created_at=now,
            )
        )
        bulk_insert(connection, tables.resource, list(self._resource_rows(new, now)))
        bulk_insert(connection, tables.node, list(self._node_rows(new, now)))
        self._point_at_plan(connection, new)
        if new.job_id is not None:
            connection.execute(
                tables.job.insert().values(
                    id=new.job_id,
                    stack_id=new.stack_id,
                    traversal_id=new.id,
                    status="accepted",
                    created_at=now,
                )
            )
        insert_event(
            connection,
            now,
            stack_id=new.stack_id,
            traversal_id=new.id,
            action=new.plan.action,
            status="IN_PROGRESS",
            reason="",
        )

    @staticmethod
    def _point_at_plan(connection: sa.Connection, new: NewTraversal) -> None:
        """Note with each row that is there already where its new definition stands, in the order of their ids."""
        resource = tables.resource
        pointed = [
            {"row": node.resource_id, "at": node.no}
            for node in new.plan.nodes
            # What a quiet node's definition says is what was applied.
            if node.phase == CONVERGE
            and node.fragment
            and not node.quiet
            and node.resource_id not in new.new_types
        ]
        if pointed:
            sql = (
                resource.update()
                .where(resource.c.id == sa.bindparam("row"))
                .values(planned_traversal=new.id, planned_no=sa.bindparam("at"))
            )
            connection.execute(sql, sorted(pointed, key=operator.itemgetter("row")))
        if new.other_types:
            retyped = (
                resource.update().where(resource.c.id == sa.bindparam("row")).values(type=sa.bindparam("of"))
            )
            rows = [{"row": row_id, "of": name} for row_id, name in sorted(new.other_types.items())]
            connection.execute(retyped, rows)
        if new.as_applied:
            again = resource.c.id.in_(sorted(new.as_applied)) & resource.c.applied_no.is_not(None)
            applied = {
                "planned_traversal": resource.c.applied_traversal,
                "planned_no": resource.c.applied_no,
            }
            connection.execute(resource.update().where(again).values(**applied))

    def _resource_rows(self, new: NewTraversal, now: float) -> Iterable[dict[str, Any]]:
        ids = {node.no: node.resource_id for node in new.plan.nodes}
        for node in new.plan.nodes:
            if node.resource_id is not None and node.resource_id in new.new_types:
                yield {
                    "id": node.resource_id,
                    "stack_id": new.stack_id,
                    "name": node.key,
                    "type": new.new_types[node.resource_id],
                    "requires": json.dumps([ids[no] for no in node.requirements]),
                    "template_id": new.template_id,
                    "planned_traversal": new.id,
                    "planned_no": node.no,
                    "created_at": now,
                    "updated_at": now,
                    **self._adopted(new, node.resource_id),
                }

    def _adopted(self, new: NewTraversal, resource_id: str) -> dict[str, Any]:
        """Return what a row that is to be adopted holds besides; nobody has claimed it yet, so it has not started."""
        if not new.adopted:
            return {}
        adopted = new.adopted[resource_id]
        return {
            "action": "ADOPT",
            "status": "IN_PROGRESS",
            "physical_id": adopted.physical_id,
            "metadata": self._codec.pack(dict(adopted.metadata)) if adopted.metadata else None,
            "data": self._codec.pack(dict(adopted.data)),
        }

    def _node_rows(self, new: NewTraversal, now: float) -> Iterable[dict[str, Any]]:
        for node in new.plan.nodes:
            ready = node.state == "ready"
            fragment = dict(node.fragment or {})
            hooks = fragment.pop("hooks", None)
            yield {
                "traversal_id": new.id,
                "no": node.no,
                "key": node.key,
                "phase": node.phase,
                "resource_id": node.resource_id,
                "action": node.action,
                "state": node.state,
                "remaining": node.remaining,
                "dependents": json.dumps(node.dependents),
                "requirements": json.dumps(node.requirements),
                "fragment": self._codec.pack(fragment) if fragment else None,
                "hooks": json.dumps(hooks) if hooks else None,
                "wanted": self._codec.pack(node.wanted) if node.wanted else None,
                "due_at": now + self._timings.redeliver_seconds if ready else None,
                "quiet": node.quiet,
                "node_data": self._codec.pack(node.node_data) if node.node_data is not None else None,
            }

    # -- the end -----------------------------------------------------------------------------------------------

    @retrying
    def complete(self, traversal_id: str) -> bool:
        """Mark a traversal whose end is ready, and its stack, complete; False if it is not for us to say.

        A check that found fault is failed instead, and so is what could not clean up; the definition is in service
        all the same. Safe to repeat.
        """
        traversal, stack, node = tables.traversal, tables.stack, tables.node
        with self._db.write() as connection:
            hold_stack(connection, traversal_id)
            now = database_time(connection, self._db)
            end_ready = sa.exists().where(
                tables.in_traversal(traversal_id), node.c.phase == END, node.c.state == "ready"
            )
            running = (traversal.c.id == traversal_id) & (traversal.c.status == "IN_PROGRESS")
            row = connection.execute(
                traversal.update()
                .where(running, end_ready)
                .values(status="COMPLETE", ended_at=now)
                .returning(traversal.c.stack_id, traversal.c.action, traversal.c.template_id)
            ).first()
            if row is None:
                return False
            faults = _faults(connection, traversal_id, row.action)
            status = "FAILED" if faults else "COMPLETE"
            reason = faults or f"Stack {row.action} completed successfully"
            if faults:
                # What is wanted is there: to bring back what was would undo what works.
                told = {"status": status, "reason": reason, "options": "{}"}
                connection.execute(traversal.update().where(traversal.c.id == traversal_id).values(**told))
            values: dict[str, Any] = {"status": status, "reason": reason, "updated_at": now}
            if row.action == SNAPSHOT:
                complete_snapshot(connection, traversal_id)
            if row.action == "DELETE":
                values |= {"deleted_at": now, "in_service": False}
            elif row.action in DEFINING:
                values |= {"in_service": True, "completed_template_id": row.template_id}
            connection.execute(stack.update().where(stack.c.traversal_id == traversal_id).values(**values))
            insert_event(
                connection,
                now,
                stack_id=row.stack_id,
                traversal_id=traversal_id,
                action=row.action,
                status=status,
                reason=reason,
            )
        return True

    @retrying
    def claim_end(self, order: CheckOrder, *, worker: str) -> Ending | None:
        """Take the end of a traversal that is complete or failed; None if it is not ready or not over."""
        traversal, stack, node = tables.traversal, tables.stack, tables.node
        with self._db.write() as connection:
            now = database_time(connection, self._db)
            row = connection.execute(
                sa.select(traversal, stack.c.name, stack.c.project, stack.c.parent_resource)
                .join(stack, stack.c.id == traversal.c.stack_id)
                .where(traversal.c.id == order.traversal_id, traversal.c.status != "IN_PROGRESS")
            ).first()
            if row is None:
                return None
            attempt = connection.execute(
                node.update()
                .where(tables.in_traversal(order.traversal_id), node.c.phase == END, node.c.state == "ready")
                .values(
                    state="running",
                    attempt=node.c.attempt + 1,
                    worker=worker,
                    due_at=now + self._timings.lease_seconds,
                )
                .returning(node.c.attempt)
            ).scalar_one_or_none()
        if attempt is None:
            return None
        return Ending(
            stack_id=row.stack_id,
            stack=row.name,
            project=row.project,
            traversal_id=row.id,
            action=row.action,
            status=row.status,
            reason=row.reason,
            attempt=attempt,
            options=json.loads(row.options),
            parent_resource=row.parent_resource,
        )

    @retrying
    def finish_end(self, ending: Ending) -> None:
        """Write down that the last words were said."""
        node = tables.node
        mine = tables.in_traversal(ending.traversal_id) & (node.c.phase == END)
        with self._db.write() as connection:
            connection.execute(
                node.update()
                .where(mine, node.c.state == "running", node.c.attempt == ending.attempt)
                .values(state="done", due_at=None, worker=None)
            )

    @retrying
    def cancel(self, traversal_id: str, *, reason: str, job_id: str) -> CheckOrder | None:
        """Fail a traversal because somebody asked for it, without bringing anything back.

        Returns the order for its end, or None if the same job ended it before.

        Raises:
            Conflict: it is over, or another one took the stack; nothing was changed.
        """
        job = tables.job
        with self._db.write() as connection:
            if connection.execute(sa.select(job.c.id).where(job.c.id == job_id)).first() is not None:
                return None
            now = database_time(connection, self._db)
            stack_id = self._keep_from_others(connection, traversal_id)
            if stack_id is None:
                raise Conflict("what was to be cancelled is over, or another operation took its place")
            accepted = {
                "id": job_id,
                "stack_id": stack_id,
                "traversal_id": traversal_id,
                "status": "accepted",
            }
            connection.execute(job.insert().values(**accepted, created_at=now))
            return self._end_early(connection, traversal_id, reason)

    @retrying
    def fence(self, traversal_id: str) -> CheckOrder | None:
        """Fail a traversal that the next operation is to take over, without bringing anything back.

        It makes no new rows from here on, so whoever plans with those there are can be sure of them. Returns the order
        for its end, or None if it is over.
        """
        traversal = tables.traversal
        with self._db.write() as connection:
            if self._keep_from_others(connection, traversal_id) is None:
                return None
            action = connection.execute(
                sa.select(traversal.c.action).where(traversal.c.id == traversal_id)
            ).scalar_one()
            return self._end_early(connection, traversal_id, f"Stack {action} gave way to another operation")

    @staticmethod
    def _keep_from_others(connection: sa.Connection, traversal_id: str) -> str | None:
        """Hold a traversal's stack, and return its id; None unless the traversal is under way."""
        traversal = tables.traversal
        stack_id = hold_stack(connection, traversal_id)
        running = (traversal.c.id == traversal_id) & (traversal.c.status == "IN_PROGRESS")
        stopped = connection.execute(traversal.update().where(running).values(options="{}"))
        return stack_id if stopped.rowcount == 1 else None

    def _end_early(self, connection: sa.Connection, traversal_id: str, reason: str) -> CheckOrder | None:
        return fail_traversal(
            connection,
            self._db,
            traversal_id=traversal_id,
            reason=reason,
            redeliver_seconds=self._timings.redeliver_seconds,
        )

    @retrying
    def owes_rollback(self, traversal_id: str) -> bool:
        """Whether a failed traversal is still to be followed by a rollback."""
        traversal, node = tables.traversal, tables.node
        sql = (
            sa.select(traversal.c.options, node.c.state)
            .select_from(traversal)
            .join(node, tables.in_traversal(traversal.c.id))
            .where(traversal.c.id == traversal_id, traversal.c.status == "FAILED", node.c.phase == END)
        )
        with self._db.read() as connection:
            row = connection.execute(sql).first()
        return row is not None and row.state != "done" and bool(json.loads(row.options).get("rollback"))

    @retrying
    def options(self, traversal_id: str) -> dict[str, Any]:
        """Return the flags of a traversal's operation."""
        sql = sa.select(tables.traversal.c.options).where(tables.traversal.c.id == traversal_id)
        with self._db.read() as connection:
            options: dict[str, Any] = json.loads(connection.execute(sql).scalar_one())
        return options

    @retrying
    def is_told(self, traversal_id: str) -> bool:
        """Whether a traversal's last words were said."""
        node = tables.node
        sql = sa.select(node.c.state).where(tables.in_traversal(traversal_id), node.c.phase == END)
        with self._db.read() as connection:
            return connection.execute(sql).scalar_one_or_none() in ("done", None)

    @retrying
    def definition(self, traversal_id: str) -> tuple[str, float]:
        """Return the id of the template that a traversal goes by, and its deadline; neither ever changes."""
        traversal = tables.traversal
        sql = sa.select(traversal.c.template_id, traversal.c.deadline).where(traversal.c.id == traversal_id)
        with self._db.read() as connection:
            row = connection.execute(sql).one()
        return row.template_id, row.deadline

    @retrying
    def context(self, traversal_id: str) -> dict[str, Any]:
        """Return what every check of a traversal needs to know; it never changes, so it may be kept."""
        sql = sa.select(tables.traversal.c.context).where(tables.traversal.c.id == traversal_id)
        with self._db.read() as connection:
            packed = connection.execute(sql).scalar_one()
        context: dict[str, Any] = self._codec.unpack(packed)
        return context
