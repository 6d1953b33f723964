"""Nested stacks: trees of stacks as rows, their progress and resource counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from orchestrator.model.messages import CHECKED_PHASES
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import chunked
from orchestrator.store.stacks.stacks import NodeCounts, StackRow, stack_row_of, stacks_text
from orchestrator.store.stacks.tallies import Tally, tallies, under_way
from orchestrator.store.stacks.unclean import IS_UNCLEAN

if TYPE_CHECKING:
    from orchestrator.store.direct import Direct

#: The most active resources that a progress names.
ACTIVE: Final = 10
#: The operations that nested stacks have begun since that of a stack around them, and the names of their resources.
_BEGUN: Final = """
    SELECT t.id, r.name
    FROM stack s JOIN traversal t ON t.id = s.traversal_id JOIN resource r ON r.id = s.parent_resource
    WHERE s.root_id = :root_id AND s.depth > :depth
        AND t.created_at >= (SELECT created_at FROM traversal WHERE id = :traversal_id)"""
#: Resources at work.
_ACTIVE: Final = f"""
    SELECT n.traversal_id, n.key, r.reason FROM node n LEFT JOIN resource r ON r.id = n.resource_id
    WHERE n.traversal_id || '' {{in_traversals}} AND n.phase IN {CHECKED_PHASES}
        AND n.state IN ('running', 'waiting') AND n.hook IS NULL
    ORDER BY n.state, n.no LIMIT {ACTIVE}"""  # constants


#: The stacks nested in a tree below a depth.
_INSIDE: Final = """
    SELECT id, parent_id, parent_resource, status FROM stack
    WHERE root_id = :root_id AND deleted_at IS NULL AND depth > :depth"""
#: The stacks of a tree with a resource that needs a visit.
_UNSOUND: Final = f"""
    SELECT DISTINCT stack.id FROM stack JOIN resource ON resource.stack_id = stack.id
    WHERE stack.root_id = :root_id AND stack.deleted_at IS NULL AND NOT {tables.IS_GONE}
        AND (
            resource.unhealthy OR resource.status <> 'COMPLETE'
            OR resource.id IN (
                SELECT drift.resource_id FROM drift
                WHERE drift.root_id = :root_id AND drift.standing = :repairing
            )
            OR resource.id IN (
                SELECT reader.resource_id FROM output_reader reader
                WHERE reader.root_id = :root_id AND reader.stale
            )
        )"""


class Families(Repository):
    """Reads of trees of stacks, and the release of a nested stack."""

    @retrying
    def children(self, stack_id: str) -> list[StackRow]:
        """Return the stacks nested directly in a stack that are not deleted, oldest first."""
        return self._present("parent_id = :id", stack_id)

    def is_unclean(self, stack_id: str) -> bool:
        """Return whether a stack's last definition is in service, but removing other rows failed."""
        sql = f"SELECT stack.id FROM stack WHERE stack.id = :id AND {IS_UNCLEAN}"  # a constant
        return self._db.first(sql, {"id": stack_id}) is not None

    @retrying
    def in_tree(self, root_id: str) -> list[StackRow]:
        """Return an outermost stack and all nested in it that are not deleted, oldest first."""
        return self._present("root_id = :id", root_id)

    def _present(self, which: str, stack_id: str) -> list[StackRow]:
        sql = (
            f"{stacks_text()} WHERE {which} AND deleted_at IS NULL ORDER BY created_at, name"  # texts of ours
        )
        with self._db.reading() as direct:
            return [stack_row_of(row, direct) for row in direct.rows(sql, {"id": stack_id})]

    @retrying
    def release(self, stack_id: str) -> None:
        """Make a nested stack an outermost one; those nested in it stay so. Safe to repeat."""
        stack = tables.stack
        with self._db.write() as connection:
            row = connection.execute(
                sa.select(stack.c.root_id, stack.c.depth).where(stack.c.id == stack_id)
            ).first()
            if row is None or not row.depth:
                return
            family = [stack_id, *below(connection, stack_id)]
            connection.execute(
                stack.update()
                .where(stack.c.id.in_(family))
                .values(root_id=stack_id, depth=stack.c.depth - row.depth)
            )
            alone = {"parent_id": None, "parent_resource": None}
            connection.execute(stack.update().where(stack.c.id == stack_id).values(**alone))

    def has_transfers(self, root_id: str) -> bool:
        """Return whether a resource of a tree of stacks was moved between them since an earlier definition of it."""
        stack, resource = tables.stack, tables.resource
        sql = (
            sa.select(resource.c.id)
            .join(stack, stack.c.id == resource.c.stack_id)
            .where(stack.c.root_id == root_id, resource.c.complete_path.is_not(None), ~tables.is_gone())
        )
        return self._db.first(sql.limit(1)) is not None

    def transferred_since(self, root_id: str, since: float) -> str | None:
        """Return the name of a resource of a tree of stacks that was moved between them since then; None for none."""
        stack, resource = tables.stack, tables.resource
        sql = (
            sa.select(resource.c.name)
            .join(stack, stack.c.id == resource.c.stack_id)
            .where(stack.c.root_id == root_id, resource.c.transferred_at >= since, ~tables.is_gone())
            .order_by(resource.c.name)
        )
        row = self._db.first(sql.limit(1))
        return None if row is None else str(row[0])

    def count_in_tree(self, root_id: str, *, besides: str) -> int:
        """Count the resources of a tree of stacks, without those of the stack ``besides``."""
        stack, resource = tables.stack, tables.resource
        sql = (
            sa.select(sa.func.count())
            .select_from(stack)
            .join(resource, resource.c.stack_id == stack.c.id)
            .where(
                stack.c.root_id == root_id,
                stack.c.deleted_at.is_(None),
                stack.c.id != besides,
                ~tables.is_gone(),
            )
        )
        return int(self._db.one(sql)[0])

    @retrying
    def progress(self, stack_row: StackRow) -> NodeCounts:
        """Count the resources of a stack's operation by state, those of nested stacks included."""
        own = {
            "root_id": stack_row.root_id,
            "depth": stack_row.depth,
            "traversal_id": stack_row.traversal_id,
        }
        with self._db.moment() as direct:
            outer = {row.id: row.name for row in direct.rows(_BEGUN, own)}
            parts = [self._progress(direct, part) for part in chunked([stack_row.traversal_id, *outer])]
        counts: Counter[str] = Counter()
        active: dict[str, str] = {}
        for counted, found in parts:
            for each in counted:
                counts.update(each.counts)
            for traversal_id, key, reason in found:
                active["/".join(filter(None, (outer.get(traversal_id, ""), key)))] = reason
        shown = list(active)[:ACTIVE]
        return NodeCounts(
            counts=dict(counts),
            active=tuple(shown),
            reasons={name: active[name] for name in shown if active[name]},
        )

    @retrying
    def counts(self, traversal_id: str) -> Mapping[str, int]:
        """Count the resources of one traversal by state, as a tally does; empty if it does not exist."""
        with self._db.moment() as direct:
            counted = tallies(direct, under_way(direct, [traversal_id]))
        return counted[traversal_id].counts if traversal_id in counted else {}

    def _progress(
        self, direct: Direct, traversals: Sequence[str]
    ) -> tuple[Iterable[Tally], Sequence[tuple[str, str, str]]]:
        """Return the tallies of traversals; and of active resources the traversal, the name and the reason."""
        sql = _ACTIVE.format(in_traversals=self._db.in_list("traversals"))
        active = direct.rows(sql, {"traversals": self._db.texts(traversals)})
        counted = tallies(direct, under_way(direct, traversals))
        return counted.values(), [
            (row.traversal_id, row.key, direct.opened(row.reason or "")) for row in active
        ]

    @retrying
    def troubled(self, stack_row: StackRow) -> frozenset[str]:
        """Return the ids of a stack's rows whose nested stacks need a visit, at any depth.

        Such a stack has an operation of its own that failed or is in progress, or a resource that is unhealthy, not
        complete, or to be repaired, or whose value of another stack's output is outdated.
        """
        # A new stack has neither nested ones nor drift.
        from orchestrator.model.drift import Standing

        tree = {"root_id": stack_row.root_id}
        with self._db.reading() as direct:
            rows = direct.rows(_INSIDE, {**tree, "depth": stack_row.depth})
            if not rows:
                return frozenset()
            wrong = direct.rows(_UNSOUND, {**tree, "repairing": Standing.REPAIRING.value})
            unsound = {row.id for row in wrong}
        parents = {row.id: (row.parent_id, row.parent_resource) for row in rows}
        found = set()
        for row in rows:
            if row.status == "COMPLETE" and row.id not in unsound:
                continue
            parent, own = parents[row.id]
            while parent in parents and parent != stack_row.id:
                parent, own = parents[parent]
            if parent == stack_row.id:
                found.add(own)
        return frozenset(found)


def below(connection: sa.Connection, stack_id: str) -> list[str]:
    """Return the ids of the stacks nested in a stack, at any depth."""
    stack = tables.stack
    found: list[str] = []
    inside = [stack_id]
    while inside:
        inside = list(
            connection.execute(sa.select(stack.c.id).where(stack.c.parent_id.in_(inside))).scalars()
        )
        found += inside
    return found
