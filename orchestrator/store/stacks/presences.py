"""What is there of a stack's resources, in brief: without properties, attributes or anything else that is packed."""

import json
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from orchestrator.store import tables
from orchestrator.store.database import Database, retrying


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """What is there of a resource; each field is that of :class:`orchestrator.store.stacks.stacks.ResourceRow`."""

    id: str
    name: str
    type: str
    action: str
    status: str
    physical_id: str | None
    on_node: str | None
    requires: tuple[str, ...]
    replaced_by: str | None
    created_at: float


_FIELDS: Final = tuple(Presence.__dataclass_fields__)


class Presences:
    """Reads what is there in brief."""

    def __init__(self, database: Database) -> None:
        self._db = database

    @retrying
    def of(self, stack_id: str) -> list[Presence]:
        """Return a stack's rows that are not gone, in the order they were planned."""
        resource = tables.resource
        gone = (resource.c.action == "DELETE") & (resource.c.status == "COMPLETE")
        columns = (resource.c[name] for name in _FIELDS)
        sql = sa.select(*columns).where(resource.c.stack_id == stack_id, ~gone)
        with self._db.read() as connection:
            rows = connection.execute(sql.order_by(resource.c.created_at, resource.c.name)).all()
        return [_presence(row) for row in rows]


def _presence(row: sa.Row[Any]) -> Presence:
    # Much faster than by the row's mapping, which counts with thousands of them.
    values: dict[str, Any] = dict(zip(_FIELDS, row, strict=True))
    values["requires"] = tuple(json.loads(values["requires"]))
    return Presence(**values)
