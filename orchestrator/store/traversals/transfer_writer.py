"""Writer of moves between stacks, in the transaction that begins the operation of the outermost stack.

What is on record of a resource by its stack and its name gets the new ones: reservations, annotations, drift, and the
outputs that it reads. Events and log lines of the past keep those that the resource had then.
"""

import uuid
from typing import Any, Final

import sqlalchemy as sa

from hooks.values.states import MOVE
from orchestrator.model.codec import Codec
from orchestrator.store import tables
from orchestrator.store.database import Database
from orchestrator.store.rows import chunked
from orchestrator.store.stack_events import insert_event, insert_resource_event
from orchestrator.store.stacks.nested_stacks import below
from orchestrator.store.stacks.snapshots import fail_snapshot
from orchestrator.store.traversals.new_traversal import Overtaken
from orchestrator.store.traversals.renaming import rename_annotations, rename_groups, rename_reservations
from orchestrator.store.traversals.superseding import supersede
from orchestrator.store.traversals.transfers import MADE_FOR, NewNestedStack, Transfer, Transfers

#: The namespace of the ids of traversals without nodes.
_RENEWED: Final = uuid.UUID("0b9f0f0e-6a53-4d0e-8a75-0c8a8d0b7d7a")
#: Why an operation ends out of whose stack, or into which, a rollback moves resources.
_INTERRUPTED: Final = "a rollback moved resources of it"


