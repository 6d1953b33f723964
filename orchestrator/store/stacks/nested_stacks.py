"""Nested stacks: trees of stacks as rows, their progress and resource counts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import sqlalchemy as sa

from orchestrator.model.messages import CHECKED_PHASES
from orchestrator.store import tables
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import chunked
from orchestrator.store.stacks.stacks import NodeCounts, StackRow, stack_rows
from orchestrator.store.stacks.tallies import Tally, tallies, under_way
from orchestrator.store.stacks.unclean import unclean

#: The most active resources that a progress names.
ACTIVE: Final = 10


class Families(Repository):
    """Reads of trees of stacks, and the release of a nested stack."""

    @retrying
    def children(self, stack_id: str) -> list[StackRow]:
        """Return the stacks nested directly in a stack that are not deleted, oldest first."""
        return self._present(tables.stack.c.parent_id == stack_id)

    def is_unclean(self, stack_id: str) -> bool:
        """Return whether a stack's last definition is in service, but removing other rows failed."""
        return self._db.first(unclean(tables.stack.c.id == stack_id)) is not None

    @retrying
    def in_tree(self, root_id: str) -> list[StackRow]:
        """Return an outermost stack and all nested in it that are not deleted, oldest first."""
        return self._present(tables.stack.c.root_id == root_id)

    def _present(self, condition: sa.ColumnElement[bool]) -> list[StackRow]:
        stack = tables.stack
        sql = stack_rows().where(condition, stack.c.deleted_at.is_(None))
        rows = self._db.rows(sql.order_by(stack.c.created_at, stack.c.name))
        return [StackRow(**row._mapping) for row in rows]

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
        stack, traversal, resource = tables.stack, tables.traversal, tables.resource
        since = sa.select(traversal.c.created_at).where(traversal.c.id == stack_row.traversal_id)
        inside = (stack.c.root_id == stack_row.root_id) & (stack.c.depth > stack_row.depth)
        begun = (
            sa.select(traversal.c.id, resource.c.name)
            .select_from(stack)
            .join(traversal, traversal.c.id == stack.c.traversal_id)
            .join(resource, resource.c.id == stack.c.parent_resource)
            .where(inside, traversal.c.created_at >= since.scalar_subquery())
        )
        with self._db.snapshot() as connection:
            outer = {row[0]: row[1] for row in connection.execute(begun).all()}
            parts = [self._progress(connection, part) for part in chunked([stack_row.traversal_id, *outer])]
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
        with self._db.snapshot() as connection:
            counted = tallies(connection, under_way(connection, [traversal_id]))
        return counted[traversal_id].counts if traversal_id in counted else {}

    @staticmethod
    def _progress(
        connection: sa.Connection, traversals: Sequence[str]
    ) -> tuple[Iterable[Tally], Sequence[tuple[str, str, str]]]:
        """Return the tallies of traversals; and of active resources the traversal, the name and the reason."""
        node, resource = tables.node, tables.resource
        at_work = node.c.phase.in_(CHECKED_PHASES) & node.c.state.in_(("running", "waiting"))
        active = connection.execute(
            sa.select(node.c.traversal_id, node.c.key, resource.c.reason)
            .select_from(node.outerjoin(resource, resource.c.id == node.c.resource_id))
            .where(tables.in_traversals(traversals), at_work, node.c.hook.is_(None))
            .order_by(node.c.state, node.c.no)
            .limit(ACTIVE)
        ).all()
        counted = tallies(connection, under_way(connection, traversals))
        return counted.values(), [(row[0], row[1], row[2] or "") for row in active]

    @retrying
    def troubled(self, stack_row: StackRow) -> frozenset[str]:
        """Return the ids of a stack's rows whose nested stacks need a visit, at any depth.

        Such a stack has an operation of its own that failed or is in progress, or a resource that is unhealthy, not
        complete, or to be repaired, or whose value of another stack's output is outdated.
        """
        # A new stack has neither nested ones nor drift.
        from orchestrator.model.drift import Standing

        stack, resource, drift, reader = tables.stack, tables.resource, tables.drift, tables.output_reader
        in_tree = drift.c.root_id == stack_row.root_id
        repaired = sa.select(drift.c.resource_id).where(in_tree, drift.c.standing == Standing.REPAIRING.value)
        outdated = sa.select(reader.c.resource_id).where(
            reader.c.root_id == stack_row.root_id, reader.c.stale
        )
        tree = (stack.c.root_id == stack_row.root_id) & stack.c.deleted_at.is_(None)
        inside = sa.select(stack.c.id, stack.c.parent_id, stack.c.parent_resource, stack.c.status)
        is_wrong = resource.c.unhealthy | (resource.c.status != "COMPLETE") | resource.c.id.in_(repaired)
        wrong = (is_wrong | resource.c.id.in_(outdated)) & ~tables.is_gone()
        with self._db.read() as connection:
            rows = connection.execute(inside.where(tree, stack.c.depth > stack_row.depth)).all()
            if not rows:
                return frozenset()
            unsound = set(
                connection.execute(
                    sa.select(stack.c.id)
                    .join(resource, resource.c.stack_id == stack.c.id)
                    .where(tree, wrong)
                    .distinct()
                ).scalars()
            )
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
