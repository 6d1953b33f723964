"""Many stacks that arrive at once, and large ones: ``python -m tests.bench.many``.

``--stacks 1000,10000`` makes so many stacks, ``--resources 10`` of so many resources each, on PostgreSQL and Redis with
one coordinator and a worker of two processes. All jobs are in the queue before the first is waited for. Each number of
stacks has servers of its own; what grows with the number is seen between the rows. Before them a coordinator without a
worker plans one such stack, from the job in the queue to the last of the first checks.
"""

import argparse
import json
import math
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import psutil
from psycopg import sql
from rich.console import Console

from orchestrator.config.settings import load_settings
from orchestrator.engine.traversal_starter import PUBLISHED_AT_ONCE
from orchestrator.model.messages import CHECKS_QUEUE, StackJob
from orchestrator.queue.celery_app import make_app, send_job
from orchestrator.service import Service
from orchestrator.store.store import Store
from tests.bench.costs import milliseconds, tree_milliseconds
from tests.bench.installation import (
    isotherm,
    processes,
    servers,
    wait_for_all,
    wait_until,
    worker_and_coordinator,
)
from tests.bench.shapes import template
from tests.keys import provided_keys

RESULT: Final = Path("build") / "bench-many.json"
#: What a stack of 100 000 resources needs.
LARGE: Final = {
    "ISOTHERM_MAX_TEMPLATE_BYTES": str(64 * 2**20),
    "ISOTHERM_MAX_MESSAGE_BYTES": str(256 * 2**20),
    "ISOTHERM_MAX_RESOURCES_PER_STACK": "1000000",
    "ISOTHERM_EVALUATION_SECONDS": "600",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What a resource cost, on average."""

    stacks: int
    resources: int
    shape: str
    #: Until all jobs were in the queue, and until all stacks were complete.
    submitted_seconds: float
    seconds: float
    resources_per_second: float
    #: Processor time of each part.
    coordinator_ms: float
    worker_ms: float
    postgres_ms: float
    redis_ms: float
    #: The largest process of each.
    coordinator_mib: float
    worker_mib: float
    database_bytes: float
    wal_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """What it took a coordinator to plan one stack, without a worker."""

    resources: int
    shape: str
    #: From the sending of the job until all rows are written, and until the first and the last message of checks that
    #: may begin are in the queue.
    written_seconds: float
    first_seconds: float
    last_seconds: float
    #: Processor time of all of its processes, and the largest of them.
    cpu_seconds: float
    coordinator_mib: float


def measure_planning(resources: int, shape: str) -> Planning:
    """Have a coordinator plan one stack on an installation of its own.

    Raises:
        SystemExit: the job was refused.
    """
    with servers(LARGE) as there, processes(isotherm("coordinator"), log=there.directory / "log") as running:
        settings = load_settings()
        job = StackJob(name="planned", template=template(shape, resources), job_id=str(uuid.uuid4()))
        name = there.database_url.rpartition("/")[2].partition("?")[0]
        with (
            Service.open(settings) as service,
            closing(Store(there.database_url)) as store,
            there.postgres.connect(name) as connection,
            there.redis.client() as broker,
        ):
            own = store.identity.read()
            wait_for_all(service, running)

            def rows(statement: sql.SQL) -> int:
                row = connection.execute(statement).fetchone()
                assert row is not None
                return int(row[0])

            answered = sql.SQL("SELECT count(*) FROM job")
            refused = sql.SQL("SELECT count(*) FROM job WHERE status <> 'accepted'")
            ready = sql.SQL("SELECT count(*) FROM node WHERE state = 'ready'")
            cpu_before, started = running.cpu_seconds(), time.perf_counter()
            with make_app(settings, lambda: own) as app:
                send_job(app, job, stack=job.name)

            def seconds_until(condition: Callable[[], bool]) -> float:
                wait_until(condition, patience_seconds=3600)
                return time.perf_counter() - started

            written = seconds_until(lambda: rows(answered) > 0)
            if rows(refused):
                raise SystemExit("the job was refused")
            first = seconds_until(lambda: broker.llen(CHECKS_QUEUE) > 0)
            parts, rest = divmod(rows(ready), PUBLISHED_AT_ONCE)
            whole, remaining = (math.ceil(each / settings.batch_size) for each in (PUBLISHED_AT_ONCE, rest))
            last = seconds_until(lambda: broker.llen(CHECKS_QUEUE) >= parts * whole + remaining)
            (coordinator,) = running.roots
            return Planning(
                resources=resources,
                shape=shape,
                written_seconds=written,
                first_seconds=first,
                last_seconds=last,
                cpu_seconds=running.cpu_seconds() - cpu_before,
                coordinator_mib=running.peak_rss_mib(coordinator),
            )


def measure(stacks: int, resources: int, shape: str) -> Growth:
    """Make stacks on an installation of their own.

    Raises:
        SystemExit: a job was refused, or a stack was not complete at the end.
    """
    with servers(LARGE) as there, worker_and_coordinator(there.directory) as running:
        settings = load_settings()
        text = template(shape, resources)
        name = there.database_url.rpartition("/")[2].partition("?")[0]
        with (
            Service.open(settings) as service,
            closing(Store(there.database_url)) as store,
            there.postgres.connect(name) as connection,
        ):
            own = store.identity.read()
            wait_for_all(service, running)

            def value(statement: sql.SQL) -> int:
                row = connection.execute(statement).fetchone()
                assert row is not None
                return int(row[0])

            wal = sql.SQL("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')")
            size = sql.SQL("SELECT pg_database_size(current_database())")
            refused = "SELECT count(*) FROM job WHERE status <> 'accepted'"
            over = f"SELECT count(*) + ({refused}) FROM stack WHERE status"
            done = sql.SQL(f"{over} <> 'IN_PROGRESS'")
            failed = sql.SQL(f"{over} <> 'COMPLETE'")

            def used() -> list[float]:
                worker, coordinator = running.roots
                server = tree_milliseconds(psutil.Process(there.postgres.pid))
                broker = milliseconds(psutil.Process(there.redis.pid))
                return [tree_milliseconds(coordinator), tree_milliseconds(worker), server, broker]

            before, started = (value(wal), value(size), used()), time.perf_counter()
            with make_app(settings, lambda: own) as app:
                for number in range(stacks):
                    job = StackJob(name=f"s{number}", template=text, job_id=str(uuid.uuid4()))
                    send_job(app, job, stack=job.name)
            submitted = time.perf_counter() - started
            wait_until(lambda: value(done) == stacks, pause_seconds=0.5, patience_seconds=3600)
            seconds = time.perf_counter() - started
            if count := value(failed):
                raise SystemExit(f"{count} of {stacks} stacks are not complete")
            many = stacks * resources
            parts = [(now - then) / many for now, then in zip(used(), before[2], strict=True)]
            worker, coordinator = running.roots
            return Growth(
                stacks=stacks,
                resources=resources,
                shape=shape,
                submitted_seconds=submitted,
                seconds=seconds,
                resources_per_second=many / seconds,
                coordinator_ms=parts[0],
                worker_ms=parts[1],
                postgres_ms=parts[2],
                redis_ms=parts[3],
                coordinator_mib=running.peak_rss_mib(coordinator),
                worker_mib=running.peak_rss_mib(worker),
                database_bytes=(value(size) - before[1]) / many,
                wal_bytes=(value(wal) - before[0]) / many,
            )


def shown_planning(row: Planning) -> str:
    """Return the row as a table of Markdown."""
    heads = ("one stack, planned", "s: rows written", "first message", "last message", "of processors", "MiB")
    seconds = (row.written_seconds, row.first_seconds, row.last_seconds, row.cpu_seconds)
    cells = (
        f"1 of {row.resources}, {row.shape}",
        *(f"{each:.2f}" for each in seconds),
        f"{row.coordinator_mib:.0f}",
    )
    return _table(heads, [cells])


def shown(rows: Sequence[Growth]) -> str:
    """Return the rows as a table of Markdown."""
    heads = (
        *("stacks of resources", "a second", "ms: coordinator", "worker", "PostgreSQL", "Redis"),
        *("MiB: coordinator", "worker", "bytes of the database", "of WAL"),
    )
    lines = []
    for row in rows:
        cells = [
            f"{row.stacks} of {row.resources}, {row.shape}",
            f"{row.resources_per_second:.0f}",
            *(f"{each:.2f}" for each in (row.coordinator_ms, row.worker_ms, row.postgres_ms, row.redis_ms)),
            *(f"{each:.0f}" for each in (row.coordinator_mib, row.worker_mib)),
            *(f"{each:.0f}" for each in (row.database_bytes, row.wal_bytes)),
        ]
        lines.append(cells)
    return _table(heads, lines)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(cells)} |" for cells in rows)])


def main() -> None:
    """Measure, show and keep."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.many", description=__doc__)
    parser.add_argument("--stacks", default="1000,10000", help="numbers of stacks, with commas")
    parser.add_argument("--resources", type=int, default=10, help="the resources of each")
    parser.add_argument("--shape", default="layers", help="how they depend on each other")
    given = parser.parse_args()
    planning = measure_planning(given.resources, given.shape)
    rows = [measure(int(each), given.resources, given.shape) for each in given.stacks.split(",")]
    RESULT.parent.mkdir(exist_ok=True)
    kept = {"planning": asdict(planning), "rows": [asdict(row) for row in rows]}
    RESULT.write_text(json.dumps(kept, indent=1) + "\n")
    tables = f"{shown_planning(planning)}\n\n{shown(rows)}"
    Console().print(tables, soft_wrap=True, highlight=False, markup=False)


if __name__ == "__main__":
    with provided_keys():
        main()
