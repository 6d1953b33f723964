"""The ground of explored operations: a database with row gates, its states that are restored, and what must hold."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator.model.messages import END, JOIN, CheckOrder
from orchestrator.store import database, migrations
from orchestrator.store.database import Database
from orchestrator.store.nodes.claims import Claim, Ending
from orchestrator.store.repository import Timings
from orchestrator.store.store import Store
from orchestrator.store.tables import metadata
from orchestrator.store.traversals.traversals import ClaimedEnd
from tests.emptying import empty
from tests.explorer.driving import EXPLORED, ROW_GATES, UNFAVOURABLE, Driver, Operation
from tests.explorer.operations import Found
from tests.services.servers import PostgresServer
from tests.unit.orchestrator.store.conftest import Bench, FakeClock

#: Nothing is delivered again, and no lock is tried again by itself: what is lost stays lost, and is seen.
TIMINGS = Timings(lease_seconds=60_000, redeliver_seconds=70_000, locked_seconds=80_000)
#: The rows that there are in the end, as texts, and how many of each.
Outcome = frozenset[tuple[str, int]]
#: How far time goes on until everything must be at rest.
REST_SECONDS = 1_000.0
ORDERS_AT_MOST = 1_000


class Ground:
    """A migrated database: ``gated`` stops at row gates, ``stepped`` only between statements, ``quiet`` is not driven.

    All three have one clock, which stands still.
    """

    def __init__(self, server: PostgresServer) -> None:
        self._url = sa.make_url(server.create_database("explored"))
        migrations.upgrade(self._url.render_as_string())
        self.clock = FakeClock()
        with server.connect("explored") as connection:
            connection.execute(f"DROP ROLE IF EXISTS {EXPLORED}")
            connection.execute(f"CREATE ROLE {EXPLORED} SUPERUSER LOGIN")
            connection.execute(ROW_GATES)
            connection.execute("ALTER DATABASE explored SET deadlock_timeout = '20ms'")
        self.quiet = self._bench(self._url)
        with pytest.MonkeyPatch.context() as patch:
            for name, value in UNFAVOURABLE.items():
                patch.setitem(database.SESSION, name, value)
            self.stepped = self._bench(self._url)
            self.gated = self._bench(self._url.set(username=EXPLORED))
        self.driver = Driver(lambda: server.connect("explored"))
        #: What is prepared here, until the ground is cleared.
        self.kept: object = None

    def close(self) -> None:
        """Close all connections."""
        for bench in (self.quiet, self.stepped, self.gated):
            bench.store.close()
        self.driver.close()

    def clear(self) -> None:
        """Leave an empty database."""
        self.kept = None
        with self.quiet.store.database.write() as connection:
            empty(connection)

    def save(self) -> None:
        """Make the present rows those that :meth:`restore` brings back; they lie in the reverse of their order."""
        tables = metadata.sorted_tables
        with self.quiet.store.database.write() as connection:
            connection.exec_driver_sql("DROP SCHEMA IF EXISTS saved CASCADE; CREATE SCHEMA saved")
            full = []
            for table in tables:
                connection.exec_driver_sql(f"CREATE TABLE saved.{table.name} AS TABLE {table.name}")
                if connection.exec_driver_sql(f"SELECT EXISTS (SELECT 1 FROM {table.name})").scalar_one():
                    full.append(table)
        deletions = [f"DELETE FROM {table.name}" for table in reversed(tables)]
        copies = [
            f"INSERT INTO {table.name} SELECT * FROM saved.{table.name} ORDER BY "
            + ", ".join(f"{column.name} DESC" for column in table.primary_key)
            for table in full
        ]
        with self.quiet.store.database.write() as connection:
            # A function, so that so many statements are planned once. No trigger fires: that of the audit log lets
            # nothing be removed.
            connection.exec_driver_sql(
                "CREATE FUNCTION saved.restore() RETURNS void LANGUAGE plpgsql SET session_replication_role = replica "
                f"AS $$ BEGIN {'; '.join([*deletions, *copies])}; END $$"
            )

    def restore(self) -> None:
        """Bring the saved rows back."""
        with self.quiet.store.database.write() as connection:
            connection.exec_driver_sql("SELECT saved.restore()")

    def warm(self, count: int) -> None:
        """Open so many connections of each store, so that none is opened while operations are driven."""
        for bench in (self.stepped, self.gated):
            held = [bench.store.database.engine.connect() for _ in range(count)]
            for connection in held:
                connection.close()

    def _bench(self, url: sa.URL) -> Bench:
        store = Store(Database(url.render_as_string(), clock=self.clock), timings=TIMINGS)
        return Bench(store, self.clock)


# -- what must hold after every order ------------------------------------------------------------------------------

#: Each returns the rows that break a rule.
RULES: Mapping[str, str] = {
    "a resource is locked by no running attempt": """
        SELECT r.name FROM resource r WHERE r.lock_traversal IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM node n WHERE n.traversal_id = r.lock_traversal AND n.no = r.lock_no
                AND n.attempt = r.lock_attempt AND n.state = 'running' AND n.resource_id = r.id)""",
    "a running step does not hold its resource": """
        SELECT n.key FROM node n JOIN resource r ON r.id = n.resource_id WHERE n.state = 'running' AND NOT (
            COALESCE(r.lock_traversal, '') = n.traversal_id AND r.lock_no = n.no AND r.lock_attempt = n.attempt)""",
    "a node counts other requirements than those that are not done": """
        SELECT n.key, n.phase, n.remaining FROM node n JOIN traversal t ON t.id = n.traversal_id
        WHERE t.status = 'IN_PROGRESS' AND n.remaining <> (
            SELECT count(*) FROM node o WHERE o.traversal_id = n.traversal_id AND o.state <> 'done'
                AND o.dependents::jsonb @> to_jsonb(n.no))""",
    "a node whose requirements are done is blocked": """
        SELECT n.key, n.phase FROM node n JOIN traversal t ON t.id = n.traversal_id
        WHERE t.status = 'IN_PROGRESS' AND n.state = 'blocked' AND n.remaining = 0""",
    "a node under way will never be due": """
        SELECT n.key, n.state FROM node n JOIN traversal t ON t.id = n.traversal_id
        WHERE t.status = 'IN_PROGRESS' AND n.state IN ('ready', 'waiting', 'running') AND n.hook IS NULL
            AND n.due_at IS NULL""",
    "the end of a traversal that is over will never come": """
        SELECT t.id FROM traversal t JOIN node n ON n.traversal_id = t.id AND n.phase = 'end'
        WHERE t.status <> 'IN_PROGRESS'
            AND NOT (n.state = 'done' OR n.state IN ('ready', 'running') AND n.due_at IS NOT NULL)""",
    "a stack follows another traversal than the one in progress": """
        SELECT t.id FROM traversal t JOIN stack s ON s.id = t.stack_id
        WHERE t.status = 'IN_PROGRESS' AND s.traversal_id <> t.id""",
    "a stack and its traversal differ": """
        SELECT s.name, s.status, t.status FROM stack s JOIN traversal t ON t.id = s.traversal_id
        WHERE s.status <> t.status""",
    "a node is done more than once": """
        SELECT e.resource_id, e.action FROM event e WHERE e.status = 'COMPLETE' AND e.resource_id IS NOT NULL
        GROUP BY e.traversal_id, e.resource_id, e.action HAVING count(*) > 1""",
    "a step began after its operation had failed": """
        SELECT e.resource FROM event e JOIN event failed USING (traversal_id)
        WHERE failed.resource = '' AND failed.status = 'FAILED' AND failed.id < e.id
            AND e.resource <> '' AND e.status = 'IN_PROGRESS' AND e.cause = '' AND NOT EXISTS (
                SELECT 1 FROM event b WHERE b.traversal_id = e.traversal_id
                    AND b.resource_id = e.resource_id AND b.id < failed.id)""",
}
#: Once everything is at rest.
AT_REST: Mapping[str, str] = {
    "a step is still under way": """
        SELECT n.traversal_id, n.key, n.phase, n.state FROM node n JOIN traversal t ON t.id = n.traversal_id
        WHERE n.due_at IS NOT NULL AND n.state IN ('ready', 'running')
            -- What a traversal that is over has not begun, it never will; a sweep finds that later.
            AND (t.status = 'IN_PROGRESS' OR n.phase = 'end' OR t.status = 'FAILED' AND n.attempt > 0)""",
    "a traversal is blocked": """
        SELECT t.id FROM traversal t WHERE t.status = 'IN_PROGRESS' AND NOT EXISTS (
            SELECT 1 FROM node n WHERE n.traversal_id = t.id AND n.state = 'waiting')""",
    "a resource is locked": "SELECT name FROM resource WHERE lock_traversal IS NOT NULL",
}


def broken(bench: Bench, rules: Mapping[str, str]) -> list[str]:
    """Return the rules that do not hold, each with the rows that break it."""
    parts = [
        f"SELECT '{rule}' AS rule, CAST(of AS text) AS broken FROM ({sql}) AS of"
        for rule, sql in rules.items()
    ]
    with bench.store.database.read() as connection:
        rows = connection.execute(sa.text(" UNION ALL ".join(parts))).all()
    return [
        f"{rule}: {', '.join(row.broken for row in of)}"
        for rule, of in itertools.groupby(rows, lambda row: row.rule)
    ]


def faults_of(operations: Sequence[Operation]) -> list[str]:
    """Return the deadlocks and errors that operations met."""
    deadlocks = [f"{each.name}: deadlock" for each in operations if each.deadlocked]
    return deadlocks + [f"{each.name}: {each.error!r}" for each in operations if each.error is not None]


# -- to the end ----------------------------------------------------------------------------------------------------


def settle(bench: Bench, found: Found, results: Sequence[Any]) -> None:
    """Let workers and coordinators do what there is to do, until time brings nothing more for a while.

    Each message is delivered once. A running step of the beginning ends, unless it is over.
    """
    began = bench.clock.now
    waiting = [order for result in results for order in _orders_in(result)]
    waiting += found.orders.values()
    running = [each for result in results for each in _parts(result) if isinstance(each, Claim)]
    for ending in results:
        if isinstance(ending, ClaimedEnd):
            bench.store.traversals.finish_end(ending)
    for claim in (*found.claims.values(), *running):
        waiting += bench.finish(claim).ready
    for _ in range(ORDERS_AT_MOST):
        if waiting:
            waiting += _deliver(bench, waiting.pop(0))
            continue
        due = bench.store.sweeper.next_due()
        if due is None or bench.clock.now + due > began + REST_SECONDS:
            break
        bench.clock.pass_(due)
        waiting += bench.sweep()
    bench.clock.now = began


def _orders_in(result: Any) -> Sequence[CheckOrder]:
    return [each for each in _parts(result) if isinstance(each, CheckOrder)]


def _parts(result: Any) -> Sequence[Any]:
    return result if isinstance(result, (tuple, list)) else [result]


def _deliver(bench: Bench, order: CheckOrder) -> Sequence[CheckOrder]:
    nodes, traversals = bench.store.nodes, bench.store.traversals
    if order.phase == JOIN:
        return nodes.release_join(order).ready
    if order.phase == END:
        traversals.complete(order.traversal_id)
        ending = traversals.claim_end(order, worker="coordinator")
        if ending is not None:
            traversals.finish_end(ending)
        return ()
    claim = nodes.claim(order, worker="worker")
    return () if claim is None else bench.finish(claim, Ending.DONE).ready


def outcome(bench: Bench) -> Outcome:
    """Return what became of everything, without times and attempts."""
    return _rows(
        bench,
        "SELECT name, action, status FROM stack",
        "SELECT id, action, status FROM traversal",
        "SELECT stack_id, name, action, status, replaces, replaced_by, lock_traversal FROM resource",
        "SELECT traversal_id, no, phase, state FROM node",
        "SELECT id, traversal_id, status FROM job",
    )


def picture(bench: Bench) -> Outcome:
    """Return all rows on which it depends what happens next, or whether a rule holds."""
    tables = ("stack", "traversal", "resource", "node", "job", "snapshot")
    events = """
        SELECT e.traversal_id, resource_id, action, status, cause, EXISTS (
            SELECT 1 FROM event failed WHERE failed.traversal_id = e.traversal_id AND failed.resource = ''
                AND failed.status = 'FAILED' AND failed.id < e.id) AS late
        FROM event e"""
    return _rows(bench, *(f"SELECT * FROM {table}" for table in tables), events)


def _rows(bench: Bench, *queries: str) -> Outcome:
    parts = [f"SELECT CAST(of AS text) FROM ({sql}) AS of" for sql in queries]
    with bench.store.database.read() as connection:
        rows = connection.execute(sa.text(" UNION ALL ".join(parts))).scalars()
        return frozenset(Counter(rows).items())
