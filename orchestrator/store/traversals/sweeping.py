"""The sweep: one mechanism for polling, retries, lost messages, dead workers and time-outs.

Nodes that are due are made ready or published again. Any number of sweepers may run: on PostgreSQL each takes rows
that no other has locked.
"""

from __future__ import annotations

import functools
import operator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from hooks.values.dataclass import dataclass
from orchestrator.config.logger import get_logger
from orchestrator.errors import Unavailable
from orchestrator.model.messages import CHECKED_PHASES, END, CheckOrder
from orchestrator.store import tables
from orchestrator.store.alchemy import sa
from orchestrator.store.database import bulk_insert, database_time
from orchestrator.store.nodes import statements
from orchestrator.store.nodes.failing import fail_traversal
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import is_transient, retrying
from orchestrator.store.rows import chunked
from orchestrator.store.stack_events import resource_event
from orchestrator.store.traversals.ledger import LOST_AT
from orchestrator.views.facts import LOST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from orchestrator.model.codec import Codec
    from orchestrator.store.database import Database
    from orchestrator.store.nodes.nodes import Nodes
    from orchestrator.store.repository import Timings
    from orchestrator.store.rows import AnyRow, Values
    from orchestrator.store.traversals.ledger import Ledger

log = get_logger()

#: The most nodes that one sweep takes, so that its transaction stays short.
BATCH = 500
#: The most nodes that one sweep puts off.
POSTPONED = 10 * BATCH
#: The most resources named in the reason of a time-out at breakpoints.
STOOD_NAMED = 3
#: The time that a traversal gets whose failure raised an error.
PUT_OFF_SECONDS = 60.0
#: The pause before publishing again doubles, up to this many times.
DOUBLINGS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """The result of a sweep."""

    #: Orders to be published.
    orders: tuple[CheckOrder, ...]
    #: Orders of nodes whose worker was lost too often, and how often: they are to be failed, not published.
    doomed: tuple[tuple[CheckOrder, int], ...] = ()
    #: Whether more nodes are due than fit into one sweep.
    more: bool
    #: The ids of operations whose process died between calls of lifecycle plugins.
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Look:
    """The present time, and when the next node, deadline and lost operation are due; None for none."""

    now: float
    node: float | None
    deadline: float | None
    lost: float | None

    @property
    def is_due(self) -> bool:
        return any(_is_past(time, self.now) for time in (self.node, self.deadline, self.lost))


def _is_past(time: float | None, now: float) -> bool:
    return time is not None and time <= now


@functools.lru_cache(maxsize=2)
def _looking(now: str) -> str:
    return (
        f"SELECT {now} AS now, "
        "(SELECT min(due_at) FROM node WHERE due_at IS NOT NULL) AS node, "
        "(SELECT min(deadline) FROM traversal WHERE status = 'IN_PROGRESS') AS deadline, "
        f"(SELECT min({LOST_AT}) FROM operation WHERE leased_until IS NOT NULL) AS lost"
    )


#: The workers that hold nodes, and whether nodes wait for one.
_HELD: Final = (
    "SELECT DISTINCT state, CASE state WHEN 'running' THEN worker END AS worker FROM node "
    "WHERE due_at IS NOT NULL AND state IN ('running', 'ready')"
)


