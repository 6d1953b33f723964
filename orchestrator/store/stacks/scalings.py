"""What signals change of groups: their size, and what others were told of them. It belongs to no traversal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from orchestrator.model.codec import Codec
from orchestrator.store import tables
from orchestrator.store.database import Database, database_time, retrying
from orchestrator.store.stacks.stacks import ResourceRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What a policy and its group decided because of a signal."""

    #: The rows that it was decided by.
    policy: ResourceRow
    group: ResourceRow
    #: What the policy's metadata and the group's private data become.
    metadata: Mapping[str, Any]
    data: Mapping[str, Any]
    #: The traversals in force in the policy's stack and in the group's.
    traversals: tuple[str, str]
    #: What the history says of both.
    sentence: str
    #: The job that the signal came with; "" for none.
    job_id: str = ""

    def written(self) -> "Decided":
        """Return this with the rows as they are once it is written."""
        policy = replace(
            self.policy, metadata=self.metadata, metadata_version=self.policy.metadata_version + 1
        )
        group = replace(self.group, data=self.data, metadata_version=self.group.metadata_version + 1)
        return replace(self, policy=policy, group=group)


class _Changed(Exception):
    """Somebody else was faster; nothing is written."""


class Scalings:
    """Writes to groups on which nobody works."""

    def __init__(self, database: Database, codec: Codec) -> None:
        self._db = database
        self._codec = codec

    @retrying
    def now(self) -> float:
        """Return the database's time, seconds since the epoch."""
        with self._db.read() as connection:
            return database_time(connection, self._db)

    @retrying
    def write(self, decided: Decided) -> bool:
        """Write down what was decided, all or nothing; the job, if there is one, is accepted with the group's stack.

        False: a row was changed since it was read, somebody works on the group, or the job is done already; nothing was
        written.
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
        """Write down that something is as it was, and that nobody has to answer for the job any more.

        False: as in :meth:`write`.
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
        metadata = {"metadata": self._codec.pack(dict(decided.metadata))}
        self._change(connection, policy, metadata, tables.resource.c.id == policy.id)
        # Without its hash no update takes the group for what it is to be: whoever dies now is followed by the next one.
        data = {"data": self._codec.pack(dict(decided.data)), "definition_hash": None}
        self._change(connection, group, data, _at_rest(group))
        for row, traversal_id in zip((policy, group), decided.traversals, strict=True):
            connection.execute(tables.event.insert().values(_event(row, traversal_id, decided.sentence, now)))
        return now

    @retrying
    def write_attributes(self, group: ResourceRow, attributes: Sequence[Any]) -> bool:
        """Replace what is on record of a group's attributes.

        False: it was changed since the row was read, or somebody works on it: whoever does records them.
        """
        try:
            with self._db.write() as connection:
                packed = {"attributes": self._codec.pack(list(attributes))}
                self._change(connection, group, packed, _at_rest(group))
        except _Changed:
            return False
        return True

    @staticmethod
    def _change(
        connection: sa.Connection, row: ResourceRow, values: Mapping[str, Any], where: sa.ColumnElement[bool]
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


def _event(row: ResourceRow, traversal_id: str, sentence: str, now: float) -> dict[str, Any]:
    return {
        "at": now,
        "stack_id": row.stack_id,
        "traversal_id": traversal_id,
        "resource": row.name,
        "resource_id": row.id,
        "type": row.type,
        "action": "SIGNAL",
        "status": "COMPLETE",
        "reason": sentence,
        "physical_id": row.physical_id,
    }
