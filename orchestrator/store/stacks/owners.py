"""Owners of objects that are to be adopted, read in the transaction that adopts them."""

from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa

from orchestrator.store import tables
from orchestrator.store.database import Database
from orchestrator.store.rows import chunked

#: The first key of the lock of adoptions, so that it is no other lock.
_LOCK: Final = 0x152


def lock_objects(connection: sa.Connection, database: Database) -> None:
    """Let no other transaction adopt objects until this one ends; SQLite has one writer anyway."""
    if database.postgres:
        connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_LOCK}, 0)"))


def owners_in(connection: sa.Connection, physical_ids: Sequence[str]) -> frozenset[str]:
    """Return the ids of the rows of all projects that have these physical ids, unless they are deleted."""
    stack, resource = tables.stack, tables.resource
    sql = (
        sa.select(resource.c.id)
        .join(stack, stack.c.id == resource.c.stack_id)
        .where(stack.c.deleted_at.is_(None), ~tables.is_gone())
    )
    return frozenset(
        row_id
        for some in chunked(physical_ids)
        for row_id in connection.execute(sql.where(resource.c.physical_id.in_(some))).scalars()
    )
