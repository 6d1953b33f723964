"""Definition history of a stack's resources, for planning: the definition planned last, and the one applied last.

Each resource's row points at the two nodes with these definitions, so reading costs the same however often the stack
was updated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from hooks.values.dataclass import dataclass
from orchestrator.model.messages import CONVERGE
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.repository import Repository

if TYPE_CHECKING:
    from orchestrator.store.rows import Query
    from orchestrator.store.stacks.stacks import ResourceRow

Fragment = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The definition history of a stack's resources."""

    #: The template fragment that was planned last, by row id.
    planned: Mapping[str, Fragment]
    #: The template fragment that was applied last, by row id.
    applied: Mapping[str, Fragment]
    #: Ids of the rows that the traversal in force may still change.
    unsettled: frozenset[str]


_IS_ANOTHER: Final = """(
    resource.applied_traversal <> resource.planned_traversal OR resource.applied_no <> resource.planned_no
)"""
#: What was planned for rows and what was applied, which is read for its own only if it is another node's.
_FRAGMENTS: Final = f"""
    SELECT resource.id, planned.fragment AS planned, applied.fragment AS applied,
        resource.planned_no, resource.planned_traversal, resource.applied_no, resource.applied_traversal,
        resource.applied_no IS NOT NULL AND NOT {_IS_ANOTHER} AS is_one
    FROM resource
        JOIN node planned
            ON planned.no = resource.planned_no AND planned.traversal_id = resource.planned_traversal
        LEFT JOIN node applied
            ON applied.no = resource.applied_no AND applied.traversal_id = resource.applied_traversal
            AND {_IS_ANOTHER}
    WHERE NOT {tables.IS_GONE}"""  # constants
_UNSETTLED: Final = """
    SELECT node.resource_id FROM node JOIN traversal ON traversal.id = :traversal_id
    WHERE node.traversal_id || '' = :traversal_id AND node.resource_id IS NOT NULL
        AND (traversal.status = 'IN_PROGRESS' OR node.attempt > 0)
        AND node.state IN ('blocked', 'ready', 'waiting', 'running')"""


def _fragment() -> sa.Select[tuple[bytes | None, int, str]]:
    node = tables.node
    return sa.select(node.c.fragment, node.c.no, node.c.traversal_id)


class Histories(Repository):
    """Reads of definition histories."""

    def read(self, stack_id: str, traversal_id: str) -> History:
        """Return a stack's history; ``traversal_id`` is the traversal in force.

        Read it before the rows, so that a row that is settled in the history is also settled in the rows.
        """
        unsettled = self._unsettled(traversal_id)
        planned, applied = self._fragments(stack_id)
        return History(planned=planned, applied=applied, unsettled=unsettled)

    def planned(self, stack_id: str) -> Mapping[str, Fragment]:
        """Return the template fragments of a stack's resources that were planned last, by row id."""
        return self._fragments(stack_id)[0]

    def with_rows(self, history: History, rows: Sequence[ResourceRow]) -> History:
        """Return a history with that of rows which other stacks have still.

        What was applied to them is unknown: it was by the values of another stack, which may hide others.
        """
        sql = f"{_FRAGMENTS} AND resource.id {self._db.in_list('ids')}"
        found = self._db.rows(sql, {"ids": self._db.texts(sorted(row.id for row in rows))})
        planned, _ = self._read_all(found)
        return History(
            planned={**history.planned, **planned},
            applied=history.applied,
            # Of the others, nothing is under way once they are moved.
            unsettled=history.unsettled | {row.id for row in rows if row.lock_traversal is not None},
        )

    def _fragments(self, stack_id: str) -> tuple[dict[str, Fragment], dict[str, Fragment]]:
        return self._read_all(
            self._db.rows(f"{_FRAGMENTS} AND resource.stack_id = :stack_id", {"stack_id": stack_id})
        )

    def _read_all(self, rows: Iterable[Any]) -> tuple[dict[str, Fragment], dict[str, Fragment]]:
        was_planned, was_applied = {}, {}
        for (
            row_id,
            planned,
            applied,
            planned_no,
            planned_traversal,
            applied_no,
            applied_traversal,
            is_one,
        ) in rows:
            fragment = was_planned[row_id] = self._read(planned, planned_no, planned_traversal)
            if is_one:
                was_applied[row_id] = fragment
            elif applied is not None:
                was_applied[row_id] = self._read(applied, applied_no, applied_traversal)
        return was_planned, was_applied

    def applied(self, resource_id: str) -> Fragment | None:
        """Return the template fragment of a resource that was applied last; None for none."""
        resource, node = tables.resource, tables.node
        at_applied = (node.c.no == resource.c.applied_no) & (
            node.c.traversal_id == resource.c.applied_traversal
        )
        return self._first(_fragment().join(resource, at_applied).where(resource.c.id == resource_id))

    def of_node(self, traversal_id: str, no: int) -> Fragment | None:
        """Return the template fragment of a node; None if it has none, or is purged."""
        node = tables.node
        return self._first(_fragment().where(node.c.traversal_id == traversal_id, node.c.no == no))

    def begun(self, resource_id: str) -> Fragment | None:
        """Return the template fragment of the last begun convergence of a row that never was complete; None for none.

        This reads every node of the row; such rows have few.
        """
        node, traversal = tables.node, tables.traversal
        sql = (
            _fragment()
            .join(traversal, traversal.c.id == node.c.traversal_id)
            .where(node.c.resource_id == resource_id, node.c.phase == CONVERGE, node.c.attempt > 0)
            # A node that stood at a hook before its action had not begun.
            .where(node.c.fragment.is_not(None), node.c.hook.is_(None) | (node.c.state == "done"))
            .order_by(traversal.c.created_at.desc())
        )
        return self._first(sql)

    def _first(self, sql: Query) -> Fragment | None:
        row = self._db.first(sql)
        if row is None or row.fragment is None:
            return None
        return self._read(row.fragment, row.no, row.traversal_id)

    def _read(self, packed: bytes, no: int, traversal_id: str) -> Fragment:
        fragment: Fragment = self._codec.unpack(packed, ("node", "fragment", no, traversal_id))
        return fragment

    def _unsettled(self, traversal_id: str) -> frozenset[str]:
        rows = self._db.rows(_UNSETTLED, {"traversal_id": traversal_id})
        return frozenset(row.resource_id for row in rows)
