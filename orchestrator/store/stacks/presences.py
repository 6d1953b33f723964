"""Short rows of a stack's resources: without properties, attributes and other packed values."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

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
_OF_STACK: Final = f"""
    SELECT {", ".join(_FIELDS)} FROM resource
    WHERE stack_id = :stack_id AND NOT {tables.IS_GONE}
    ORDER BY created_at, name"""  # names of ours


class Presences(Repository):
    """Reads of short rows."""

    def of(self, stack_id: str) -> list[Presence]:
        """Return a stack's rows that are not deleted, in the order in which they were planned."""
        rows: Iterable[Any] = self._db.rows(_OF_STACK, {"stack_id": stack_id})
        return [_presence(row) for row in rows]


def _presence(row: Iterable[Any]) -> Presence:
    # For thousands of rows, this is much faster than the row's mapping.
    values: dict[str, Any] = dict(zip(_FIELDS, row, strict=True))
    values["requires"] = tuple(json.loads(values["requires"]))
    return Presence(**values)
