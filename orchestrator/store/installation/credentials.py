"""Credentials that callers have delegated to stacks: by which their resources act in another system."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from orchestrator.errors import Conflict, NotFound
from orchestrator.store import tables
from orchestrator.store.database import database_time
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying

#: How long one may be on its way to its stack, or be used by the steps of an operation that another has superseded.
GRACE_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegatedCredential:
    """A credential: the project and the client plugin that it is for, and its stack, once it has one."""

    id: str
    project: str
    client: str
    stack_id: str | None


class DelegatedCredentials(Repository):
    """The operations on the table; the options of a client are packed, and so encrypted."""

    @retrying
    def add(self, credential_id: str, *, project: str, client: str, options: Mapping[str, Any]) -> None:
        """Store a credential that no stack acts by yet."""
        packed = self._codec.pack(dict(options), _place(credential_id))
        row = {"id": credential_id, "project": project, "client": client, "options": packed}
        with self._db.write() as connection:
            now = database_time(connection, self._db)
            connection.execute(tables.delegated_credential.insert().values(**row, created_at=now))

    @retrying
    def bind(self, credential_id: str, *, project: str, stack_id: str) -> None:
        """Give a credential to a stack of its project; again is fine.

        Raises:
            Conflict: there is no such credential in the project, or it is another stack's.
        """
        table = tables.delegated_credential
        ours = (table.c.id == credential_id) & (table.c.project == project)
        free = table.c.stack_id.is_(None) | (table.c.stack_id == stack_id)
        with self._db.write() as connection:
            now = database_time(connection, self._db)
            begun = sa.case((table.c.stack_id.is_(None), now), else_=table.c.created_at)
            values = {"stack_id": stack_id, "created_at": begun}
            bound = connection.execute(table.update().where(ours, free).values(values))
        if bound.rowcount != 1:
            raise Conflict(
                "the credential that was delegated to the stack is gone, or another stack's; try again"
            )

    def options(self, credential_id: str, *, project: str) -> tuple[str, Mapping[str, Any]]:
        """Return the client plugin that a credential is for, and the options that it acts with.

        Raises:
            NotFound: the project has no such credential.
        """
        table = tables.delegated_credential
        sql = sa.select(table.c.client, table.c.options)
        row = self._db.first(sql.where(table.c.id == credential_id, table.c.project == project))
        if row is None:
            raise NotFound(
                "the credential that the stack acts by is gone; update the stack to delegate another"
            )
        options: Mapping[str, Any] = self._codec.unpack(row.options, _place(credential_id))
        return row.client, options

    @retrying
    def perhaps_unused(self) -> list[DelegatedCredential]:
        """Return the credentials of deleted stacks, and those that may be unused besides.

        Of a stack at rest that has several, these are all but the newest, and this too after a time of grace: its
        operation may not have begun. The only one of a stack is in use as long as the stack is there.
        """
        table, stack = tables.delegated_credential, tables.stack
        other = table.alias("other")
        others = sa.exists().where(other.c.stack_id == table.c.stack_id, other.c.id != table.c.id)
        has_successor = others.where(other.c.created_at > table.c.created_at)
        with self._db.read() as connection:
            late = database_time(connection, self._db) - GRACE_SECONDS
            sql = (
                sa.select(table.c.id, table.c.project, table.c.client, table.c.stack_id)
                .select_from(table.outerjoin(stack, stack.c.id == table.c.stack_id))
                .where(
                    stack.c.deleted_at.is_not(None)
                    | (stack.c.id.is_(None) & (table.c.created_at < late))
                    | (
                        (stack.c.status != "IN_PROGRESS")
                        & (has_successor | (others & (table.c.created_at < late)))
                    )
                )
                .order_by(table.c.created_at)
            )
            rows = connection.execute(sql).all()
        return [
            DelegatedCredential(id=row.id, project=row.project, client=row.client, stack_id=row.stack_id)
            for row in rows
        ]

    @retrying
    def give_up(self, credential_id: str) -> None:
        """Let a credential be revoked soon that no stack acts by, because its operation did not begin."""
        table = tables.delegated_credential
        with self._db.write() as connection:
            unused = (table.c.id == credential_id) & table.c.stack_id.is_(None)
            connection.execute(table.update().where(unused).values(created_at=0.0))

    @retrying
    def remove(self, credential_id: str) -> None:
        """Remove a credential; one that is gone is fine."""
        table = tables.delegated_credential
        with self._db.write() as connection:
            connection.execute(table.delete().where(table.c.id == credential_id))


def _place(credential_id: str) -> tuple[str, str, str]:
    return ("delegated_credential", "options", credential_id)
