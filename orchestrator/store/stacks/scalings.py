"""Scaling decisions: changes of a group's size by a signal to its policy, written outside of any traversal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from orchestrator.store import tables
from orchestrator.store.database import database_time
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import Values
from orchestrator.store.stack_events import insert_resource_event
from orchestrator.store.stacks.stacks import ResourceRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The decision of a policy and its group about a signal."""

    #: The rows on which the decision is based.
    policy: ResourceRow
    group: ResourceRow
    #: The new metadata of the policy, and the new private data of the group.
    metadata: Mapping[str, Any]
    data: Mapping[str, Any]
    #: The traversals in force in the policy's stack and in the group's.
    traversals: tuple[str, str]
    #: The reason of the events of both.
    sentence: str
    #: The id of the signal's job; "" for none.
    job_id: str = ""

    def written(self) -> "Decided":
        """Return the decision with the rows as they are after it is written."""
        policy = replace(
            self.policy, metadata=self.metadata, metadata_version=self.policy.metadata_version + 1
        )
        group = replace(self.group, data=self.data, metadata_version=self.group.metadata_version + 1)
        return replace(self, policy=policy, group=group)


class _Changed(Exception):
    """A row has changed since it was read; the transaction is rolled back."""


class Scalings(Repository):
    """Writes to groups that no traversal works on."""

    @retrying
    def write(self, decided: Decided) -> bool:
        """Write a decision, all or nothing, and accept its job, if any, with the group's stack.

        False if a row has changed since it was read, a traversal works on the group, or the job is done already;
        nothing was written.
        """
        try:
            with self._db.write() as connection:
                now = self._write(connection, decided)
                if decided.job_id:
                    job = {"id": decided.job_id, "stack_id": decided.group.id, "status": "accepted"}
                    connection.execute(tables.job.insert().values(**job, created_at=now))
        except (_Changed, IntegrityError):
            return False
        return True

    @retrying
    def undo(self, decided: Decided) -> bool:
        """Write the reverse of a decision, and remove the acceptance of its job.

        False as in :meth:`write`.
        """
        try:
            with self._db.write() as connection:
                self._write(connection, decided)
                connection.execute(tables.job.delete().where(tables.job.c.id == decided.job_id))
        except _Changed:
            return False
        return True

    def _write(self, connection: sa.Connection, decided: Decided) -> float:
        now = database_time(connection, self._db)
        policy, group = decided.policy, decided.group
        metadata = {"metadata": self._codec.pack(dict(decided.metadata), ("resource", "metadata", policy.id))}
        self._change(connection, policy, metadata, tables.resource.c.id == policy.id)
        # Without the hash, the next update visits the group, also if this process dies now.
        packed = self._codec.pack(dict(decided.data), ("resource", "data", group.id))
        data = {"data": packed, "definition_hash": None}
        self._change(connection, group, data, _at_rest(group))
        signal = {"action": "SIGNAL", "status": "COMPLETE", "reason": decided.sentence}
        for row, traversal_id in zip((policy, group), decided.traversals, strict=True):
            insert_resource_event(connection, row, now, traversal_id=traversal_id, **signal)
        return now

    @retrying
    def write_attributes(self, group: ResourceRow, attributes: Sequence[object]) -> bool:
        """Replace the stored attributes of a group.

        False if it has changed since the row was read, or a traversal works on it, which then stores them.
        """
        try:
            with self._db.write() as connection:
                place = "resource", "attributes", group.id
                packed = {"attributes": self._codec.pack(list(attributes), place)}
                self._change(connection, group, packed, _at_rest(group))
        except _Changed:
            return False
        return True

    @staticmethod
    def _change(
        connection: sa.Connection, row: ResourceRow, values: Values, where: sa.ColumnElement[bool]
    ) -> None:
        version = tables.resource.c.metadata_version
        changed = connection.execute(
            tables.resource.update()
            .where(where, version == row.metadata_version)
            .values(**values, metadata_version=row.metadata_version + 1)
        )
        if changed.rowcount != 1:
            raise _Changed


def _at_rest(row: ResourceRow) -> sa.ColumnElement[bool]:
    resource = tables.resource
    return sa.and_(
        resource.c.id == row.id, resource.c.lock_traversal.is_(None), resource.c.status == "COMPLETE"
    )
