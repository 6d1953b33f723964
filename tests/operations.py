"""The operations of a stack, with their calls of lifecycle plugins, as tests look at them."""

import sqlalchemy as sa

from orchestrator.store import tables
from orchestrator.store.store import Store
from orchestrator.store.traversals.operation_rows import OperationRow


def operations_of(store: Store, stack_id: str) -> list[OperationRow]:
    """Return a stack's operations, newest first."""
    operation = tables.operation
    newest = sa.select(operation.c.id).where(operation.c.stack_id == stack_id)
    newest = newest.order_by(operation.c.created_at.desc(), operation.c.id)
    with store.database.read() as connection:
        return [store.ledger._read(connection, each) for each in connection.execute(newest).scalars().all()]
