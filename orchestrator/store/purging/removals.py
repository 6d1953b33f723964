"""The operations of a purge on the tables: each is one short transaction that removes a batch."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.purging import unneeded
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.traversals.templates import StoredTemplate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orchestrator.store.purging.unneeded import Condition

#: The most rows that one transaction removes.
BATCH = 500
#: Whether a purge is due; no row where none was recorded.
_IS_DUE: Final = "SELECT begun_at <= {now} - :every_seconds AS is_due FROM chore WHERE name = 'purge'"
_FIRST_TURN: Final = (
    "INSERT INTO chore (name, begun_at) VALUES ('purge', {now}) ON CONFLICT (name) DO NOTHING"
)
_NEXT_TURN: Final = (
    "UPDATE chore SET begun_at = {now} WHERE name = 'purge' AND begun_at <= {now} - :every_seconds"
)
#: The oldest among the newest events of a stack, and how many these are.
_NEWEST: Final = (
    "SELECT min(id) AS oldest, count(*) AS number "
    "FROM (SELECT id FROM event WHERE stack_id = :stack_id ORDER BY id DESC LIMIT :most) AS newest"
)


class Removals(Repository):
    """Reads and removals of batches of rows, by given conditions."""

    def take_turn(self, every_seconds: float) -> bool:
        """Return whether the caller should purge now; see :meth:`Purger.take_turn`."""
        values = {"every_seconds": every_seconds}
        found = self._db.first(_IS_DUE.format(now=self._db.now), values)
        if found is None:
            # The turn is recorded as if a purge of the new database had just found nothing to remove.
            self._db.change(_FIRST_TURN.format(now=self._db.now))
            return False
        return bool(found.is_due) and self._db.change(_NEXT_TURN.format(now=self._db.now), values) == 1

    def remove(self, table: sa.Table, which: Condition) -> int:
        """Remove at most ``BATCH`` rows; return how many were removed."""
        key = sa.tuple_(*table.primary_key) if len(table.primary_key) > 1 else next(iter(table.primary_key))
        some = sa.select(*table.primary_key).where(which).limit(BATCH)
        # The condition is repeated: PostgreSQL checks only the outer one again for a row that changed meanwhile.
        return self._db.change(table.delete().where(key.in_(some), which))

    def remove_nodes(self, traversal_id: str, numbers: Sequence[int], which: Condition) -> int:
        """Remove the nodes of a traversal that fit a condition; return how many were removed."""
        node = tables.node
        mine = (node.c.traversal_id == traversal_id) & node.c.no.in_(numbers)
        return self._db.change(node.delete().where(mine, which))

    def surplus(self, stack_id: str, most: int) -> Condition | None:
        """Return the condition of a stack's removable events beyond the newest ``most``; None if there are none."""
        newest = self._db.one(_NEWEST, {"stack_id": stack_id, "most": most})
        if newest.number < most:
            return None
        event = tables.event
        older: Condition = (event.c.stack_id == stack_id) & (event.c.id < newest.oldest)
        return older & unneeded.is_over(event, stack_id) & unneeded.is_delivered(event, stack_id)

    @retrying
    def remove_events(self, which: Condition) -> int:
        """Remove at most ``BATCH`` events, oldest first, and add them to the counts of their traversals."""
        event, traversal = tables.event, tables.traversal
        some = sa.select(event.c.id).where(which).order_by(event.c.id).limit(BATCH)
        columns = (event.c.traversal_id, event.c.resource, event.c.action, event.c.status)
        removed: defaultdict[str, Counter[str]] = defaultdict(Counter)
        with self._db.write() as connection:
            gone = connection.execute(event.delete().where(event.c.id.in_(some)).returning(*columns)).all()
            for row in gone:
                if row.resource:
                    removed[row.traversal_id][f"{row.action}_{row.status}"] += 1
            # Locked in one order, so that two trims of the same stack both count and cannot deadlock.
            for traversal_id in sorted(removed):
                mine = traversal.c.id == traversal_id
                before = sa.select(traversal.c.counted).where(mine).with_for_update()
                counted = connection.execute(before).scalar_one_or_none()
                if counted is not None:
                    sums = removed[traversal_id] + Counter(json.loads(counted))
                    connection.execute(traversal.update().where(mine).values(counted=json.dumps(sums)))
        return len(gone)

    @retrying
    def remove_stack(self, stack_id: str, traversal_id: str) -> tuple[int, int]:
        """Remove a stack's row together with its last traversal, annotations, sink cursors, observation and shares.

        Return how many stacks and traversals were removed: none if another purge was faster.
        """
        stack, traversal = tables.stack, tables.traversal
        inner = stack.alias("inner_stack")
        is_empty = ~sa.exists().where(inner.c.parent_id == stack_id)
        with self._db.write() as connection:
            stacks = connection.execute(stack.delete().where(stack.c.id == stack_id, is_empty)).rowcount
            if not stacks:
                return 0, 0
            annotation = tables.annotation
            connection.execute(annotation.delete().where(annotation.c.stack_id == stack_id))
            gone = connection.execute(traversal.delete().where(traversal.c.id == traversal_id)).rowcount
            cursor = tables.sink_cursor
            connection.execute(cursor.delete().where(cursor.c.stack_id == stack_id))
            for other in (tables.observation, tables.drift, tables.output_reader, tables.output_share):
                connection.execute(other.delete().where(other.c.stack_id == stack_id))
        return stacks, gone

    def templates(self) -> Iterator[tuple[str, StoredTemplate]]:
        """Yield every template with its id.

        Raises:
            UnreadableSecret: none of the configured keys decrypts a template.
        """
        template, after = tables.template, ""
        while rows := self._db.rows(
            sa.select(template.c.id, template.c.body)
            .where(template.c.id > after)
            .order_by(template.c.id)
            .limit(BATCH // 10)
        ):
            for row in rows:
                yield (
                    row.id,
                    StoredTemplate.from_wire(self._codec.unpack(row.body, ("template", "body", row.id))),
                )
            after = rows[-1].id
