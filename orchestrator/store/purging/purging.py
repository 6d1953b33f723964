"""Purges of rows that are not needed any more, in batches of short transactions.

A purge is safe while the engine runs, next to another purge, and to be killed at any point: it decides by facts that
cannot change any more, and removes a row after those that point at it. The conditions are in
:mod:`orchestrator.store.purging.unneeded`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.model.purge import Purge, Removed
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.purging import unneeded
from orchestrator.store.purging.removals import BATCH, Removals
from orchestrator.store.rows import chunked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orchestrator.model.codec import Codec
    from orchestrator.store.database import Database
    from orchestrator.store.purging.unneeded import Condition
    from orchestrator.store.repository import Timings
    from orchestrator.store.rows import AnyRow


class Purger:
    """Purges, and trims of events."""

    def __init__(self, database: Database, codec: Codec, timings: Timings) -> None:
        self._db, self._removals = database, Removals(database, codec, timings)

    def purge(self, wanted: Purge) -> Iterator[Removed]:
        """Remove the rows that are not needed any more; yield what each step removed.

        The purge stops when the caller stops iterating. A dry run removes nothing.
        """
        return _Run(self._db, self._removals, wanted).steps()

    def take_turn(self, *, every_seconds: float) -> bool:
        """Return whether the caller should purge now: no process has begun to for that long. One of many gets it.

        In a database where none ever has, the time begins with the first call: nothing in a new one is old enough.
        """
        return self._removals.take_turn(every_seconds)

    def trim_events(self, stack_id: str, *, most: int) -> int:
        """Remove the oldest events of a stack beyond ``most``; return how many were removed.

        Events of operations in progress stay, and those that an event sink has not received.
        """
        removed = 0
        surplus = self._removals.surplus(stack_id, most)
        while surplus is not None:
            count = self._removals.remove_events(surplus)
            removed += count
            if count < BATCH:
                break
        return removed


class _Run:
    def __init__(self, database: Database, removals: Removals, wanted: Purge) -> None:
        self._db, self._removals, self._wanted = database, removals, wanted
        self._now = now = database.time()
        #: Rows finished by then are old.
        self._old = now - wanted.older_than_seconds
        logs_seconds = wanted.logs_older_than_seconds
        self._old_logs = self._old if logs_seconds is None else now - logs_seconds
        #: Younger rows may be needed by an operation that is about to begin.
        self._settled = min(self._old, now - wanted.grace_seconds)
        #: The ids that were removed, or would be.
        self._stacks: set[str] = set()
        self._traversals: set[str] = set()
        self._templates: set[str] = set()

    def steps(self) -> Iterator[Removed]:
        yield from self._remove("jobs", tables.job, unneeded.jobs(self._settled, self._wanted.project))
        yield from self._remove(
            "logs", tables.step_log, unneeded.step_logs(self._old_logs, self._wanted.project)
        )
        for stack in self._deleted_stacks():
            yield from self._remove_stack(stack)
        for stack in self._living_stacks():
            yield from self._thin_out(stack)
        yield from self._remove_operations(unneeded.never_begun(self._settled, self._wanted.project))
        yield from self._remove_templates()
        yield from self._remove_files()

    def _remove(self, kind: str, table: sa.Table, which: Condition) -> Iterator[Removed]:
        if self._wanted.dry_run:
            sql = sa.select(sa.func.count().label("number")).select_from(table).where(which)
            yield Removed(kind=kind, count=self._db.one(sql).number)
            return
        while count := self._removals.remove(table, which):
            yield Removed(kind=kind, count=count)
            if count < BATCH:
                return

    # -- deleted stacks ----------------------------------------------------------------------------------------

    def _deleted_stacks(self) -> Sequence[AnyRow]:
        """Return the deleted stacks to remove, each after the stacks nested in it."""
        rows = self._db.rows(unneeded.deleted_stacks(self._old, self._wanted.project, self._now))
        if not rows:
            return []
        going = {row.id for row in rows}
        holding = {row.parent_id for row in self._db.rows(unneeded.nested_stacks()) if row.id not in going}
        chosen = []
        for row in rows:
            if row.id in holding:
                holding.add(row.parent_id)
            else:
                chosen.append(row)
        return chosen

    def _remove_stack(self, stack: AnyRow) -> Iterator[Removed]:
        event, snapshot, traversal = tables.event, tables.snapshot, tables.traversal
        yield from self._remove("events", event, event.c.stack_id == stack.id)
        yield from self._remove("logs", tables.step_log, tables.step_log.c.stack_id == stack.id)
        snapshots = sa.select(snapshot.c.id).where(snapshot.c.stack_id == stack.id)
        if self._db.first(snapshots):
            entry = tables.snapshot_resource
            # Entries are not counted by themselves.
            for _ in self._remove("snapshots", entry, entry.c.snapshot_id.in_(snapshots)):
                pass
            yield from self._remove("snapshots", snapshot, snapshot.c.stack_id == stack.id)
        for row in self._db.rows(unneeded.traversals_of(stack.id)):
            self._traversals.add(row.id)
            yield from self._remove_nodes(row.id, sa.true())
        begun = tables.operation.c.id.in_(sa.select(traversal.c.id).where(traversal.c.stack_id == stack.id))
        yield from self._remove_operations(begun)
        others = (traversal.c.stack_id == stack.id) & (traversal.c.id != stack.traversal_id)
        yield from self._remove("traversals", traversal, others)
        yield from self._remove("resources", tables.resource, tables.resource.c.stack_id == stack.id)
        # Annotations are not counted by themselves.
        for _ in self._remove("resources", tables.annotation, tables.annotation.c.stack_id == stack.id):
            pass
        self._stacks.add(stack.id)
        gone = (1, 1)
        if not self._wanted.dry_run:
            gone = self._removals.remove_stack(stack.id, stack.traversal_id)
        for kind, count in zip(("stacks", "traversals"), gone, strict=True):
            yield Removed(kind=kind, count=count)

    def _remove_nodes(self, traversal_id: str, which: Condition) -> Iterator[Removed]:
        node, after = tables.node, -1
        mine = tables.in_traversal(traversal_id)
        if self._wanted.dry_run:
            yield from self._remove("nodes", node, mine & which)
            return
        while rows := self._db.rows(
            sa.select(node.c.no).where(mine, node.c.no > after, which).order_by(node.c.no).limit(BATCH)
        ):
            numbers = [row.no for row in rows]
            yield Removed(kind="nodes", count=self._removals.remove_nodes(traversal_id, numbers, which))
            if len(rows) < BATCH:
                return
            after = numbers[-1]

    # -- living stacks -----------------------------------------------------------------------------------------

    def _living_stacks(self) -> Iterator[AnyRow]:
        """Yield the living stacks that have rows to remove; most have none."""
        after = ""
        while rows := self._db.rows(unneeded.living_stacks(self._wanted.project, after).limit(BATCH)):
            stack_ids = [row.id for row in rows]
            thick = {
                row.stack_id
                for sql in unneeded.thick(stack_ids, self._settled, self._wanted.max_events_per_stack)
                for row in self._db.rows(sql)
            }
            yield from (row for row in rows if row.id in thick)
            after = rows[-1].id

    def _thin_out(self, stack: AnyRow) -> Iterator[Removed]:
        yield from self._trim(stack.id)
        for row in self._db.rows(unneeded.old_traversals(stack.id, stack.traversal_id, self._settled)):
            needed = unneeded.is_needed(stack.id, row.id)
            yield from self._remove_nodes(row.id, ~needed)
            is_left = tables.in_traversal(row.id) & (needed if self._wanted.dry_run else sa.true())
            if not self._db.first(sa.select(tables.node.c.no).where(is_left).limit(1)):
                self._traversals.add(row.id)
                yield from self._remove_operations(tables.operation.c.id == row.id)
                yield from self._remove("traversals", tables.traversal, tables.traversal.c.id == row.id)
        resource = tables.resource
        gone = (resource.c.stack_id == stack.id) & unneeded.is_tombstone(self._settled)
        yield from self._remove("resources", resource, gone)

    def _trim(self, stack_id: str) -> Iterator[Removed]:
        surplus = self._removals.surplus(stack_id, self._wanted.max_events_per_stack)
        if surplus is None:
            return
        if self._wanted.dry_run:
            yield from self._remove("events", tables.event, surplus)
            return
        while count := self._removals.remove_events(surplus):
            yield Removed(kind="events", count=count)

    # -- operations --------------------------------------------------------------------------------------------

    def _remove_operations(self, which: Condition) -> Iterator[Removed]:
        """Remove some operations from the ledger, with their calls of lifecycle plugins."""
        call = tables.operation_call
        # Calls are not counted by themselves.
        for _ in self._remove(
            "operations", call, call.c.operation_id.in_(sa.select(tables.operation.c.id).where(which))
        ):
            pass
        yield from self._remove("operations", tables.operation, which)

    # -- templates and files -----------------------------------------------------------------------------------

    def _remove_templates(self) -> Iterator[Removed]:
        used = {
            row.template_id
            for row in self._db.rows(unneeded.uses_of_templates(self._settled, self._wanted.project))
            if row.stack_id not in self._stacks and row.traversal_id not in self._traversals
        }
        template = tables.template
        old = template.c.saved_at <= self._settled
        unused = set(self._db.column(sa.select(template.c.id).where(old))) - used
        self._templates = unused
        for some in chunked(sorted(unused)):
            is_still = sa.true() if self._wanted.dry_run else unneeded.is_unused(template)
            yield from self._remove("templates", template, template.c.id.in_(some) & old & is_still)

    def _remove_files(self) -> Iterator[Removed]:
        file = tables.file
        old = file.c.saved_at <= self._settled
        unused = set(self._db.column(sa.select(file.c.id).where(old)))
        if not unused:
            return
        for template_id, stored in self._removals.templates():
            if template_id not in self._templates:
                unused.difference_update(stored.files.values())
        for some in chunked(sorted(unused)):
            # A template saved since then has marked its files as saved again, or shares them with a used template.
            yield from self._remove("files", file, file.c.id.in_(some) & old)
