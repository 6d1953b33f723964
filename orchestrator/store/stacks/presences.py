"""Short rows of a stack's resources: without properties, attributes and other packed values."""

import json
from typing import Any, Final

import sqlalchemy as sa

from hooks.values.dataclass import dataclass
from orchestrator.store import tables
from orchestrator.store.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """A resource's short row; the fields are those of :class:`orchestrator.store.stacks.stacks.ResourceRow`."""

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


class Presences(Repository):
    """Reads of short rows."""

    def of(self, stack_id: str) -> list[Presence]:
        """Return a stack's rows that are not deleted, in the order in which they were planned."""
        resource = tables.resource
        columns = (resource.c[name] for name in _FIELDS)
        sql = sa.select(*columns).where(resource.c.stack_id == stack_id, ~tables.is_gone())
        rows = self._db.rows(sql.order_by(resource.c.created_at, resource.c.name))
        return [_presence(row) for row in rows]


def _presence(row: sa.Row[Any]) -> Presence:
    # For thousands of rows, this is much faster than the row's mapping.
    values: dict[str, Any] = dict(zip(_FIELDS, row, strict=True))
    values["requires"] = tuple(json.loads(values["requires"]))
    return Presence(**values)
