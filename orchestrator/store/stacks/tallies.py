"""Tallies: the resources of operations by state, counted by the database.

All counts of resources by state come from here, so that they agree.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field

import sqlalchemy as sa

from hooks.values.dataclass import dataclass
from orchestrator.store import tables
from orchestrator.store.rows import AnyRow
from orchestrator.views.facts import NodeFact
from orchestrator.views.states import counted
from orchestrator.views.vertex_states import DONE, UNCHANGED
from orchestrator.views.wiring import is_counter


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


def tallies(connection: sa.Connection, operations: Mapping[str, bool]) -> dict[str, Tally]:
    """Return the tally of each operation; ``operations`` has the traversals' ids, and whether each is under way.

    One statement counts them all: pass no more ids than :func:`~orchestrator.store.rows.chunked`
    yields at once.
    """
    node, resource = tables.node, tables.resource
    waits = (node.c.state == "waiting") & (node.c.retries > 0)
    # A subquery, only for nodes that wait: a join would read the resources of all others as well.
    reason = sa.select(resource.c.reason).where(resource.c.id == node.c.resource_id).scalar_subquery()
    # The columns that decide a node's state, but for its events.
    alike = (
        node.c.traversal_id,
        node.c.phase,
        node.c.state,
        node.c.quiet,
        node.c.hook,
        node.c.resource_id.is_not(None).label("has_resource"),
        (node.c.attempt > 0).label("begun"),
        sa.case((waits, reason), else_="").label("trouble"),
    )
    sql = (
        sa.select(*alike, sa.func.count().label("times"), sa.func.sum(node.c.retries).label("retried"))
        .where(tables.in_traversals(list(operations)))
        .group_by(*(sa.literal_column(str(place)) for place in range(1, len(alike) + 1)))
    )
    found: dict[str, list[tuple[NodeFact, int]]] = {each: [] for each in operations}
    retries: Counter[str] = Counter()
    for row in connection.execute(sql):
        fact = _alike(row)
        if not is_counter(fact):
            found[row.traversal_id].append((fact, row.times))
            retries[row.traversal_id] += int(row.retried)
    return {
        each: Tally(counts=counted(found[each], is_over=not is_under_way), retries=retries[each])
        for each, is_under_way in operations.items()
    }


def under_way(connection: sa.Connection, traversal_ids: Sequence[str]) -> dict[str, bool]:
    """Return whether each of these traversals, if it exists, is under way."""
    traversal = tables.traversal
    sql = sa.select(traversal.c.id, traversal.c.status).where(traversal.c.id.in_(traversal_ids))
    return {row.id: row.status == "IN_PROGRESS" for row in connection.execute(sql)}


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
        reason=row.trouble or "",
    )
