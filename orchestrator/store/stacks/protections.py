"""Protection of stacks and resources: an operator's marks, recorded under the stacks' locks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from hooks.values.dataclass import dataclass
from hooks.values.states import PROTECT, UNPROTECT
from orchestrator.config.caller import caller
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import chunked
from orchestrator.store.stack_events import insert_event, insert_resource_event
from orchestrator.store.stacks.health import are_quiet
from orchestrator.store.stacks.stacks import ResourceRow, StackRow


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectionChange:
    """The protection of a stack as an operation was planned by it, and what the operation changes of it."""

    #: ``protections`` of the stack then; once it is another, the operation does not begin.
    version: int
    #: The protected rows that it may delete or replace: what is no part of the new definition is protected no more.
    taken: Sequence[ResourceRow] = ()
    #: Of rows whose protection changes, by id: whether they are protected from now on.
    rows: Mapping[str, bool] = field(default_factory=dict)
    #: Whether the stack's own protection is taken off.
    stack: bool = False

    @property
    def takes(self) -> bool:
        """Whether anything is to be written."""
        return bool(self.taken or self.rows or self.stack)


class Protections(Repository):
    """Reads and writes of protection."""

    def held(self, stack: StackRow, rows: Sequence[ResourceRow]) -> dict[str, tuple[str, ...]]:
        """Return the paths of what is protected in a stack, by the id of the row that it is, or is nested in.

        ``rows`` are the stack's. A path has the names of the resources that a resource is nested in before its own,
        separated by slashes; that of a protected nested stack is the path of its resource.
        """
        # Of most stacks nothing ever was protected: their operations cost no statement more.
        if not stack.protections:
            return {}
        held: dict[str, tuple[str, ...]] = {row.id: (row.name,) for row in rows if row.protected}
        for row_id, paths in self._inside(stack).items():
            held[row_id] = (*held.get(row_id, ()), *paths)
        return held

    @retrying
    def _inside(self, stack: StackRow) -> dict[str, list[str]]:
        """Return the paths of what is protected in nested stacks, by the id of the row that they are in."""
        inner, resource, parent = tables.stack, tables.resource, tables.resource.alias("parent")
        tree = (inner.c.root_id == stack.root_id) & inner.c.deleted_at.is_(None)
        nested = (
            sa.select(
                inner.c.id, inner.c.parent_id, inner.c.parent_resource, inner.c.protected, parent.c.name
            )
            .join(parent, parent.c.id == inner.c.parent_resource)
            .where(tree, inner.c.depth > stack.depth)
            .order_by(inner.c.created_at, inner.c.id)
        )
        marked = (
            sa.select(resource.c.stack_id, resource.c.name)
            .join(inner, inner.c.id == resource.c.stack_id)
            .where(tree, resource.c.protected, ~tables.is_gone())
            .order_by(resource.c.created_at, resource.c.name)
        )
        with self._db.read() as connection:
            stacks = {row.id: row for row in connection.execute(nested)}
            found = [(row.stack_id, [row.name]) for row in connection.execute(marked)] if stacks else []
        found += [(each.id, list[str]()) for each in stacks.values() if each.protected]
        inside: dict[str, list[str]] = {}
        for stack_id, path in found:
            at = stacks.get(stack_id)
            while at is not None:
                path.insert(0, at.name)
                if at.parent_id == stack.id:
                    inside.setdefault(at.parent_resource, []).append("/".join(path))
                at = stacks.get(at.parent_id)
        return inside

    @retrying
    def mark(
        self, stacks: Sequence[StackRow], rows: Sequence[ResourceRow], *, protected: bool, reason: str
    ) -> bool:
        """Protect resources of a stack, or with no ``rows`` the stack itself; or take that off.

        ``stacks`` are the stack and those that it is nested in, innermost first. False, and nothing is changed, if one
        of them or of the rows has changed since it was read.
        """
        stack, resource = tables.stack, tables.resource
        event = {
            "traversal_id": stacks[0].traversal_id,
            "action": PROTECT if protected else UNPROTECT,
            "status": "COMPLETE",
            "reason": reason,
        }
        with self._db.timed_write() as (connection, now):
            # Each stack is locked before the first write, so that no operation begins meanwhile.
            if not are_quiet(connection, stacks):
                return False
            row_ids = sorted({row.id for row in rows})
            gone = resource.c.lock_traversal.is_not(None) | (resource.c.action == "DELETE")
            for some in chunked(row_ids):
                held = sa.select(resource.c.id).where(resource.c.id.in_(some), gone)
                if connection.execute(held.limit(1)).first() is not None:
                    return False
            for some in chunked(row_ids):
                marked = resource.update().where(resource.c.id.in_(some))
                connection.execute(marked.values(protected=protected))
            enclosing = stack.c.id.in_([each.id for each in stacks])
            connection.execute(stack.update().where(enclosing).values(protections=stack.c.protections + 1))
            for row in rows:
                insert_resource_event(connection, row, now, **event)
            if not rows:
                own = stack.update().where(stack.c.id == stacks[0].id)
                connection.execute(own.values(protected=protected))
                insert_event(connection, now, stack_id=stacks[0].id, **event)
        return True


def take_protection(
    connection: sa.Connection,
    change: ProtectionChange,
    now: float,
    *,
    stack_id: str,
    traversal_id: str,
    action: str,
) -> None:
    """Write what an operation that begins changes of protection, and that it was permitted to, in its transaction."""
    resource, stack = tables.resource, tables.stack
    changes: Mapping[bool, list[str]] = {
        True: sorted(row_id for row_id, protected in change.rows.items() if protected),
        False: sorted(row_id for row_id, protected in change.rows.items() if not protected),
    }
    for protected, row_ids in changes.items():
        for some in chunked(row_ids):
            connection.execute(resource.update().where(resource.c.id.in_(some)).values(protected=protected))
    comment = caller().comment
    event = {
        "traversal_id": traversal_id,
        "action": UNPROTECT,
        "status": "COMPLETE",
        "reason": f"permitted to {action} (--unprotect){f': {comment}' if comment else ''}",
    }
    if change.stack:
        connection.execute(stack.update().where(stack.c.id == stack_id).values(protected=False))
        insert_event(connection, now, stack_id=stack_id, **event)
    for row in change.taken:
        insert_resource_event(connection, row, now, **event)
