"""Tallies: the resources of operations by state, counted by the database.

All counts of resources by state come from here, so that they agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Final

from hooks.values.dataclass import dataclass
from orchestrator.store.direct import Direct
from orchestrator.store.lists import in_list, listed
from orchestrator.views.facts import NodeFact
from orchestrator.views.states import counted
from orchestrator.views.vertex_states import DONE, UNCHANGED
from orchestrator.views.wiring import is_counter

if TYPE_CHECKING:
    from orchestrator.store.direct import Transaction
    from orchestrator.store.rows import AnyRow

# The columns that decide a node's state, but for its events. A subquery, only for nodes that wait: a join would read
# the resources of all others as well.
_TALLIES: Final = """
    SELECT n.traversal_id, n.phase, n.state, n.quiet, n.hook, n.resource_id IS NOT NULL AS has_resource,
        n.attempt > 0 AS begun,
        CASE WHEN n.state = 'waiting' AND n.retries > 0
            THEN (SELECT r.reason FROM resource r WHERE r.id = n.resource_id) ELSE '' END AS trouble,
        count(*) AS times, sum(n.retries) AS retried
    FROM node n WHERE n.traversal_id || '' {in_traversals}
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8"""
_STATUSES: Final = "SELECT id, status FROM traversal WHERE id {in_traversals}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The resources of one operation."""

    #: The number in each of :data:`~orchestrator.views.vertex_states.STATES`, without states that none is in.
    counts: Mapping[str, int] = field(default_factory=dict)
    #: The retries that all of them together have used.
    retries: int = 0

    @property
    def total(self) -> int:
        """The number of all."""
        return sum(self.counts.values())

    @property
    def done(self) -> int:
        """The number that are done or unchanged."""
        return done_of(self.counts)


def done_of(counts: Mapping[str, int]) -> int:
    """Return how many of the counted resources are done or unchanged."""
    return counts.get(DONE, 0) + counts.get(UNCHANGED, 0)


def tallies(transaction: Transaction, operations: Mapping[str, bool]) -> dict[str, Tally]:
    """Return the tally of each operation; ``operations`` has the traversals' ids, and whether each is under way.

    One statement counts them all: pass no more ids than :func:`~orchestrator.store.rows.chunked`
    yields at once.
    """
    found: dict[str, list[tuple[NodeFact, int]]] = {each: [] for each in operations}
    retries: Counter[str] = Counter()
    for row in _of_traversals(transaction, _TALLIES, list(operations)):
        fact = _alike(row)
        if not is_counter(fact):
            found[row.traversal_id].append((fact, row.times))
            retries[row.traversal_id] += int(row.retried)
    return {
        each: Tally(counts=counted(found[each], is_over=not is_under_way), retries=retries[each])
        for each, is_under_way in operations.items()
    }


def under_way(transaction: Transaction, traversal_ids: Sequence[str]) -> dict[str, bool]:
    """Return whether each of these traversals, if it exists, is under way."""
    return {
        row.id: row.status == "IN_PROGRESS" for row in _of_traversals(transaction, _STATUSES, traversal_ids)
    }


def _of_traversals(transaction: Transaction, sql: str, traversal_ids: Sequence[str]) -> Sequence[AnyRow]:
    direct = Direct.of(transaction)
    found = sql.format(in_traversals=in_list("traversals", postgres=direct.is_postgres))
    return direct.rows(found, {"traversals": listed(traversal_ids, postgres=direct.is_postgres)})


def _alike(row: AnyRow) -> NodeFact:
    return NodeFact.of(
        row,
        no=0,
        key="",
        action="",
        dependents=(),
        quiet=bool(row.quiet),
        attempt=int(row.begun),
        retries=int(bool(row.trouble)),
        due_at=None,
        worker=None,
        resource_id="" if row.has_resource else None,
        # Sealed, perhaps: only whether there is one is looked at.
        reason=row.trouble or "",
    )
