"""How many there are of what, for those who watch an installation: statements none of which reads a value."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import sqlalchemy as sa

from orchestrator.model.messages import CHECKED_PHASES
from orchestrator.store import tables
from orchestrator.store.database import Database, database_time, retrying
from orchestrator.store.stacks.nested_stacks import chunked
from orchestrator.store.stacks.tallies import tallies


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """What there was at one moment, in all projects."""

    #: When, by the database's clock.
    at: float
    #: Stacks that are not deleted, those in others among them, by action and status.
    stacks: Mapping[tuple[str, str], int] = field(default_factory=dict)
    #: Resources of the operations that are under way, by their state, as in tallies.
    nodes: Mapping[str, int] = field(default_factory=dict)
    #: For how long the one that waits longest has been ready without a worker taking it; 0 if none waits.
    queue_age_seconds: float = 0.0
    #: How many are at work whose worker has not been heard of for a lease, and that nobody has taken over yet.
    overdue: int = 0
    #: How many machines are written down.
    machines: int = 0


class Census:
    """Counts; nothing that the engine does depends on it."""

    def __init__(self, database: Database) -> None:
        self._db = database

    @retrying
    def take(self) -> Count:
        """Count once."""
        stack, traversal, node = tables.stack, tables.traversal, tables.node
        stacks = (
            sa.select(stack.c.action, stack.c.status, sa.func.count())
            .where(stack.c.deleted_at.is_(None))
            .group_by(stack.c.action, stack.c.status)
        )
        under_way = sa.select(traversal.c.id).where(traversal.c.status == "IN_PROGRESS")
        longest = sa.select(sa.func.min(node.c.ready_at)).where(
            node.c.due_at.is_not(None), node.c.phase.in_(CHECKED_PHASES), node.c.state == "ready"
        )
        with self._db.read() as connection:
            now = database_time(connection, self._db)
            nodes = Counter[str]()
            for some in chunked(connection.execute(under_way).scalars().all()):
                for tally in tallies(connection, dict.fromkeys(some, True)).values():
                    nodes.update(tally.counts)
            lost = (node.c.due_at < now, node.c.state == "running", node.c.phase.in_(CHECKED_PHASES))
            ready_at = connection.execute(longest).scalar_one()
            return Count(
                at=now,
                stacks={(row[0], row[1]): row[2] for row in connection.execute(stacks)},
                nodes=nodes,
                queue_age_seconds=0.0 if ready_at is None else max(0.0, now - ready_at),
                overdue=connection.execute(
                    sa.select(sa.func.count()).select_from(node).where(*lost)
                ).scalar_one(),
                machines=connection.execute(
                    sa.select(sa.func.count()).select_from(tables.machine)
                ).scalar_one(),
            )
