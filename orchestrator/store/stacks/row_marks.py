"""Row marks: digests of the rows of a tree of stacks, by which a saved plan notices that something was done to them."""

import functools
import hashlib
from typing import Final

import msgpack
import sqlalchemy as sa

from orchestrator.model.plan_binding import RowMark
from orchestrator.store import tables
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import Query

#: The columns that a mark is made of: whatever is written to a row changes one of them.
_MARKED: Final = (
    *("type", "action", "status", "physical_id", "replaced_by", "unhealthy", "metadata_version"),
    *("definition_hash", "protected", "updated_at"),
)
_DIGEST_BYTES: Final = 8
#: The columns before those: the row's id, its name, its stack's name and depth.
_NAMES: Final = 4


class RowMarks(Repository):
    """Reads of row marks."""

    @retrying
    def of(self, root_id: str) -> dict[str, RowMark]:
        """Return the marks of the rows of a tree of stacks that are not deleted, and of the stacks, by their ids."""
        with self._db.read() as connection:
            return marks_in(connection, root_id)


def marks_in(connection: sa.Connection, root_id: str) -> dict[str, RowMark]:
    """Return the marks of the rows of a tree of stacks, and of the stacks, as a transaction sees them."""
    found = {
        row.id: RowMark(name=f"stack {row.name}", digest="protected" if row.protected else "")
        for row in connection.execute(_stacks(), {"root_id": root_id})
    }
    for row in connection.execute(_rows(), {"root_id": root_id}):
        digest = hashlib.blake2b(msgpack.packb(list(row[_NAMES:])), digest_size=_DIGEST_BYTES).hexdigest()
        name = f"{row.stack}/{row.name}" if row.depth else row.name
        found[row.id] = RowMark(name=name, digest=digest)
    return found


@functools.cache
def _stacks() -> Query:
    stack = tables.stack
    of_tree = (stack.c.root_id == sa.bindparam("root_id")) & stack.c.deleted_at.is_(None)
    return sa.select(stack.c.id, stack.c.name, stack.c.protected).where(of_tree)


@functools.cache
def _rows() -> Query:
    resource, stack = tables.resource, tables.stack
    columns = (resource.c[name] for name in _MARKED)
    names = (resource.c.id, resource.c.name, stack.c.name.label("stack"), stack.c.depth)
    return (
        sa.select(*names, *columns)
        .join(stack, stack.c.id == resource.c.stack_id)
        .where(stack.c.root_id == sa.bindparam("root_id"), stack.c.deleted_at.is_(None), ~tables.is_gone())
    )
