"""The census: counts of stacks, resources and machines, for monitoring. No statement reads a packed value."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import sqlalchemy as sa

from orchestrator.model.messages import CHECKED_PHASES
from orchestrator.store import tables
from orchestrator.store.database import database_time
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import chunked
from orchestrator.store.stacks.tallies import tallies


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """The counts of all projects at one moment."""

    #: The database's time of the census.
    at: float
    #: Stacks that are not deleted, nested ones included, by action and status.
    stacks: Mapping[tuple[str, str], int] = field(default_factory=dict)
    #: Resources of operations in progress, by their state, as in tallies.
    nodes: Mapping[str, int] = field(default_factory=dict)
    #: How long the oldest ready node has waited for a worker; 0 if none waits.
    queue_age_seconds: float = 0.0
    #: The number of running nodes whose lease has expired, and that are not taken over yet.
    overdue: int = 0
    #: The number of known machines.
    machines: int = 0
    #: Resources with drift, by what is done about it.
    drifted: Mapping[str, int] = field(default_factory=dict)
    #: How long the observation that has been due for longest waits to be begun; 0 if none is due.
    observation_delay_seconds: float = 0.0


class Census(Repository):
    """Counts for monitoring, which the engine does not use itself."""

    @retrying
    def take(self) -> Count:
        """Take the counts of this moment."""
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
        drift, observation = tables.drift, tables.observation
        drifted = (
            sa.select(drift.c.standing, sa.func.count(drift.c.resource_id.distinct()))
            .join(stack, stack.c.id == drift.c.stack_id)
            .where(stack.c.deleted_at.is_(None))
            .group_by(drift.c.standing)
        )
        due = sa.select(sa.func.min(observation.c.due_at)).where(observation.c.due_at.is_not(None))
        with self._db.read() as connection:
            now = database_time(connection, self._db)
            due_at = connection.execute(due).scalar_one()
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
                drifted={row[0]: row[1] for row in connection.execute(drifted)},
                observation_delay_seconds=0.0 if due_at is None else max(0.0, now - due_at),
                queue_age_seconds=0.0 if ready_at is None else max(0.0, now - ready_at),
                overdue=connection.execute(
                    sa.select(sa.func.count()).select_from(node).where(*lost)
                ).scalar_one(),
                machines=connection.execute(
                    sa.select(sa.func.count()).select_from(tables.machine)
                ).scalar_one(),
            )
