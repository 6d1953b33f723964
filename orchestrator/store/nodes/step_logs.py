"""Log lines of steps, kept with their resources: one row for a step that wrote any."""

from collections.abc import Sequence

import sqlalchemy as sa

from hooks.values.dataclass import dataclass
from orchestrator.config.step_log import LogLine, StepLines
from orchestrator.model.codec import Place
from orchestrator.store import tables
from orchestrator.store.database import database_time
from orchestrator.store.nodes.claims import Claim
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import AnyRow, Values


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLogRow:
    """The log lines of one step of a resource."""

    traversal_id: str
    no: int
    #: The step's number at the store, which counts every check of an action under way.
    attempt: int
    action: str
    worker: str
    at: float
    log: StepLines


class StepLogs(Repository):
    """The operations on the log lines of steps."""

    @retrying
    def add(self, logs: Sequence[tuple[Claim, StepLines]], *, most: int, seconds: float) -> None:
        """Record the lines of steps of one traversal, and remove older lines of the same resources.

        About ``most`` lines of each resource stay, and those that are not older than ``seconds``. Safe to repeat.
        """
        step_log = tables.step_log
        with self._db.timed_write() as (connection, now):
            rows = [self._row(claim, log, now) for claim, log in logs]
            connection.execute(self._db.insert(step_log).values(rows).on_conflict_do_nothing())
            names = sorted({claim.order.key for claim, _ in logs})
            self._trim(connection, logs[0][0].order.stack_id, names, most=most, since=now - seconds)

    @retrying
    def of(
        self, stack_id: str, resource: str, *, limit: int, seconds: float, traversal_id: str | None = None
    ) -> list[StepLogRow]:
        """Return the lines of a resource's last steps that are not older than ``seconds``, oldest first."""
        step_log = tables.step_log
        with self._db.read() as connection:
            now = database_time(connection, self._db)
            sql = sa.select(step_log).where(
                step_log.c.stack_id == stack_id,
                step_log.c.resource == resource,
                step_log.c.at > now - seconds,
            )
            if traversal_id is not None:
                sql = sql.where(step_log.c.traversal_id == traversal_id)
            newest = (step_log.c.at.desc(), step_log.c.no.desc(), step_log.c.attempt.desc())
            rows = connection.execute(sql.order_by(*newest).limit(limit)).all()
        return [self._read(row) for row in reversed(rows)]

    def _row(self, claim: Claim, log: StepLines, now: float) -> Values:
        order = claim.order
        content = {
            "lines": [[line.at, line.level, line.message] for line in log.lines],
            "left_out": log.left_out,
        }
        return {
            "traversal_id": order.traversal_id,
            "no": order.no,
            "attempt": claim.attempt,
            "stack_id": order.stack_id,
            "resource": order.key,
            "action": claim.action,
            "worker": claim.worker,
            "at": now,
            "number": len(log.lines),
            "lines": self._codec.pack(content, _place(order.traversal_id, order.no, claim.attempt)),
        }

    def _read(self, row: AnyRow) -> StepLogRow:
        content = self._codec.unpack(row.lines, _place(row.traversal_id, row.no, row.attempt))
        lines = tuple(LogLine(at=at, level=level, message=message) for at, level, message in content["lines"])
        return StepLogRow(
            traversal_id=row.traversal_id,
            no=row.no,
            attempt=row.attempt,
            action=row.action,
            worker=row.worker,
            at=row.at,
            log=StepLines(lines=lines, left_out=content["left_out"]),
        )

    @staticmethod
    def _trim(
        connection: sa.Connection, stack_id: str, names: Sequence[str], *, most: int, since: float
    ) -> None:
        """Remove the steps of some resources that are old, or after which there are ``most`` lines already."""
        step_log = tables.step_log
        key = (step_log.c.traversal_id, step_log.c.no, step_log.c.attempt)
        up_to = sa.func.sum(step_log.c.number).over(
            partition_by=step_log.c.resource, order_by=(step_log.c.at.desc(), step_log.c.attempt.desc())
        )
        mine = (step_log.c.stack_id == stack_id) & step_log.c.resource.in_(names)
        counted = sa.select(*key, (up_to - step_log.c.number).label("newer"), step_log.c.at).where(mine)
        found = counted.subquery()
        surplus = sa.select(found.c.traversal_id, found.c.no, found.c.attempt).where(
            (found.c.newer >= most) | (found.c.at <= since)
        )
        connection.execute(step_log.delete().where(sa.tuple_(*key).in_(surplus)))


def _place(traversal_id: str, no: int, attempt: int) -> Place:
    return ("step_log", "lines", traversal_id, no, attempt)