class TransferWriter:
    """Writes moves between stacks in the transaction that begins the operation of the outermost stack."""

    def __init__(self, connection: sa.Connection, database: Database, codec: Codec, now: float) -> None:
        self._connection, self._database, self._codec, self._now = connection, database, codec, now

    def hold(self, root_id: str, transfers: Transfers) -> None:
        """Lock the stacks that take part, in the order of their ids, as observations do.

        Raises:
            Overtaken: one has begun something else since.
        """
        stack = tables.stack
        columns = (stack.c.id, stack.c.traversal_id, stack.c.status, stack.c.deleted_at)
        some = stack.c.id.in_(sorted({root_id, *transfers.expected}))
        rows = self._connection.execute(
            sa.select(*columns).where(some).order_by(stack.c.id).with_for_update()
        ).all()
        found = {row.id: row for row in rows}
        for stack_id, traversal_id in transfers.expected.items():
            row = found.get(stack_id)
            if row is None or row.deleted_at is not None or row.traversal_id != traversal_id:
                raise Overtaken
            if row.status == "IN_PROGRESS" and not transfers.interrupts:
                raise Overtaken

    def write(self, transfers: Transfers, traversal_id: str) -> None:
        """Move the rows, and all that is on record by their places; ``traversal_id`` is that of the operation.

        Raises:
            Overtaken: a row was changed, or a check has taken it, since the moves were planned.
        """
        for stack_id in sorted(transfers.expected):
            self._renew(stack_id, transfers.expected[stack_id], traversal_id)
        for made in transfers.made:
            self._make(made)
        places = {
            (each.stack_id_before, each.name_before): (each.stack_id, each.name) for each in transfers.rows
        }
        for each in sorted(transfers.rows, key=lambda each: each.row_id):
            self._move(each)
        self._move_stacks(transfers)
        rename_reservations(self._connection, places, operation_id=traversal_id)
        rename_groups(self._connection, places)
        rename_annotations(self._connection, self._codec, places)
        self._move_drift(transfers)
        self._record(transfers, traversal_id)

    def _renew(self, stack_id: str, before: str, operation_id: str) -> None:
        """Let a traversal without nodes take the place of that of a stack that takes part.

        So no operation begins on it that was planned by the rows before. What is under way on it ends.
        """
        stack, traversal = tables.stack, tables.traversal
        row = self._connection.execute(
            sa.select(stack.c.status, stack.c.action).where(stack.c.id == stack_id)
        ).one()
        old = self._connection.execute(sa.select(traversal).where(traversal.c.id == before)).one()
        values: dict[str, Any] = {"updated_at": self._now}
        if row.status == "IN_PROGRESS":
            supersede(self._connection, self._database, before, self._now)
            fail_snapshot(self._connection, self._codec, before, _INTERRUPTED)
            values |= {"status": "FAILED", "reason": _INTERRUPTED}
        new_id = str(uuid.uuid5(_RENEWED, f"{operation_id}/{stack_id}"))
        context = self._codec.packed_again(
            old.context, ("traversal", "context", before), ("traversal", "context", new_id)
        )
        is_over = row.status != "IN_PROGRESS"
        self._connection.execute(
            traversal.insert().values(
                id=new_id,
                stack_id=stack_id,
                action=row.action,
                status=row.status if is_over else "FAILED",
                reason=old.reason if is_over else _INTERRUPTED,
                context=context,
                template_id=old.template_id,
                left_out=old.left_out,
                deadline=old.deadline,
                created_at=self._now,
                ended_at=self._now,
            )
        )
        self._connection.execute(
            stack.update().where(stack.c.id == stack_id).values(traversal_id=new_id, **values)
        )

    def _make(self, made: NewNestedStack) -> None:
        stack, row, now = made.stack, made.row, self._now
        state = {name: getattr(row, name) for name in ("action", "status", "reason", "physical_id")}
        resource = tables.resource
        if made.has_row:
            self._connection.execute(
                resource.update().where(resource.c.id == row.id).values(**state, updated_at=now)
            )
        else:
            self._connection.execute(
                resource.insert().values(
                    id=row.id,
                    stack_id=row.stack_id,
                    name=row.name,
                    type=row.type,
                    template_id=row.template_id,
                    created_at=now,
                    updated_at=now,
                    **state,
                )
            )
        named = ("id", "name", "project", "action", "status", "traversal_id", "template_id", "parent_id")
        placed = ("parent_resource", "root_id", "depth", "completed_template_id", "timeout_minutes")
        self._connection.execute(
            tables.stack.insert().values(
                **{name: getattr(stack, name) for name in (*named, *placed)},
                in_service=True,
                defining_traversal_id=stack.traversal_id,
                created_at=now,
                updated_at=now,
            )
        )
        self._connection.execute(
            tables.traversal.insert().values(
                id=stack.traversal_id,
                stack_id=stack.id,
                action=stack.action,
                status=stack.status,
                context=self._codec.pack(made.context, ("traversal", "context", stack.traversal_id)),
                template_id=stack.template_id,
                deadline=now,
                created_at=now,
                ended_at=now,
            )
        )
        insert_event(
            self._connection,
            now,
            stack_id=stack.id,
            traversal_id=stack.traversal_id,
            action=stack.action,
            status=stack.status,
            reason=MADE_FOR,
        )

    def _move(self, transfer: Transfer) -> None:
        resource = tables.resource
        mine = (
            (resource.c.id == transfer.row_id)
            & (resource.c.stack_id == transfer.stack_id_before)
            & (resource.c.name == transfer.name_before)
            & (resource.c.updated_at == transfer.updated_at)
            & resource.c.lock_traversal.is_not_distinct_from(transfer.lock_traversal)
        )
        moved = self._connection.execute(
            resource.update()
            .where(mine)
            .values(
                **transfer.columns,
                transferred_at=self._now,
                updated_at=self._now,
                **({} if transfer.is_bare else {"applied_traversal": None, "applied_no": None}),
            )
        )
        if moved.rowcount != 1:
            raise Overtaken
        for table in (tables.drift, tables.output_reader):
            where = table.c.resource_id == transfer.row_id
            self._connection.execute(table.update().where(where).values(stack_id=transfer.stack_id))

    def _move_stacks(self, transfers: Transfers) -> None:
        """Nest the stacks of moved resources in those that these are in now, with all that is nested in them."""
        stack = tables.stack
        for each in transfers.rows:
            one = stack.c.id == each.row_id
            depth = self._connection.execute(sa.select(stack.c.depth).where(one)).scalar()
            if depth is None:
                continue
            outer = sa.select(stack.c.depth).where(stack.c.id == each.stack_id)
            deeper = self._connection.execute(outer).scalar_one() + 1 - depth
            self._connection.execute(stack.update().where(one).values(parent_id=each.stack_id))
            family = [each.row_id, *below(self._connection, each.row_id)]
            for some in chunked(family):
                self._connection.execute(
                    stack.update().where(stack.c.id.in_(some)).values(depth=stack.c.depth + deeper)
                )

    def _move_drift(self, transfers: Transfers) -> None:
        drift = tables.drift
        for each in transfers.rows:
            ids = [each.row_id, *self._rows_below(each.row_id)]
            for some in chunked(ids):
                found = self._connection.execute(
                    sa.select(drift.c.resource_id, drift.c.key, drift.c.path).where(
                        drift.c.resource_id.in_(some)
                    )
                ).all()
                for row in found:
                    rest = row.path.removeprefix(each.path_before)
                    if row.path == rest or rest[:1] not in ("", "/"):
                        # It comes into a stack that is moved as well, with a path of its own.
                        continue
                    one = (drift.c.resource_id == row.resource_id) & (drift.c.key == row.key)
                    self._connection.execute(drift.update().where(one).values(path=f"{each.path}{rest}"))

    def _rows_below(self, row_id: str) -> list[str]:
        """Return the ids of the rows in the stack that a resource is, if it is one, and in those nested in it."""
        resource = tables.resource
        stacks = [row_id, *below(self._connection, row_id)]
        return [
            each
            for some in chunked(stacks)
            for each in self._connection.execute(
                sa.select(resource.c.id).where(resource.c.stack_id.in_(some))
            ).scalars()
        ]

    def _record(self, transfers: Transfers, traversal_id: str) -> None:
        """Record an event for each resource that is moved, in the stack that has it now."""
        resource = tables.resource
        columns = (resource.c[name] for name in ("id", "stack_id", "name", "type", "physical_id"))
        by_id = {each.row_id: each for each in transfers.rows}
        found: dict[str, Any] = {}
        for some in chunked(sorted(by_id)):
            sql = sa.select(*columns).where(resource.c.id.in_(some))
            rows = self._connection.execute(
                sql.order_by(resource.c.replaced_by.is_(None), resource.c.created_at)
            )
            for row in rows:
                found[by_id[row.id].path] = row
        for path in sorted(found):
            row = found[path]
            insert_resource_event(
                self._connection,
                row,
                self._now,
                traversal_id=traversal_id,
                action=MOVE,
                status="COMPLETE",
                reason=f"it was {by_id[row.id].path_before!r}, and is {path!r}",
            )