class Sweeper(Repository):
    """Sweeps of due nodes and of traversals that are out of time."""

    def __init__(
        self, database: Database, codec: Codec, timings: Timings, nodes: Nodes, ledger: Ledger
    ) -> None:
        super().__init__(database, codec, timings)
        self._nodes, self._ledger = nodes, ledger

    @retrying
    def sweep(self, *, backlog: int | None = None) -> Swept:
        """Make due nodes ready, fail traversals that are out of time, and return the orders to publish.

        If the caller dies before publishing, the nodes are due again a little later.

        While at least half of the ready nodes can have their message among the ``backlog`` of checks in the queue, if
        that is known, none is published again.
        """
        look = self._look()
        if not look.is_due:
            return Swept(orders=(), more=False)
        timed_out = self._fail_overdue() if _is_past(look.deadline, look.now) else ()
        with self._db.timed_write() as (connection, now):
            rows: Sequence[AnyRow] = connection.execute(self._due(), {"now": now, "batch": BATCH}).all()
            if backlog and any(_was_sent(row) for row in rows) and self._is_queued(connection, backlog):
                self._postpone(connection, now)
                rows = [row for row in rows if not _was_sent(row)]
            rows = self._without_held(connection, rows)
            settled = [(row, _settle(row, now, self._timings.redeliver_seconds)) for row in rows]
            for row in rows:
                if row.state == "running":
                    self._record_lost(connection, row)
                    connection.execute(sa.text(statements.UNLOCK_RESOURCE), dict(row._mapping))
            self._write(connection, [change for _, change in settled])
            live = [(row, change["lost"]) for row, change in settled if change["due_at"] is not None]
            lost = self._ledger.lost(connection) if _is_past(look.lost, now) else ()
        orders: list[CheckOrder] = []
        doomed: list[tuple[CheckOrder, int]] = []
        for row, times in live:
            made = self._made(row, partial(self._nodes.orders, [row], row))
            if self._is_doomed(row, times):
                doomed += [(order, times) for order in made]
            else:
                orders += made
        woken = tuple(
            order
            for row in rows
            if row.state == "running" and row.status == "SUPERSEDED" and row.resource_id
            for order in self._made(row, partial(self._nodes.wake_resource, row.resource_id))
        )
        return Swept(
            orders=(*timed_out, *orders, *woken), doomed=tuple(doomed), more=len(rows) == BATCH, lost=lost
        )

    def _without_held(self, connection: sa.Connection, rows: Sequence[AnyRow]) -> Sequence[AnyRow]:
        """Return the rows without the running nodes whose resource another transaction holds; the others are locked.

        The next sweep finds these nodes again. To wait with nodes locked could be a deadlock: the start of a nested
        stack's operation holds the resource in the parent stack, and then locks nodes.
        """
        lost = sorted({row.resource_id for row in rows if row.state == "running" and row.resource_id})
        if not lost or not self._db.postgres:
            return rows
        resource = tables.resource
        free = sa.select(resource.c.id).where(resource.c.id.in_(lost)).with_for_update(skip_locked=True)
        held = {*lost} - {*connection.execute(free).scalars()}
        return [row for row in rows if row.state != "running" or row.resource_id not in held]

    def _is_doomed(self, row: AnyRow, lost: int) -> bool:
        """Return whether a node that has just lost a worker has lost too many; an end has none but coordinators."""
        too_often = lost >= self._timings.lost_attempts
        return too_often and row.state == "running" and row.phase in CHECKED_PHASES

    @staticmethod
    def _made(row: AnyRow, make: Callable[[], tuple[CheckOrder, ...]]) -> tuple[CheckOrder, ...]:
        """Return the orders of a due node; none if what they are made of cannot be read, such as without its key."""
        try:
            return make()
        except Unavailable:
            raise
        except Exception:
            log.exception(
                "a node cannot be published; it is tried later", stack_name=row.stack, resource=row.key
            )
            return ()

    def next_due(self) -> float | None:
        """Return the seconds until the next node, deadline or lost operation is due; None if nothing will be."""
        look = self._look()
        times = [time for time in (look.node, look.deadline, look.lost) if time is not None]
        return max(0.0, min(times) - look.now) if times else None

    def _look(self) -> _Look:
        """Return what is due next, by one statement: most sweeps find that nothing is."""
        with self._db.reading() as direct:
            row = direct.one(_looking(self._db.now), {"job_seconds": self._timings.job_seconds})
        return _Look(now=row.now, node=row.node, deadline=row.deadline, lost=row.lost)

    @retrying
    def take_over(self, is_dead: Callable[[str], bool]) -> None:
        """Make all nodes claimed by dead processes, and all undelivered nodes, due now.

        The operations of the dead processes are lost at once too. For embedded mode, whose queue dies with its process.
        An order that turns out to be done already is refused by its claim.
        """
        self._ledger.take_over(is_dead)
        # A dead process claims nothing between the two statements, and most often there is nothing to be taken over.
        with self._db.reading() as direct:
            held = direct.rows(_HELD, {})
        dead = [row.worker for row in held if row.worker and is_dead(row.worker)]
        if not dead and all(row.state == "running" for row in held):
            return
        with self._db.timed_transaction() as (direct, now):
            direct.count(
                "UPDATE node SET due_at = :now WHERE due_at IS NOT NULL AND "
                f"(state = 'ready' OR state = 'running' AND worker {self._db.in_list('dead')})",
                {"now": now, "dead": self._db.texts(dead)},
            )

    def _due(self) -> sa.TextClause:
        columns = ", ".join("n." + name for name in statements.RELEASED_COLUMNS.split(", "))
        lock = "FOR UPDATE OF n SKIP LOCKED" if self._db.postgres else ""
        return sa.text(
            f"SELECT n.traversal_id, n.attempt, n.published, n.worker, {columns}, "
            "t.status, t.stack_id, s.name AS stack "
            "FROM node n JOIN traversal t ON t.id = n.traversal_id JOIN stack s ON s.id = t.stack_id "
            f"WHERE n.due_at <= :now ORDER BY n.due_at LIMIT :batch {lock}"
        )

    @staticmethod
    def _is_queued(connection: sa.Connection, backlog: int) -> bool:
        """Return whether at least half of the nodes that were sent can still be in the queue."""
        node = tables.node
        sent = (node.c.due_at.is_not(None), node.c.state == "ready", node.c.phase.in_(CHECKED_PHASES))
        count = connection.execute(sa.select(sa.func.count()).select_from(node).where(*sent)).scalar_one()
        return backlog * 2 >= count

    def _postpone(self, connection: sa.Connection, now: float) -> None:
        """Put off publishing again some nodes whose message should be in the queue, unless others hold them."""
        node = tables.node
        sent = (node.c.due_at <= now, node.c.state == "ready", node.c.phase.in_(CHECKED_PHASES))
        key = node.c.traversal_id, node.c.no
        some = sa.select(*key).where(*sent).order_by(node.c.due_at).limit(POSTPONED)
        some = some.with_for_update(skip_locked=True)
        later = now + self._timings.redeliver_seconds
        connection.execute(node.update().where(sa.tuple_(*key).in_(some)).values(due_at=later))

    @staticmethod
    def _write(connection: sa.Connection, changes: Sequence[Values]) -> None:
        if changes:
            sql = (
                "UPDATE node SET state = :state, due_at = :due_at, published = :published, lost = :lost, "
                "ready_at = COALESCE(:ready_at, ready_at) "
                "WHERE traversal_id = :traversal_id AND no = :no"
            )
            in_order = sorted(changes, key=lambda change: (change["traversal_id"], change["no"]))
            connection.execute(sa.text(sql), in_order)

    def _record_lost(self, connection: sa.Connection, row: AnyRow) -> None:
        if row.resource_id is None:
            return
        values = {
            "traversal_id": row.traversal_id,
            "no": row.no,
            "cause": LOST,
            "worker": row.worker or "",
            "reason": self._db.sealed(f"{row.worker or 'its worker'} was not heard of any more"),
        }
        connection.execute(sa.text(statements.LOST_EVENT.at(self._db.now)), values)

    def _fail_overdue(self) -> tuple[CheckOrder, ...]:
        traversal = tables.traversal
        with self._db.read() as connection:
            now = database_time(connection, self._db)
            overdue = connection.execute(
                sa.select(traversal.c.id, traversal.c.action, traversal.c.deadline, traversal.c.created_at)
                .where(traversal.c.status == "IN_PROGRESS", traversal.c.deadline <= now)
                .order_by(traversal.c.deadline)
                .limit(BATCH)
            ).all()
        ends = []
        for row in overdue:
            try:
                end = self._fail_one(row, now)
            except Exception as error:
                if is_transient(error):
                    raise
                # It must not keep the others, nor be tried again at once and for ever.
                log.exception("a traversal out of time cannot be failed; it is tried later", traversal=row.id)
                self._put_off(row.id)
                continue
            if end is not None:
                ends.append(end)
        return tuple(ends)

    def _fail_one(self, row: AnyRow, now: float) -> CheckOrder | None:
        # A nested stack has the rest of its parent's time, which is no round number.
        minutes = round((row.deadline - row.created_at) / 60, 2)
        reason = f"Stack {row.action} timed out after {minutes:g} minutes"
        with self._db.write() as connection:
            reason += self._stood(connection, row.id)
            end = fail_traversal(connection, self._db, self._timings, row.id, reason, codec=self._codec)
            self._fail_waiting(connection, row.id, reason, now)
        return end

    def _put_off(self, traversal_id: str) -> None:
        """Give a traversal that cannot be failed some more time."""
        traversal = tables.traversal
        with self._db.timed_write() as (connection, now):
            mine = (traversal.c.id == traversal_id) & (traversal.c.status == "IN_PROGRESS")
            connection.execute(traversal.update().where(mine).values(deadline=now + PUT_OFF_SECONDS))

    @staticmethod
    def _stood(connection: sa.Connection, traversal_id: str) -> str:
        """Return the addition to a reason that names the hooks at which resources stand; empty for none."""
        node = tables.node
        sql = sa.select(node.c.key, node.c.hook).where(
            node.c.traversal_id == traversal_id, node.c.hook.is_not(None)
        )
        rows = connection.execute(sql.order_by(node.c.hook_at, node.c.no).limit(STOOD_NAMED + 1)).all()
        if not rows:
            return ""
        named = ", ".join(f"{row.key} ({row.hook})" for row in rows[:STOOD_NAMED])
        return f"; nobody cleared the hooks of {named}{' and others' if len(rows) > STOOD_NAMED else ''}"

    @staticmethod
    def _fail_waiting(connection: sa.Connection, traversal_id: str, reason: str, now: float) -> None:
        """Fail the nodes that are between two steps; a running step ends by itself."""
        node, resource = tables.node, tables.resource
        between = node.c.state.in_(("waiting", "ready")) & (node.c.attempt > 0) & (node.c.phase != END)
        rows: Sequence[AnyRow] = connection.execute(
            node.update()
            .where(tables.in_traversal(traversal_id), between)
            .values(state="failed", due_at=None)
            .returning(node.c.resource_id, node.c.worker)
        ).all()
        workers = {row.resource_id: row.worker or "" for row in rows}
        columns = ("id", "stack_id", "name", "type", "action", "physical_id")
        for some in chunked(sorted(filter(None, workers))):
            free = (resource.c.status == "IN_PROGRESS") & resource.c.lock_traversal.is_(None)
            failed = connection.execute(
                resource.update()
                .where(resource.c.id.in_(some), free)
                .values(status="FAILED", reason=reason, updated_at=now)
                .returning(*(resource.c[name] for name in columns))
            ).all()
            common = {"traversal_id": traversal_id, "status": "FAILED", "reason": reason}
            events = [
                resource_event(row, now, **common, action=row.action, worker=workers[row.id])
                for row in sorted(failed, key=operator.attrgetter("name", "id"))
            ]
            bulk_insert(connection, tables.event, events)


def _was_sent(row: AnyRow) -> bool:
    """Return whether the message of a due node should be in the queue."""
    return row.state == "ready" and row.phase in CHECKED_PHASES


def _settle(row: AnyRow, now: float, redeliver_seconds: float) -> dict[str, Any]:
    """Return the new state of a due node; it is to be published if it has a new due time."""
    over = row.status == "SUPERSEDED" and row.phase != END
    never = row.status == "FAILED" and row.attempt == 0 and row.phase != END
    # The pause grows while no worker takes it, because the queue may only be long.
    published = row.published + 1 if row.state == "ready" else 0
    pause = redeliver_seconds * 2 ** min(published, DOUBLINGS)
    return {
        "traversal_id": row.traversal_id,
        "no": row.no,
        "state": "superseded" if over else "ready",
        "due_at": None if over or never else now + pause,
        "published": published,
        "lost": row.lost + (row.state == "running"),
        # A node that is published again has been ready all the time.
        "ready_at": None if row.state == "ready" else now,
    }
