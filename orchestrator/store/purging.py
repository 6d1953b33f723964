"""Remove for good what nobody needs any more, in batches of short transactions.

Safe while everything runs, twice at once, and to be killed anywhere: what is removed is decided by what cannot change
any more, and what points at something goes before it does. See :mod:`orchestrator.store.unneeded` for the decisions.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from orchestrator.codec import Codec
from orchestrator.purge import Purge, Removed
from orchestrator.store import tables, unneeded
from orchestrator.store.database import Database, retrying
from orchestrator.store.templates import StoredTemplate
from orchestrator.store.traversals import database_time

#: How many rows one transaction removes at most.
BATCH = 500

Condition = sa.ColumnElement[bool]


class Purger:
    """Removes for good."""

    def __init__(self, database: Database, codec: Codec) -> None:
        self._db = database
        self._codec = codec

    def purge(self, wanted: Purge) -> Iterator[Removed]:
        """Remove what nobody needs any more; yield after each step what it removed.

        Whoever stops asking stops the purge. In a dry run nothing is removed.
        """
        return _Run(self, wanted, self.now()).steps()

    @retrying
    def take_turn(self, *, every_seconds: float) -> bool:
        """Tell whether it is the caller's turn to purge: nobody has begun to for that long. One of many gets it."""
        sql = sa.text(
            "INSERT INTO chore (name, begun_at) VALUES ('purge', :now) ON CONFLICT (name) DO UPDATE "
            "SET begun_at = excluded.begun_at WHERE chore.begun_at <= excluded.begun_at - :every RETURNING name"
        )
        with self._db.write() as connection:
            now = database_time(connection, self._db)
            return connection.execute(sql, {"now": now, "every": every_seconds}).first() is not None

    def trim_events(self, stack_id: str, *, most: int) -> int:
        """Remove the oldest events of a stack beyond ``most``; return how many went.

        Those of operations that are not over stay.
        """
        removed = 0
        surplus = self.surplus(stack_id, most)
        while surplus is not None:
            count = self.remove_events(surplus)
            removed += count
            if count < BATCH:
                break
        return removed

    # -- the steps, each a transaction -------------------------------------------------------------------------

    @retrying
    def now(self) -> float:
        """Return the database's time."""
        with self._db.read() as connection:
            return database_time(connection, self._db)

    @retrying
    def read(self, sql: sa.Select[Any]) -> Sequence[Any]:
        """Return the rows of a query."""
        with self._db.read() as connection:
            return connection.execute(sql).all()

    @retrying
    def remove(self, table: sa.Table, which: Condition) -> int:
        """Remove at most ``BATCH`` rows; return how many went."""
        key = sa.tuple_(*table.primary_key) if len(table.primary_key) > 1 else next(iter(table.primary_key))
        some = sa.select(*table.primary_key).where(which).limit(BATCH)
        # Asked twice: on PostgreSQL a row may have changed since it was found, and only this is looked at again then.
        sql = table.delete().where(key.in_(some), which)
        with self._db.write() as connection:
            return connection.execute(sql).rowcount

    @retrying
    def remove_nodes(self, traversal_id: str, numbers: Sequence[int], which: Condition) -> int:
        """Remove those of a traversal's nodes that fit; return how many went."""
        node = tables.node
        mine = (node.c.traversal_id == traversal_id) & node.c.no.in_(numbers)
        with self._db.write() as connection:
            return connection.execute(node.delete().where(mine, which)).rowcount

    @retrying
    def surplus(self, stack_id: str, most: int) -> Condition | None:
        """Return which events of a stack are more than ``most``; None if none are."""
        event = tables.event
        newest = sa.select(event.c.id).where(event.c.stack_id == stack_id).order_by(event.c.id.desc())
        kept = newest.limit(most).subquery()
        with self._db.read() as connection:
            row = connection.execute(sa.select(sa.func.min(kept.c.id), sa.func.count())).one()
        if row[1] < most:
            return None
        older: Condition = (event.c.stack_id == stack_id) & (event.c.id < row[0])
        return older & unneeded.is_over(event, stack_id)

    @retrying
    def remove_events(self, which: Condition) -> int:
        """Remove at most ``BATCH`` events, oldest first, and count in their traversals what they told."""
        event, traversal = tables.event, tables.traversal
        some = sa.select(event.c.id).where(which).order_by(event.c.id).limit(BATCH)
        columns = (event.c.traversal_id, event.c.resource, event.c.action, event.c.status)
        told: defaultdict[str, Counter[str]] = defaultdict(Counter)
        with self._db.write() as connection:
            gone = connection.execute(event.delete().where(event.c.id.in_(some)).returning(*columns)).all()
            for row in gone:
                if row.resource:
                    told[row.traversal_id][f"{row.action}_{row.status}"] += 1
            # In one order, and locked: two that trim the same stack both count.
            for traversal_id in sorted(told):
                mine = traversal.c.id == traversal_id
                before = sa.select(traversal.c.counted).where(mine).with_for_update()
                counted = connection.execute(before).scalar_one_or_none()
                if counted is not None:
                    sums = told[traversal_id] + Counter(json.loads(counted))
                    connection.execute(traversal.update().where(mine).values(counted=json.dumps(sums)))
        return len(gone)

    @retrying
    def remove_stack(self, stack_id: str, traversal_id: str) -> tuple[int, int]:
        """Remove a stack's row with the last of its traversals, without which it cannot be shown.

        Return how many stacks and traversals went: none if another purge was faster.
        """
        stack, traversal = tables.stack, tables.traversal
        inner = stack.alias("inner_stack")
        is_empty = ~sa.exists().where(inner.c.parent_id == stack_id)
        with self._db.write() as connection:
            stacks = connection.execute(stack.delete().where(stack.c.id == stack_id, is_empty)).rowcount
            if not stacks:
                return 0, 0
            gone = connection.execute(traversal.delete().where(traversal.c.id == traversal_id)).rowcount
        return stacks, gone

    def templates(self) -> Iterator[tuple[str, StoredTemplate]]:
        """Yield every template with its id.

        Raises:
            UnreadableSecret: no key opens one.
        """
        template, after = tables.template, ""
        while rows := self.read(
            sa.select(template.c.id, template.c.body)
            .where(template.c.id > after)
            .order_by(template.c.id)
            .limit(BATCH // 10)
        ):
            for row in rows:
                yield row.id, StoredTemplate.from_wire(self._codec.unpack(row.body))
            after = rows[-1].id


class _Run:
    """One purge."""

    def __init__(self, purger: Purger, wanted: Purge, now: float) -> None:
        self._purger, self._wanted = purger, wanted
        #: What was over by then is old.
        self._old = now - wanted.older_than_seconds
        #: What is younger may be needed by an operation that is about to begin.
        self._settled = min(self._old, now - wanted.grace_seconds)
        #: What is gone, or would be.
        self._stacks: set[str] = set()
        self._traversals: set[str] = set()
        self._templates: set[str] = set()

    def steps(self) -> Iterator[Removed]:
        yield from self._remove("jobs", tables.job, unneeded.jobs(self._settled, self._wanted.project))
        for stack in self._deleted_stacks():
            yield from self._remove_stack(stack)
        for stack in self._living_stacks():
            yield from self._thin_out(stack)
        yield from self._remove_templates()
        yield from self._remove_files()

    def _remove(self, kind: str, table: sa.Table, which: Condition) -> Iterator[Removed]:
        if self._wanted.dry_run:
            sql = sa.select(sa.func.count()).select_from(table).where(which)
            yield Removed(kind=kind, count=self._purger.read(sql)[0][0])
            return
        while count := self._purger.remove(table, which):
            yield Removed(kind=kind, count=count)
            if count < BATCH:
                return

    # -- deleted stacks ----------------------------------------------------------------------------------------

    def _deleted_stacks(self) -> list[Any]:
        """Return the deleted stacks that go, each after the stacks in it."""
        rows = self._purger.read(unneeded.deleted_stacks(self._old, self._wanted.project))
        if not rows:
            return []
        going = {row.id for row in rows}
        holding = {
            row.parent_id for row in self._purger.read(unneeded.nested_stacks()) if row.id not in going
        }
        chosen = []
        for row in rows:
            if row.id in holding:
                holding.add(row.parent_id)
            else:
                chosen.append(row)
        return chosen

    def _remove_stack(self, stack: Any) -> Iterator[Removed]:
        event, snapshot, resource = tables.event, tables.snapshot, tables.resource
        yield from self._remove("events", event, event.c.stack_id == stack.id)
        snapshots = sa.select(snapshot.c.id).where(snapshot.c.stack_id == stack.id)
        entry = tables.snapshot_resource
        # Counted with the snapshot that they are part of.
        for _ in self._remove("snapshots", entry, entry.c.snapshot_id.in_(snapshots)):
            pass
        yield from self._remove("snapshots", snapshot, snapshot.c.stack_id == stack.id)
        for row in self._purger.read(unneeded.traversals_of(stack.id)):
            self._traversals.add(row.id)
            yield from self._remove_nodes(row.id, sa.true())
            if row.id != stack.traversal_id:
                yield from self._remove("traversals", tables.traversal, tables.traversal.c.id == row.id)
        yield from self._remove("resources", resource, resource.c.stack_id == stack.id)
        self._stacks.add(stack.id)
        gone = (1, 1)
        if not self._wanted.dry_run:
            gone = self._purger.remove_stack(stack.id, stack.traversal_id)
        for kind, count in zip(("stacks", "traversals"), gone, strict=True):
            yield Removed(kind=kind, count=count)

    def _remove_nodes(self, traversal_id: str, which: Condition) -> Iterator[Removed]:
        node, after = tables.node, -1
        mine = tables.in_traversal(traversal_id)
        if self._wanted.dry_run:
            yield from self._remove("nodes", node, mine & which)
            return
        while rows := self._purger.read(
            sa.select(node.c.no).where(mine, node.c.no > after, which).order_by(node.c.no).limit(BATCH)
        ):
            numbers = [row.no for row in rows]
            yield Removed(kind="nodes", count=self._purger.remove_nodes(traversal_id, numbers, which))
            after = numbers[-1]

    # -- living stacks -----------------------------------------------------------------------------------------

    def _living_stacks(self) -> Iterator[Any]:
        after = ""
        while rows := self._purger.read(unneeded.living_stacks(self._wanted.project, after).limit(BATCH)):
            yield from rows
            after = rows[-1].id

    def _thin_out(self, stack: Any) -> Iterator[Removed]:
        """Remove what a living stack does not need of its past."""
        yield from self._trim(stack.id)
        for row in self._purger.read(unneeded.old_traversals(stack.id, stack.traversal_id, self._settled)):
            needed = unneeded.is_needed(stack.id, row.id)
            yield from self._remove_nodes(row.id, ~needed)
            is_left = tables.in_traversal(row.id) & (needed if self._wanted.dry_run else sa.true())
            if not self._purger.read(sa.select(tables.node.c.no).where(is_left).limit(1)):
                self._traversals.add(row.id)
                yield from self._remove("traversals", tables.traversal, tables.traversal.c.id == row.id)
        resource = tables.resource
        gone = (resource.c.stack_id == stack.id) & unneeded.is_tombstone(self._settled)
        yield from self._remove("resources", resource, gone)

    def _trim(self, stack_id: str) -> Iterator[Removed]:
        surplus = self._purger.surplus(stack_id, self._wanted.max_events_per_stack)
        if surplus is None:
            return
        if self._wanted.dry_run:
            yield from self._remove("events", tables.event, surplus)
            return
        while count := self._purger.remove_events(surplus):
            yield Removed(kind="events", count=count)

    # -- templates and files -----------------------------------------------------------------------------------

    def _remove_templates(self) -> Iterator[Removed]:
        used = {
            row.template_id
            for row in self._purger.read(unneeded.uses_of_templates(self._settled, self._wanted.project))
            if row.stack_id not in self._stacks and row.traversal_id not in self._traversals
        }
        template = tables.template
        old = template.c.saved_at <= self._settled
        unused = {row.id for row in self._purger.read(sa.select(template.c.id).where(old))} - used
        self._templates = unused
        for some in _parts(sorted(unused)):
            is_still = sa.true() if self._wanted.dry_run else unneeded.is_unused(template)
            yield from self._remove("templates", template, template.c.id.in_(some) & old & is_still)

    def _remove_files(self) -> Iterator[Removed]:
        file = tables.file
        old = file.c.saved_at <= self._settled
        unused = {row.id for row in self._purger.read(sa.select(file.c.id).where(old))}
        if not unused:
            return
        for template_id, stored in self._purger.templates():
            if template_id not in self._templates:
                unused.difference_update(stored.files.values())
        for some in _parts(sorted(unused)):
            # A template that was saved since then has marked its files as saved again, or has them from one that is
            # used.
            yield from self._remove("files", file, file.c.id.in_(some) & old)


def _parts(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), BATCH):
        yield ids[start : start + BATCH]
