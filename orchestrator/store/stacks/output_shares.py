"""Shares: the outputs of stacks that the stacks of other projects may read."""

from collections.abc import Sequence

import sqlalchemy as sa

from hooks.values.dataclass import dataclass
from orchestrator.model.record import Record
from orchestrator.store import tables
from orchestrator.store.database import database_time
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputShare(Record):
    """An output of a stack that the stacks of a project may read."""

    stack_id: str
    output: str
    project: str
    #: Seconds since the epoch.
    created_at: float


class OutputShares(Repository):
    """Operations on shares. A share is of the stack with its id: a later stack of the same name shares nothing."""

    def of(self, stack_id: str) -> list[OutputShare]:
        """Return the shares of a stack, by output and project."""
        share = tables.output_share
        sql = sa.select(share).where(share.c.stack_id == stack_id).order_by(share.c.output, share.c.project)
        return [OutputShare.of(row) for row in self._db.rows(sql)]

    @retrying
    def add(self, stack_id: str, outputs: Sequence[str], project: str) -> None:
        """Share outputs of a stack with a project; those that are shared already stay so."""
        with self._db.write() as connection:
            now = database_time(connection, self._db)
            for output in outputs:
                row = {"stack_id": stack_id, "output": output, "project": project, "created_at": now}
                connection.execute(
                    self._db.insert(tables.output_share).values(**row).on_conflict_do_nothing()
                )

    @retrying
    def remove(self, stack_id: str, outputs: Sequence[str], project: str) -> int:
        """Share outputs of a stack with a project no more; return how many shares were removed."""
        share = tables.output_share
        mine = (share.c.stack_id == stack_id) & (share.c.project == project) & share.c.output.in_(outputs)
        with self._db.write() as connection:
            return connection.execute(share.delete().where(mine)).rowcount


def is_shared(connection: sa.Connection, stack_id: str, output: str, project: str) -> bool:
    """Return whether the stacks of a project may read an output of a stack of another project."""
    share = tables.output_share
    mine = (share.c.stack_id == stack_id) & (share.c.output == output) & (share.c.project == project)
    return connection.execute(sa.select(share.c.stack_id).where(mine)).first() is not None
